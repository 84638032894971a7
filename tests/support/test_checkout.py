"""A copy of tensorbus in the environment is not what the tests are about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parent


def test_an_installed_copy_is_not_tested_in_the_place_of_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "tensorbus").mkdir()
    (tmp_path / "tensorbus" / "__init__.py").write_text("")
    ended = subprocess.run(
        [sys.executable, "-c", "import checkout; checkout.pytest_configure()"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(SUPPORT)])},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert f"tensorbus is imported from {tmp_path / 'tensorbus'}; run scripts/test" in ended.stderr
