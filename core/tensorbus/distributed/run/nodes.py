"""What the launchers of a job tell each other."""

from __future__ import annotations

import secrets
import signal
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tensorbus.distributed.run import ports
from tensorbus.distributed.run.plan import Job, Plan

if TYPE_CHECKING:
    from tensorbus.distributed.run.process import Rank


@dataclass(frozen=True, slots=True)
class Failure:
    """The rank that failed first, as all launchers tell it; *rank* -1: a launcher itself."""

    node: int
    rank: int
    code: int
    pid: int = 0
    seconds: float = 0.0
    words: list[str] = field(default_factory=list)
    """The end of its traceback."""
    also: list[int] = field(default_factory=list)
    """Ranks that failed after it, by themselves."""
    attempt: int | None = None

    @staticmethod
    def of(
        rank: Rank, node: int, attempt: int | None = None, also: list[int] | None = None
    ) -> Failure:
        """The failure of one of our ranks."""
        return Failure(
            node, rank.number, rank.code or 0, rank.process.pid, rank.ended_at - rank.started,
            rank.last_words(), also or [], attempt,
        )  # fmt: skip

    @property
    def status(self) -> int:
        """The exit status of the launchers, as a shell would have it."""
        return self.code if self.code >= 0 else 128 - self.code

    def text(self, nnodes: int, world_size: int) -> str:
        """What the launcher says."""
        where = f" on node {self.node}" if nnodes > 1 else ""
        first = (
            f"tensorbus run: rank {self.rank}{where} failed first: {ending(self.code)} "
            f"(process {self.pid}, after {self.seconds:.1f} s)."
        )
        if world_size > 1:
            first += " All ranks were ended."
        if self.also:
            names = ", ".join(map(str, self.also))
            first += f" Failed after it: rank{'s' * (len(self.also) > 1)} {names}."
        if not self.words:
            return first
        words = "\n".join(f"  {line}" for line in self.words)
        return f"{first}\nIts error output ended with:\n{words}"


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

    def failed(self, job: Job, failure: Failure) -> Failure:
        """Tell that a rank failed; the failure on which all agree."""

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

    def failed(self, job: Job, failure: Failure) -> Failure:
        """Nobody to tell."""
        return failure

    def close(self) -> None:
        """Free the port."""
        if self._held is not None:
            self._held.close()
