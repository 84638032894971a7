"""What the launchers of a job tell each other, and the case that there is only one."""

from __future__ import annotations

import secrets
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tensorbus.distributed.run import ports
from tensorbus.distributed.run.plan import Job, Plan

if TYPE_CHECKING:
    from tensorbus.distributed.run.process import Rank


@dataclass(frozen=True, slots=True)
class Failure:
    """The rank that failed first on its node, or in the job."""

    node: int
    rank: int
    code: int
    pid: int
    seconds: float
    blames: bool
    """Whether it reported that another rank had failed."""
    at: float
    """When it began to fail, by the clock on the wall."""
    words: list[str] = field(default_factory=list)
    """The end of its traceback."""
    also: list[int] = field(default_factory=list)
    """Ranks that failed after it, by themselves."""

    @staticmethod
    def of(rank: Rank, node: int, also: list[int]) -> Failure:
        """The failure of one of our ranks."""
        return Failure(
            node, rank.number, rank.code or 0, rank.process.pid, rank.ended_at - rank.started,
            rank.guilt[0], time.time() - (time.monotonic() - rank.failed_at),
            rank.last_words(), also,
        )  # fmt: skip

    @property
    def status(self) -> int:
        """The exit status of the launchers, as a shell would have it."""
        return self.code if self.code >= 0 else 128 - self.code

    def text(self, nnodes: int, world_size: int) -> tuple[str, str]:
        """What the launcher says: a line, and what the rank said."""
        where = f" on node {self.node}" if nnodes > 1 else ""
        first = (
            f"rank {self.rank}{where} failed first: {ending(self.code)} "
            f"(process {self.pid}, after {self.seconds:.1f} s)."
        )
        if world_size > 1:
            first += " All ranks were ended."
        if self.also:
            names = ", ".join(map(str, self.also))
            first += f" Failed after it: rank{'s' * (len(self.also) > 1)} {names}."
        words = "\n".join(f"  {line}" for line in self.words)
        return first, f"\nIts error output ended with:\n{words}" if words else ""


@dataclass(frozen=True, slots=True)
class Failing:
    """The event that a rank failed on another node."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Gone:
    """The event that another launcher has left, so that the job can't go on."""

    node: int
    status: int
    reason: str


def ending(code: int) -> str:
    """What an exit code of a process means."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hints = {
        "SIGKILL": ", perhaps by the kernel because memory was short",
        "SIGSEGV": "; PYTHONFAULTHANDLER=1 shows where",
    }
    return f"killed by {name}{hints.get(name, '')}"


class Nodes(Protocol):
    """The launchers of a job, seen from one of them."""

    @property
    def all_succeeded(self) -> bool:
        """Whether the ranks of all nodes have ended well."""

    def begin(self, attempt: int) -> Job:
        """Agree on a new attempt."""

    def succeeded(self, job: Job) -> None:
        """Tell that the ranks here have ended well."""

    def failing(self, job: Job) -> None:
        """Tell that a rank failed, so that all are ended."""

    def agreed(self, job: Job, own: Failure | None) -> Failure | Gone:
        """The first failure of all nodes; *own* is that of this node."""

    def leaving(self, reason: str, status: int) -> None:
        """Tell that this launcher leaves before the end."""

    def close(self) -> None:
        """Leave."""


class Alone:
    """The only node."""

    all_succeeded = True

    def __init__(self, plan: Plan):
        self._plan = plan
        self._held: socket.socket | None = None

    def begin(self, attempt: int) -> Job:
        """A fresh port, unless the user named one, and a fresh secret."""
        self.close()
        port, self._held = ports.reserve(self._plan.master_addr, self._plan.master_port)
        return Job(attempt, 0, self._plan.nproc, port, secrets.token_hex(32))

    def succeeded(self, job: Job) -> None:
        """Nobody to tell."""

    def failing(self, job: Job) -> None:
        """Nobody to tell."""

    def agreed(self, job: Job, own: Failure | None) -> Failure | Gone:
        """This node's failure."""
        return own or Gone(0, 1, "no rank failed")

    def leaving(self, reason: str, status: int) -> None:
        """Nobody to tell."""

    def close(self) -> None:
        """Free the port."""
        if self._held is not None:
            self._held.close()
