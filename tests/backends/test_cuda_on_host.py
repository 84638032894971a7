"""The tests of ``tests/cuda``, each file in a process where CuPy works over host memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "cuda"
FILES = sorted(path.name for path in FOLDER.glob("test_*.py"))
LANES = {"slow": "not long", "long": "long"}
NO_TESTS = 5  # pytest's exit status where a file has none of the lane


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("lane", [pytest.param(n, marks=getattr(pytest.mark, n)) for n in LANES])
def test_on_host_memory(cuda_on_host: None, lane: str, file: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", LANES[lane]]
    environment = os.environ | {"TENSORBUS_CUDA": "host"}
    environment.pop("TENSORBUS_MAX_SKIPS", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(FOLDER / file)],
        env=environment, cwd=FOLDER.parents[1], capture_output=True, text=True, timeout=3000,
    )  # fmt: skip
    assert done.returncode in (0, NO_TESTS * (lane == "long")), (
        done.stdout[-6000:] + done.stderr[-2000:]
    )


@pytest.fixture
def cuda_on_host() -> None:
    """What ``tests/support/machine.py`` looks for."""
