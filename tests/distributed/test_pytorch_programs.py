"""Programs written for PyTorch run unchanged: ``as_torch`` makes ``import torch`` give tensorbus.

They are our own, in the style that PyTorch's pages teach, and were run with PyTorch too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ports import own_port

HERE = Path(__file__).parent
AS_TORCH = str(HERE / "as_torch")
LINE = re.compile(
    r"Epoch: \[(\d)\]\[1/8\]\tLoss [\d.e+-]+ \([\d.e+-]+\)\tAcc@1 +[\d.]+ \( *[\d.]+\)"
)


def run(*words: object) -> list[str]:
    """Run ``python WORDS...`` where torch is tensorbus; the lines it prints, sorted."""
    path = os.pathsep.join([AS_TORCH, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return sorted(line for line in done.stdout.splitlines() if line)


def test_a_program_for_torchrun():
    launcher = ["-m", "tensorbus.distributed.run", "--standalone", "--nproc-per-node=2"]
    lines = run(*launcher, "--rdzv-id", "tour", HERE / "programs" / "elastic_tour.py")
    assert lines == [f"[rank {r}] tour: rank {r} is done." for r in range(2)]


@pytest.mark.slow
def test_a_tour_of_distributed_data_parallel(tmp_path):
    lines = run(HERE / "programs" / "ddp_tour.py", own_port(), tmp_path)
    assert lines == [
        f"Finished running {what} example on rank {rank}."
        for what in ("DDP checkpoint", "DDP hook", "basic DDP")
        for rank in range(2)
    ]
    assert list(tmp_path.iterdir()) == []


def trained(*words: object, epochs: int, folder: Path) -> list[str]:
    options = ["--seed", 3, "--out", folder, "--epochs", epochs]
    return run(HERE / "programs" / "image_trainer.py", *options, *words)


@pytest.mark.slow
def test_a_trainer_of_images_on_two_ranks_and_from_its_checkpoint(tmp_path):
    def distributed(*words: object, epochs: int) -> list[str]:
        url = f"tcp://127.0.0.1:{own_port()}"
        job = ["--multiprocessing-distributed", "--world-size", 1, "--rank", 0, "--dist-url", url]
        return trained(*job, *words, epochs=epochs, folder=tmp_path)

    summary, *epochs = distributed(epochs=2)
    assert summary.startswith(" *   Acc@1 ") and len(epochs) == 5
    last = tmp_path / "checkpoint.pth.tar"
    resumed = distributed("--resume", last, epochs=3)
    assert [LINE.fullmatch(line)[1] for line in resumed[1:]] == ["2", "2"]
    # The squares are in the corner that they are in: whoever learns anything learns that.
    assert resumed[0] == " *   Acc@1 100.000 Acc@3 100.000"


def test_a_trainer_of_images_alone_and_in_a_launched_job(tmp_path):
    alone = trained(epochs=3, folder=tmp_path)
    assert alone[0] == " *   Acc@1 100.000 Acc@3 100.000"
    assert [LINE.fullmatch(line)[1] for line in alone[3:]] == ["0", "1", "2"]
    launcher = ["-m", "tensorbus.distributed.run", "--nproc-per-node=2"]
    program = [HERE / "programs" / "image_trainer.py", "--dist-url", "env://", "--epochs", 3]
    lines = run(*launcher, *program, "--seed", 3, "--out", tmp_path)
    assert lines.count("[rank 0]  *   Acc@1 100.000 Acc@3 100.000") >= 1
    assert sum(" *   Acc@1" in line for line in lines) == 3
