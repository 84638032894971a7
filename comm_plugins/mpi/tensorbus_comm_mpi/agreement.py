"""Every rank tells all others what it calls: do they agree?

What it says has room for the values of a small call, which is done when it is told. A large one is
under way beside.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque

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
"""Bytes that each rank says of any call: more would cost time, and ranks that differ must say
equally many."""
ROOM = _SIZE - _HEAD.size
"""Bytes of values that fit."""


class _Words:
    """What one call is to this rank and to all."""

    __slots__ = ("all", "call", "mine", "requests")

    def __init__(self, call: Call, values: bytes, comm: MPI.Intracomm, size: int):
        self.call = call
        self.mine = (_HEAD.pack(call.code, call.nbytes) + values).ljust(_SIZE, b"\0")
        self.all = bytearray(_SIZE * size)
        mine = [self.mine, _SIZE, MPI.BYTE]
        if size == 2:  # a message each way costs less than a collective, and all do the same
            rank = comm.rank
            self.all[rank * _SIZE : (rank + 1) * _SIZE] = self.mine
            theirs = [memoryview(self.all)[(1 - rank) * _SIZE :], _SIZE, MPI.BYTE]
            self.requests = [comm.Irecv(theirs, 1 - rank, _TAG), comm.Isend(mine, 1 - rank, _TAG)]
        else:
            self.requests = [comm.Iallgather(mine, [self.all, _SIZE, MPI.BYTE])]

    def other(self) -> tuple[int, Call] | None:
        """The first rank that calls something else, and what."""
        head = self.mine[: _HEAD.size]
        for rank, at in enumerate(range(0, len(self.all), _SIZE)):
            if not self.all.startswith(head, at):
                return rank, Call(*_HEAD.unpack_from(self.all, at))
        return None


class Agreement:
    """The collectives of one communicator, in their order, as its ranks call them."""

    def __init__(self, context: CommContext, comm: MPI.Intracomm, progress: Progress):
        self._context, self._comm, self._progress = context, comm, progress
        self._open: deque[_Words] = deque()
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

    def exchange(
        self, call: Call, values: bytes, deadline: Deadline, dtype: np.dtype
    ) -> list[np.ndarray]:
        """Make a call whose values are at most ``ROOM`` bytes: those of all ranks."""
        words = self._say(call, values)
        self._progress.wait_until(self.check, call.kind, deadline, len(words.all), kept=self._open)
        count = len(values) // dtype.itemsize
        return [
            np.frombuffer(words.all, dtype, count, at)
            for at in range(_HEAD.size, len(words.all), _SIZE)
        ]

    def _say(self, call: Call, values: bytes) -> _Words:
        with self._progress.calling(call.kind):
            words = _Words(call, values, self._comm, self._context.size)
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
            if self._difference is not None:  # another thread may have found it
                raise self._difference
            return not self._open

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
