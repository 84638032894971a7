"""Libraries over torch run under the alias: ``scripts/ecosystem`` does it, and installs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ecosystem
import pytest

ROOT = Path(__file__).parents[2]


def test_each_program_says_what_it_needs_and_has_answers() -> None:
    programs = ecosystem.all_programs()
    assert len(programs) >= 20
    for program in programs.values():
        needed = (*program.alone, *program.ordinary)
        assert "==" in needed[0] and program.library == needed[0].split("==")[0]
        assert not any(n.split("==")[0] == "torch" for n in needed)
        answers = json.loads((ecosystem.PROGRAMS / "answers" / f"{program.name}.json").read_text())
        assert answers and "same(" in program.path.read_text()
    known = {f"{name}.json" for name in programs}
    assert {p.name for p in (ecosystem.PROGRAMS / "answers").iterdir()} == known


def test_the_page_has_each_library() -> None:
    page = (ROOT / "docs" / "libraries.md").read_text()
    for program in ecosystem.all_programs().values():
        assert f"`{program.library}`" in page, program.library


def test_a_wrong_number_fails_and_a_recorded_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "recorded.py").write_text((ecosystem.PROGRAMS / "recorded.py").read_text())
    program = tmp_path / "run_it.py"
    program.write_text(
        "import torch\nfrom recorded import same\nsame('sum', torch.ones(3).sum())\n"
    )
    answer = tmp_path / "answers" / "it.json"
    for value, status in ((3.0, 0), (3.1, 1)):
        answer.write_text(json.dumps({"sum": value}))
        command = [sys.executable, "-m", "tensorbus.as_torch", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == status, done.stderr
    assert "sum" in done.stderr


@pytest.mark.long
def test_all_libraries_run() -> None:
    done = subprocess.run(["scripts/ecosystem"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
