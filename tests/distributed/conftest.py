"""Jobs of real processes, started and bounded by the test."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ports import own_port

ROOM = Path(__file__).with_name("cable_room.py")
PRELUDE = """
import os, sys, time, signal
import numpy as np
import tensorbus as torch
import tensorbus.distributed as dist
RANK, SIZE, PORT = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
HOST = os.environ.get("TEST_HOST", "127.0.0.1")
def start(timeout=60, meeting=120):
    dist.init_process_group("tcp", f"tcp://{HOST}:{PORT}", rank=RANK, world_size=SIZE,
                            timeout=meeting)
    dist.barrier()
    # On a busy machine meeting takes longer than what an operation may take in these tests.
    dist.group.WORLD.timeout = timeout
def survive(f):
    begun = time.monotonic()
    try:
        f()
    except dist.DistBackendError as e:
        print("TOLD", sorted(e.ranks), f"{time.monotonic() - begun:.2f}", e, flush=True)
        try:
            dist.all_reduce(torch.ones(1))
        except dist.DistBackendError as again:
            assert "can't be used any more" in str(again), again
            dist.destroy_process_group()
            sys.exit(0)
    sys.exit("nothing was raised")
"""


@dataclasses.dataclass
class Ended:
    """What became of one rank."""

    code: int
    out: str
    err: str
    seconds: float = 0.0


class Zygote:
    """Forks ranks, with tensorbus imported: see ``zygote.py``."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = [sys.executable, str(Path(__file__).with_name("zygote.py"))]
        self._process = subprocess.Popen(program, stdin=theirs)
        theirs.close()

    def close(self) -> None:
        """End it."""
        self.socket.close()
        self._process.wait(60)


class Rank:
    """One process of a job."""

    def __init__(self, zygote: Zygote, program: str, argv: list[str], env: dict[str, str]):
        self._back, theirs = socket.socketpair()
        self._files = [tempfile.TemporaryFile("w+b") for _ in range(2)]  # noqa: SIM115
        request = json.dumps({"program": program, "argv": argv, "env": env}).encode()
        descriptors = [*(f.fileno() for f in self._files), theirs.fileno()]
        socket.send_fds(zygote.socket, [request], descriptors)
        theirs.close()
        self.code: int | None = None
        self._pid = self._number(120)

    def _number(self, timeout: float) -> int:
        """The next line from the zygote."""
        self._back.settimeout(timeout)
        line = b""
        while not line.endswith(b"\n"):
            line += self._back.recv(1)
        return int(line)

    def wait(self, timeout: float) -> bool:
        """Wait for its end; whether it came."""
        if self.code is None:
            try:
                self.code = self._number(timeout)
            except TimeoutError:
                return False
        return True

    def signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if not self.wait(0.001):
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.kill(self._pid, number)

    def texts(self) -> list[str]:
        """Its output and its errors until now."""
        return [os.pread(f.fileno(), 1 << 24, 0).decode() for f in self._files]

    def await_line(self, line: str, timeout: float) -> None:
        """Wait until it has printed a line."""
        stop = time.monotonic() + timeout
        while line not in self.texts()[0].splitlines():
            assert time.monotonic() < stop and not self.wait(0.01), self.texts()

    def close(self) -> None:
        """Forget it."""
        for held in [self._back, *self._files]:
            held.close()


class Job:
    """The processes of one job."""

    def __init__(
        self, zygote: Zygote, program: str, size: int, env: dict[str, str], ranks: Any = None
    ):
        self.port, self.size = own_port(), size
        self.started = time.monotonic()
        base = {k: v for k, v in os.environ.items() if not k.startswith("TENSORBUS_DIST")}
        base["TENSORBUS_JOB_SECRET"] = secrets.token_hex(8)
        self.ranks = [
            Rank(
                zygote, PRELUDE + program, ["-c", str(rank), str(size), str(self.port)], base | env
            )
            for rank in ranks or range(size)
        ]

    def end(self, timeout: float = 120) -> list[Ended]:
        """Wait for all; those that are left when the time is over fail the test."""
        ended, late = [], []
        stop = time.monotonic() + timeout
        for number, rank in enumerate(self.ranks):
            if not rank.wait(max(stop - time.monotonic(), 0.1)):
                self.kill()
                rank.wait(60)
                late.append(f"rank {number}: {rank.texts()}")
            code = -1 if rank.code is None else rank.code
            ended.append(Ended(code, *rank.texts(), time.monotonic() - self.started))
        told = "\n".join(one.err for one in ended if one.code)
        assert not late, "\n".join([*late, f"the others: {told}"])
        return ended

    def kill(self) -> None:
        """End what is left, stopped processes too."""
        for rank in self.ranks:
            rank.signal(signal.SIGKILL)


@pytest.fixture
def prelude() -> str:
    """What the programs of ranks begin with: ``start(timeout)`` and ``survive(f)``."""
    return PRELUDE


Told = Callable[[list[Ended], int], tuple[list[int], float, str]]


@pytest.fixture
def told() -> Told:
    """``told(ended, rank)``: what ``survive`` told: the ranks to blame, the seconds, the text."""

    def told(ended: list[Ended], rank: int) -> tuple[list[int], float, str]:
        lines = [line for line in ended[rank].out.splitlines() if line.startswith("TOLD")]
        assert ended[rank].code == 0 and len(lines) == 1, (ended[rank].out, ended[rank].err)
        ranks, _, rest = lines[0].removeprefix("TOLD ").partition("] ")
        seconds, _, text = rest.partition(" ")
        return [int(r) for r in ranks.strip("[").split(",")], float(seconds), text

    return told


Run = Callable[..., list[Ended]]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Forks the ranks of this session."""
    made = Zygote()
    yield made
    made.close()


@pytest.fixture
def start_job(zygote: Zygote) -> Iterator[Callable[..., Job]]:
    """``start_job(program, size, env)``: a job that is running; what is left of it is ended."""
    jobs: list[Job] = []

    def make(program: str, size: int = 2, ranks: Any = None, **env: str) -> Job:
        jobs.append(Job(zygote, program, size, env, ranks))
        return jobs[-1]

    yield make
    for job in jobs:
        job.kill()
        for rank in job.ranks:
            assert rank.wait(60)
            rank.close()


@pytest.fixture
def run_job(start_job: Callable[..., Job]) -> Run:
    """``run_job(program, size)``: run a job to its end, every rank well."""

    def run(program: str, size: int = 2, timeout: float = 120, **env: str) -> list[Ended]:
        ended = start_job(program, size, **env).end(timeout)
        assert [e.code for e in ended] == [0] * size, "\n".join(e.err for e in ended)
        return ended

    return run


# -- hosts of their own ------------------------------------------------------------------------
@pytest.fixture(scope="session")
def cables() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``cables(program, size, how)``: ranks on hosts of their own, as ``cable_room.py`` says."""

    def run(
        program: str, size: int = 3, how: str = "switch", seconds: float = 180
    ) -> subprocess.CompletedProcess[str]:
        settings = {"program": program, "size": size, "how": how, "seconds": seconds}
        return subprocess.run(
            ["unshare", "-Urn", sys.executable, str(ROOM), json.dumps(settings)],
            env=os.environ | {"TENSORBUS_JOB_SECRET": "together", "TEST_HOST": "10.77.0.1"},
            capture_output=True,
            text=True,
            timeout=seconds + 20,
        )

    if not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("there are no unshare and ip here to make network namespaces with")
    reason = run("import os; os.stat('/sys/class/net/card0')", 1, seconds=60).stderr
    if reason:
        pytest.skip(f"no network namespaces with cables can be made here: {reason[-300:]}")
    return run


@pytest.fixture
def on_hosts(cables: Callable[..., subprocess.CompletedProcess[str]]) -> Run:
    """``on_hosts(program, size, how)``: what became of each rank, each on a host of its own."""

    def run(*arguments: Any, **settings: Any) -> list[Ended]:
        done = cables(*arguments, **settings)
        assert done.stdout, done.stderr
        return [Ended(*one) for one in json.loads(done.stdout)]

    return run
