"""Waits for MPI without blocking in it: time-outs are kept, and cores are left to others."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from mpi4py import MPI

from tensorbus.plugin import CommContext, CommError, CommTimeout
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi.runtime import guard, note_failure

_SPIN = 0.001
_SLOWEST = 1e8
"""Bytes a second that any link moves: for so long waiting costs speed, so cores are only lent."""
_LONGEST = 0.001
_BURST = 16
_AT_ONCE = 4
"""Small calls end so soon that lending the core would delay them."""

_test = MPI.Request.Test
_lend: Callable[[], object] = getattr(os, "sched_yield", None) or (lambda: time.sleep(0))


class Progress:
    """How one comm waits. ``idle`` is called now and then where waiting takes long."""

    def __init__(self, context: CommContext):
        self._context = context
        self.error: CommError | None = None
        self.idle: Callable[[], object] = lambda: None

    def calling(self, call: str) -> _Calling:
        """Held where requests are started: the lock, and errors of MPI as those of comms."""
        return _Calling(self, call)

    def check(self) -> None:
        """Raise what ended this comm."""
        if self.error is not None:
            raise self.error

    def fail(self, error: CommError) -> None:
        """End the comm: every running and later call raises *error*."""
        self.error = self.error or error

    def until(self, done: Callable[[], bool], deadline: Deadline, nbytes: int = 0) -> bool:
        """Ask until *done* says so; False where it does not in time."""
        self.check()
        if done():
            return True
        start = time.monotonic()
        eager = start + _SPIN + nbytes / _SLOWEST
        for _ in range(_AT_ONCE):
            if done():
                return True
        while True:
            for _ in range(_BURST):
                _lend()
                if done():
                    return True
            self.check()
            now = time.monotonic()
            if now >= deadline.at:
                return False
            if now - start > _SPIN:
                self.idle()
            if now >= eager:
                time.sleep(min((now - start) / 20, _LONGEST, deadline.at - now))

    def wait(
        self, requests: list[MPI.Request], call: str, deadline: Deadline, nbytes: int = 0,
        ranks: Sequence[int] = (), kept: object = None,
    ) -> None:  # fmt: skip
        """Wait for requests; ``CommTimeout`` naming the *ranks* waited for, where they are known.

        What is not done by then can't be taken back: the comm is over, and the requests, their
        memory and *kept* stay.
        """
        done = functools.partial(test, requests)
        self.wait_until(done, call, deadline, nbytes, ranks, (requests, kept))

    def wait_until(
        self, done: Callable[[], bool], call: str, deadline: Deadline, nbytes: int,
        ranks: Sequence[int] = (), kept: object = None,
    ) -> None:  # fmt: skip
        """As ``wait``, for what *done* asks."""
        try:
            if self.until(done, deadline, nbytes):
                return
            error: CommError = CommTimeout(
                f"{call} did not end in time{self._waited(ranks)}",
                [self._context.ranks[r] for r in ranks],
            )
        except MPI.Exception as e:
            error = _failure(call, e)
        except CommError as e:
            error = e
        self.fail(error)
        note_failure(str(error), kept)
        raise error

    def _waited(self, ranks: Sequence[int]) -> str:
        names = ", ".join(self._context.peer(r) for r in ranks)
        return f": it waited for {names}" if names else ""


class _Calling:
    __slots__ = ("_call", "_progress")

    def __init__(self, progress: Progress, call: str):
        self._progress, self._call = progress, call

    def __enter__(self) -> None:
        guard.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        guard.__exit__(kind, value, traceback)
        if isinstance(value, MPI.Exception):
            error = _failure(self._call, value)
            self._progress.fail(error)
            note_failure(str(error))
            raise error from value


class Failed(CommError):
    """MPI itself raised: not a time-out, nor what the comm was told."""


def _failure(call: str, e: MPI.Exception) -> CommError:
    return Failed(f"{call} failed in MPI: {e}; do all ranks give tensors of one size and dtype?")


def test(requests: Sequence[MPI.Request]) -> bool:
    """Whether all are done."""
    with guard:
        # One by one: for few it costs less than to ask for all, and most calls have one or two.
        return all(map(_test, requests))


def spread(nbytes: int) -> Any:
    """A count and a datatype for that many bytes, also for more than an int counts."""
    if nbytes <= _PIECE:
        return nbytes, MPI.BYTE
    return 1, _large(nbytes)


_PIECE = 1 << 30
_types: dict[int, MPI.Datatype] = {}


def _large(nbytes: int) -> MPI.Datatype:
    found = _types.get(nbytes)
    if found is None:
        pieces, rest = divmod(nbytes, _PIECE)
        piece = MPI.BYTE.Create_contiguous(_PIECE)
        counts, offsets, kinds = [pieces, rest], [0, pieces * _PIECE], [piece, MPI.BYTE]
        found = _types[nbytes] = MPI.Datatype.Create_struct(counts, offsets, kinds).Commit()
        piece.Free()
    return found
