"""Every rank tells all others what it calls, beside the call itself: do they agree?"""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from mpi4py import MPI

from tensorbus.plugin import CommContext, CommTimeout
from tensorbus.plugin.calls import Call, disagreement
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi.progress import Failed, Progress, test

_PATIENCE = 5.0
"""Seconds for the words of the others, where MPI failed first."""


class _Words:
    """What one call is to this rank and to all."""

    __slots__ = ("all", "call", "mine", "request")

    def __init__(self, call: Call, comm: MPI.Intracomm, size: int):
        self.call = call
        self.mine = np.array((call.code, call.nbytes), np.int64)
        self.all = np.empty((size, 2), np.int64)
        self.request = comm.Iallgather(self.mine, self.all)


class Agreement:
    """The collectives of one communicator, in their order, as its ranks call them."""

    def __init__(self, context: CommContext, comm: MPI.Intracomm, progress: Progress):
        self._context, self._comm, self._progress = context, comm, progress
        self._open: deque[_Words] = deque()

    def during(self, call: Call, together: Deadline | None) -> _During:
        """Held around a call. *together*: it ends on no rank before all have begun it, so nobody
        gets a result where two differ; else they are compared when all have begun it."""
        return _During(self, call, together)

    def begin(self, call: Call) -> None:
        """This rank makes that call next. What it says and the call are under way together."""
        if self._context.size > 1:
            with self._progress.calling(call.kind):
                self._open.append(_Words(call, self._comm, self._context.size))

    def check(self) -> bool:
        """Whether all have made all these calls; ``CommError`` where one made others."""
        while self._open and test([self._open[0].request]):
            words = self._open.popleft()
            if (words.all == words.mine).all():
                continue
            rank = int(np.flatnonzero((words.all != words.mine).any(axis=1))[0])
            error = disagreement(self._context, rank, Call(*words.all[rank].tolist()), words.call)
            self._progress.fail(error)
            raise error
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
