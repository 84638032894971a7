"""Each rank tells the next one what it calls, and hears it of the one before: do they agree?

Where not all ranks of a ring do, two at least stand beside one that differs.
"""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from mpi4py import MPI

from tensorbus.plugin import CommContext, CommTimeout
from tensorbus.plugin.calls import Call, disagreement
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi.progress import Progress, test
from tensorbus_comm_mpi.runtime import guard

_TAG = 4
"""The tag of these words, beside those of messages and parts."""

_PATIENCE = 1.0
"""Seconds for the word of the rank before, where MPI failed first."""


class Agreement:
    """The collectives of one communicator, in their order, as this rank and the one before call."""

    def __init__(self, context: CommContext, comm: MPI.Intracomm, progress: Progress):
        self._context, self._comm, self._progress = context, comm, progress
        self._before = (context.rank - 1) % context.size
        self._after = (context.rank + 1) % context.size
        self._said: list[tuple[MPI.Request, np.ndarray]] = []
        self._heard: deque[tuple[Call, MPI.Request, np.ndarray]] = deque()

    def begin(self, call: Call) -> None:
        """This rank makes that call next."""
        if self._context.size == 1:
            return
        mine, theirs = np.array([call.code, call.nbytes], np.int64), np.empty(2, np.int64)
        with self._progress.calling(call.kind):
            self._heard.append((call, self._comm.Irecv(theirs, self._before, _TAG), theirs))
            self._said.append((self._comm.Isend(mine, self._after, _TAG), mine))
        self._said = [said for said in self._said if not test([said[0]])]

    def check(self) -> bool:
        """Whether the rank before has made all these calls; ``CommError`` where it made others."""
        while self._heard and test([self._heard[0][1]]):
            call, _, words = self._heard.popleft()
            theirs = Call(int(words[0]), int(words[1]))
            if theirs != call:
                raise disagreement(self._context, self._before, theirs, call)
        return not self._heard

    def settle(self, call: str, deadline: Deadline) -> None:
        """Wait for the rank before: for calls that end on no rank before all have begun them."""
        if not self._progress.until(self.check, deadline):
            raise CommTimeout(
                f"{call} did not begin in time: it waited for {self._context.peer(self._before)}",
                [self._context.ranks[self._before]],
            )

    def explain(self) -> None:
        """MPI failed: ``CommError`` where the rank before called something else."""
        end = time.monotonic() + _PATIENCE
        while not self.check() and time.monotonic() < end:
            time.sleep(0.001)

    def close(self) -> None:
        """Take back what nobody has answered."""
        with guard:
            for _, request, _ in self._heard:
                request.Cancel()
                request.Wait()
        self._heard.clear()
