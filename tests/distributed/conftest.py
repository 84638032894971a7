"""Jobs of real processes, started and bounded by the test."""

from __future__ import annotations

import dataclasses
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

PRELUDE = """
import os, sys, time, signal
import numpy as np
import tensorbus as torch
import tensorbus.distributed as dist
RANK, SIZE, PORT = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
def start(timeout=10, **more):
    dist.init_process_group("tcp", f"tcp://127.0.0.1:{PORT}", rank=RANK, world_size=SIZE,
                            timeout=timeout, **more)
"""


@dataclasses.dataclass
class Ended:
    """What became of one rank."""

    code: int
    out: str
    err: str
    seconds: float


def free_port() -> int:
    """A port of loopback that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Job:
    """The processes of one job."""

    def __init__(self, program: str, size: int, env: dict[str, str], ranks: Any = None):
        self.port, self.size = free_port(), size
        self.started = time.monotonic()
        base = {k: v for k, v in os.environ.items() if not k.startswith("TENSORBUS_DIST")}
        base["TENSORBUS_JOB_SECRET"] = secrets.token_hex(8)
        self.env = base | env
        self.processes = [self._start(program, rank) for rank in ranks or range(size)]

    def _start(self, program: str, rank: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", PRELUDE + program, str(rank), str(self.size), str(self.port)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, timeout: float = 30) -> list[Ended]:
        """Wait for all; those that are left when the time is over fail the test."""
        ended, late = [], []
        stop = time.monotonic() + timeout
        for rank, process in enumerate(self.processes):
            try:
                out, err = process.communicate(timeout=max(stop - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                self.kill()
                out, err = process.communicate()
                late.append(f"rank {rank}: {out}\n{err}")
            ended.append(Ended(process.returncode, out, err, time.monotonic() - self.started))
        assert not late, "\n".join(late)
        return ended

    def kill(self) -> None:
        """End what is left, stopped processes too."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)


Run = Callable[..., list[Ended]]


@pytest.fixture
def start_job() -> Iterator[Callable[..., Job]]:
    """``start_job(program, size, env)``: a job that is running; what is left of it is ended."""
    jobs: list[Job] = []

    def make(program: str, size: int = 2, ranks: Any = None, **env: str) -> Job:
        jobs.append(Job(program, size, env, ranks))
        return jobs[-1]

    yield make
    for job in jobs:
        job.kill()
        for process in job.processes:
            process.communicate()


@pytest.fixture
def run_job(start_job: Callable[..., Job]) -> Run:
    """``run_job(program, size)``: run a job to its end, every rank well."""

    def run(program: str, size: int = 2, timeout: float = 40, **env: str) -> list[Ended]:
        ended = start_job(program, size, **env).end(timeout)
        assert [e.code for e in ended] == [0] * size, "\n".join(e.err for e in ended)
        return ended

    return run
