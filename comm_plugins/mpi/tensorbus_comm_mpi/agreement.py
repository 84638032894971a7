"""Every rank tells all others what it calls: do they agree?

What it says has room for the values of a small call, which is done when it is told. A large one is
under way beside.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from typing import Any

import numpy as np
from mpi4py import MPI

from tensorbus.plugin import CommContext, CommError, CommTimeout
from tensorbus.plugin.calls import Call, disagreement
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi.progress import Failed, Progress, test

_PATIENCE = 5.0
"""Seconds for the words of the others, where MPI failed first."""


_HEAD = struct.Struct("<qq")
_TAG = 4
"""Of what two ranks say, beside the tags of messages and of ``all_to_all``."""
_SIZE = 64
"""Bytes that each of many ranks says of any call: more would cost time, and ranks that differ must
say equally many."""
_MOST = 4096
"""Bytes that one of two ranks says at most: as many as libraries send without asking."""


class _Words:
    """What one call is to this rank and to all; used for another one when it is done."""

    __slots__ = ("_at", "_comm", "_head", "_kept", "_others", "_step", "_views", "all", "call",
                 "requests")  # fmt: skip

    def __init__(self, comm: MPI.Intracomm):
        size, self._comm = comm.size, comm
        self._step = _MOST if size == 2 else _SIZE
        self._at = comm.rank * self._step
        self.all = bytearray(self._step * size)
        self._others = [rank for rank in range(size) if rank != comm.rank]
        self._views: dict[np.dtype, list[np.ndarray]] = {}
        self.call: Call
        self.requests: list[MPI.Request] = []
        self._kept: tuple[MPI.Prequest, MPI.Prequest] | None = None
        if size == 2:
            # A message each way costs less than a collective, and one that is kept the least.
            (other,) = self._others
            theirs = [memoryview(self.all)[other * _MOST :], _MOST, MPI.BYTE]
            receive = comm.Recv_init(theirs, other, _TAG)
            self._kept = receive, comm.Send_init(self._mine(_SIZE), other, _TAG)

    def _mine(self, nbytes: int) -> list[Any]:
        return [memoryview(self.all)[self._at :], nbytes, MPI.BYTE]

    def start(self, call: Call, values: bytes) -> None:
        """Say it to all."""
        self.call, at, size = call, self._at, _HEAD.size + len(values)
        self._head = head = _HEAD.pack(call.code, call.nbytes)
        self.all[at : at + size] = head + values
        if self._kept is None:
            mine = self.all[at : at + _SIZE]
            self.requests = [
                self._comm.Iallgather([mine, _SIZE, MPI.BYTE], [self.all, _SIZE, MPI.BYTE])
            ]
            return
        receive, send = self._kept
        receive.Start()
        if size <= _SIZE:
            send.Start()
            self.requests = [receive, send]
        else:
            large = self._comm.Isend(self._mine(size), self._others[0], _TAG)
            self.requests = [receive, large]

    def other(self) -> tuple[int, Call] | None:
        """The first rank that calls something else, and what."""
        for rank in self._others:
            if not self.all.startswith(self._head, rank * self._step):
                return rank, Call(*_HEAD.unpack_from(self.all, rank * self._step))
        return None

    def values(self, dtype: np.dtype, count: int) -> list[np.ndarray]:
        """Each rank's values, in memory that the next call will use."""
        views = self._views.get(dtype)
        if views is None:
            most = (self._step - _HEAD.size) // dtype.itemsize
            views = self._views[dtype] = [
                np.frombuffer(self.all, dtype, most, at)
                for at in range(_HEAD.size, len(self.all), self._step)
            ]
        return [view[:count] for view in views]

    def free(self) -> None:
        """MPI keeps nothing of it."""
        for request in self._kept or ():
            request.Free()


class Agreement:
    """The collectives of one communicator, in their order, as its ranks call them."""

    def __init__(self, context: CommContext, comm: MPI.Intracomm, progress: Progress):
        self._context, self._comm, self._progress = context, comm, progress
        self.room = (_MOST if context.size == 2 else _SIZE) - _HEAD.size
        """Bytes of values that travel with the words."""
        self.rooted_room = self.room if context.size == 2 else -1
        """The same where one rank gives or gets: many ranks hear a root's words from all at once,
        and would wait for each other."""
        self._open: deque[_Words] = deque()
        self._done: list[_Words] = []
        self._lock = threading.Lock()
        """Held by the thread that compares: one that waits for a message does so too."""
        self._difference: CommError | None = None

    def during(self, call: Call, together: Deadline | None) -> _During:
        """Held around a call. *together*: it ends on no rank before all have begun it, so nobody
        gets a result where two differ; else they are compared when all have begun it."""
        return _During(self, call, together)

    def begin(self, call: Call) -> None:
        """This rank makes that call next. What it says and the call are under way together."""
        if self._context.size > 1:
            self._say(call, b"")

    def give(self, call: Call, values: bytes, deadline: Deadline) -> None:
        """Make a call that gives these values and gets none, where there are two ranks."""
        words = self._say(call, values)
        self._progress.wait(words.requests[1:], call.kind, deadline, kept=self._open)
        self.check()

    def exchange(
        self, call: Call, values: bytes, deadline: Deadline, dtype: np.dtype, count: int
    ) -> list[np.ndarray]:
        """Make a call whose *count* values are at most ``room`` bytes: those of all ranks, to be
        read before this rank makes its next call."""
        words = self._say(call, values)
        self._progress.wait_until(self.check, call.kind, deadline, len(words.all), kept=self._open)
        return words.values(dtype, count)

    def _say(self, call: Call, values: bytes) -> _Words:
        with self._progress.calling(call.kind):
            words = self._done.pop() if self._done else _Words(self._comm)
            words.start(call, values)
        self._open.append(words)
        return words

    def check(self) -> bool:
        """Whether all have made all these calls; ``CommError`` where one made others."""
        with self._lock:
            while self._open and test(self._open[0].requests):
                words = self._open.popleft()
                other = words.other()
                if other is not None:
                    self._difference = disagreement(self._context, *other, words.call)
                    self._progress.fail(self._difference)
                self._done.append(words)
            if self._difference is not None:  # another thread may have found it
                raise self._difference
            return not self._open

    def free(self) -> None:
        """The words of all have come, and no call follows."""
        while self._done:
            self._done.pop().free()

    def settle(self, deadline: Deadline) -> bool:
        """Wait for the words of all; whether they came in time."""
        return self._progress.until(self.check, deadline)

    def explain(self) -> None:
        """MPI failed: ``CommError`` where a rank called something else."""
        end = time.monotonic() + _PATIENCE
        while not self.check() and time.monotonic() < end:
            time.sleep(0.001)


class _During:
    __slots__ = ("_agreement", "_call", "_together")

    def __init__(self, agreement: Agreement, call: Call, together: Deadline | None):
        self._agreement, self._call, self._together = agreement, call, together

    def __enter__(self) -> None:
        self._agreement.begin(self._call)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            if self._agreement.check() or self._together is None:
                return
            if not self._agreement.settle(self._together):
                raise CommTimeout("the ranks did not say in time what they call")
        elif issubclass(kind, Failed):
            self._agreement.explain()
