"""Small sends that MPI has not carried out yet, although ``send`` has returned.

MPI carries them on within its calls only. So where the rank makes none, a thread makes them, and a
receiver need not wait until this rank calls MPI again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from mpi4py import MPI

from tensorbus_comm_mpi.progress import Progress, test

_PAUSE = 0.001


class Backlog:
    """The sends of one comm, in their order, each with its memory."""

    def __init__(self, name: str, progress: Progress):
        self._name, self._progress = name, progress
        self._sent: deque[tuple[MPI.Request, Any]] = deque()
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, request: MPI.Request, memory: Any) -> None:
        """One more that is under way."""
        self._sent.append((request, memory))
        if self.done() or self._some.is_set():
            return
        self._some.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def done(self) -> bool:
        """Whether all are on their way. MPI takes them one after the other."""
        with self._lock:
            while self._sent and test([self._sent[0][0]]):
                self._sent.popleft()
        return not self._sent

    def close(self) -> None:
        """Make no more calls of MPI."""
        self._closed = True
        self._some.set()
        if self._thread is not None:
            self._thread.join()

    def _over(self) -> bool:
        return self._closed or self._progress.error is not None

    def _run(self) -> None:
        while not self._over():
            self._some.wait()
            self._some.clear()
            try:
                while not self._over() and not self.done():
                    time.sleep(_PAUSE)
            except MPI.Exception:
                return  # the next call of this rank meets it, too, and reports it
