"""DistributedDataParallel between real processes over sockets."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("ddp_job.py")


def start(job: str, size: int) -> list[subprocess.Popen[str]]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = {k: v for k, v in os.environ.items() if not k.startswith("TENSORBUS_DIST")}
    env |= {
        "TENSORBUS_JOB_SECRET": secrets.token_hex(8),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(size),
    }
    return [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), job],
            env=env | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]


def ended(processes: list[subprocess.Popen[str]], timeout: float) -> list[tuple[int, str]]:
    """How each process ended and what it wrote; none outlives the test."""
    stop, results = time.monotonic() + timeout, []
    try:
        for p in processes:
            out, _ = p.communicate(timeout=max(stop - time.monotonic(), 0.1))
            results.append((p.returncode, out))
    finally:
        for p in processes:
            if p.poll() is None:
                p.kill()
                p.communicate()
    return results


@pytest.mark.parametrize("size", [2, 4])
def test_training_equals_one_process(size: int) -> None:
    """SGD and Adam, an MLP, a convolution and a tied embedding; the job compares them itself."""
    for code, out in ended(start("train", size), 40):
        assert (code, out.count("same")) == (0, 6), out


def test_a_rank_that_is_killed_in_backward_is_named() -> None:
    results: Any = ended(start("killed", 3), 40)
    assert results[1][0] == -9
    for rank in (0, 2):
        code, out = results[rank]
        assert code == 0, out
        assert "raised" in out
        assert "rank 1 died" in out
