"""``scripts/gpu``: its parts over the cpu, its limits, and what it says where there is no GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gpu_session.__main__ import Part, parts, run
from gpu_session.smoke import PROGRAMS, differences

ROOT = Path(__file__).parents[2]


def runs(pid: str) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def session(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OUT": str(out), "PYTHON": sys.executable}
    return subprocess.run(
        [str(ROOT / "scripts" / "gpu"), *options], env=environment, capture_output=True, text=True,
        timeout=900,
    )  # fmt: skip


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    done = session(tmp_path, "--device", "acme")
    assert done.returncode == 2
    assert "scripts/gpu: device 'acme' can't be used" in done.stderr
    assert not (tmp_path / "summary.json").exists()


@pytest.mark.slow
def test_all_parts_run_over_the_cpu(tmp_path: Path) -> None:
    done = session(tmp_path, "--device", "cpu", "--quick", "--seconds", "850")
    results = json.loads((tmp_path / "summary.json").read_text())
    assert done.returncode == 0, done.stdout + (tmp_path / "log.txt").read_text()[-3000:]
    assert [r["name"] for r in results] == [p.name for p in parts("cpu", tmp_path, True)]
    assert "8 passed, 0 failed" in done.stdout
    reports = {p.name for p in tmp_path.iterdir()} - {"log.txt", "summary.json"}
    assert reports == {"kernels.json", "core.json", "training.json"}
    assert all(json.loads((tmp_path / name).read_text())["ok"] for name in reports)


def test_the_parts_of_a_gpu_fit_into_one_call() -> None:
    found = parts("cuda", ROOT, False)
    names = [part.name for part in found]
    assert "memory checker" in names and "nccl, two ranks on one GPU" in names
    assert [part.fails for part in found].count(True) == 1
    assert sum(part.seconds for part in found) <= 600


def test_a_part_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    # A shell starts at once, also on a busy machine: its line is there before it is stopped.
    program = "sleep 1000 & echo child $!; wait"
    part = Part("slow", ["sh", "-c", program], 10)
    with open(tmp_path / "log", "wb") as log:
        result = run(part, log, dict(os.environ), 1000)
    assert result["ended"] == "stopped after 10 s" and not result["passed"]
    pid = (tmp_path / "log").read_text().split("child ")[1].split()[0]
    deadline = time.monotonic() + 60
    while runs(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(("status", "fails"), [(0, False), (3, True)])
def test_the_exit_status_that_is_wanted(tmp_path: Path, status: int, fails: bool) -> None:
    command = [sys.executable, "-c", f"raise SystemExit({status})"]
    with open(tmp_path / "log", "wb") as log:
        assert run(Part("a", command, 60, fails), log, dict(os.environ), 60)["passed"]
        assert not run(Part("a", command, 60, not fails), log, dict(os.environ), 60)["passed"]
        late = run(Part("a", command, 60), log, dict(os.environ), 0.5)
        missing = run(Part("a", ["no-such-program"], 60), log, dict(os.environ), 60)
    assert late["ended"] == "not begun: no time was left"
    assert missing["ended"].startswith("not begun: ") and not missing["passed"]


@pytest.mark.parametrize("made", PROGRAMS, ids=lambda made: made.__name__)
def test_smoke_programs_agree_with_themselves(made) -> None:
    assert differences(made, "cpu") == []


def test_a_difference_is_told() -> None:
    import tensorbus as torch

    calls = iter([torch.ones(3), torch.tensor([1.0, 2.0, 1.0])])
    assert differences(lambda device: [next(calls)], "cpu") == [
        "result 0 differs at 1 places; at 1: np.float32(2.0), not np.float32(1.0)"
    ]
