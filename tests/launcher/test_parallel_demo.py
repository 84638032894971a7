"""`tensorbus demo --nproc 2`: several ranks train what one process trains."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tensorbus as torch
from tensorbus.cli import main
from tensorbus.demo import digits, training

STEPS = 6
RANK = f"""
import tensorbus as torch
from tensorbus.demo import digits, parallel, training
data = digits.load()
with parallel.joined(None) as rank:
    torch.manual_seed(5)
    run = parallel.ParallelTrainer(
        training.LeNet(), torch.from_numpy(data.train_images),
        torch.from_numpy(data.train_labels), 12,
    )
    steps = run.epoch()
    losses = [next(steps) for _ in range({STEPS})]
    weights = [p.abs().sum().item() for p in run.net.parameters()]
    if rank == 0:
        print("found", losses, weights)
"""


def alone() -> tuple[list[float], list[float]]:
    data = digits.load()
    torch.manual_seed(5)
    images, labels = torch.from_numpy(data.train_images), torch.from_numpy(data.train_labels)
    run = training.Trainer(training.LeNet(), images, labels, 12)
    steps = run.epoch()
    losses = [next(steps) for _ in range(STEPS)]
    return losses, [p.abs().sum().item() for p in run.net.parameters()]


def _mpiexec() -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("there is no mpiexec: pip install 'tensorbus[mpi]'")
    return found


@pytest.mark.parametrize("comm", ["tcp", "mpi"])
def test_ranks_train_what_one_process_trains(comm, launcher):
    script = launcher.script(RANK)
    if comm == "tcp":
        done = launcher.run("--nproc", "3", script)
    else:
        done = subprocess.run(
            [_mpiexec(), "-n", "2", sys.executable, script],
            capture_output=True, text=True, timeout=180,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = re.search(r"found \[(.*)\] \[(.*)\]", done.stdout)
    losses, weights = ([float(x) for x in found[i].split(",")] for i in (1, 2))
    expected = alone()
    assert losses == pytest.approx(expected[0], rel=1e-5)
    assert weights == pytest.approx(expected[1], rel=1e-5)


def test_the_command(launcher, tmp_path):
    out = tmp_path / "out"
    command = ["demo", "--epochs", "1", "--nproc", "2", "--comm", "tcp", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "tensorbus", *command],
        capture_output=True, text=True, timeout=240,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "TENSORBUS_MARK": launcher.mark},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # Rank 0 prints as the demo of one process does, and nobody else prints.
    assert done.stdout.startswith("LeNet with 13,066 parameters")
    assert "seed 0, device cpu, 2 processes over tcp\n" in done.stdout
    assert len(re.findall("held-out digits right", done.stdout)) == 1
    assert f"Checkpoint: {out / 'digits.pt'} (reloaded: the same predictions)" in done.stdout
    assert (out / "digits.pt").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--comm", "tcp"], "--comm tcp goes with --nproc 2 or more"),
        (["--nproc", "2", "--comm", "pigeons"], "--comm pigeons can't be used: no plugin"),
        (["--nproc", "2", "--comm", "local"], "--comm local connects threads of one process"),
        (["--nproc", "2", "--device", "abacus"], "--device abacus can't be used"),
    ],
)
def test_wrong_options(words, sentence, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path), *words]) == 2
    assert sentence in capsys.readouterr().err
