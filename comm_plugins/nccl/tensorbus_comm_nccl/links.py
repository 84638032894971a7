"""One communicator of NCCL and the stream of its work, waited for with a time-out."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import cupy
from cupy.cuda import nccl

from tensorbus.plugin import CommContext, CommError, CommStore, CommTimeout
from tensorbus.plugin.wire import Deadline

_SLOWEST = 0.001
FAULTS = (RuntimeError, KeyError)
"""What CuPy raises for errors of NCCL: KeyError for a status that it has no name for."""


Issue = Callable[[Any, int], None]
"""Asks a communicator for something, on the stream of that number."""


class Fate:
    """What ended a comm, seen by all its links."""

    def __init__(self) -> None:
        self.error: CommError | None = None
        self._links: list[Link] = []
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise what ended the comm."""
        if self.error is not None:
            raise self.error

    def add(self, link: Link) -> None:
        """Let *link* end with the others."""
        with self._lock:
            self._links.append(link)
        if self.error is not None:
            link.end(orderly=False)

    def end(self, error: CommError, orderly: bool = False) -> None:
        """End all links; every running and later call raises *error*."""
        with self._lock:
            self.error = self.error or error
            links, self._links = self._links, []
        for link in links:
            link.end(orderly)


def poll(done: Callable[[], bool], deadline: Deadline, fate: Fate) -> bool:
    """Ask until *done* says so; False where it does not in time."""
    pause = 0.0
    while not done():
        fate.check()
        left = deadline.at - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(pause + 0.00001, _SLOWEST)
    return True


def _shows(store: CommStore, key: str) -> Callable[[], bool]:
    return lambda: store.add(key, 0) > 0


def store_of(context: CommContext) -> CommStore:
    """The store, which this comm can't do without."""
    if context.store is None:
        raise CommError("the comm nccl needs a store, where its ranks find each other")
    return context.store


class _Job:
    """One call: what is asked, what it waits for, and when it is done or what it raised."""

    def __init__(self, issue: Issue, after: Any):
        self.issue, self.after = issue, after
        self.done: Any = None
        self.error: Exception | None = None


class Link:
    """A communicator among some *ranks* of a group, on the GPU of number *device*."""

    def __init__(
        self, context: CommContext, fate: Fate, key: str, ranks: Sequence[int], device: int,
        deadline: Deadline,
    ):  # fmt: skip
        self.device = device
        self._context, self._fate, self._ranks = context, fate, ranks
        self._lock = threading.Lock()
        store, position = store_of(context), ranks.index(context.rank)
        if position == 0:
            store.set(f"{key}/id", nccl.get_unique_id().hex())
        store.add(f"{key}/here/{position}", 1)
        for other, rank in enumerate(ranks):
            if not poll(_shows(store, f"{key}/here/{other}"), deadline, fate):
                raise CommTimeout(f"{context.peer(rank)} did not come", [context.ranks[rank]])
        name = bytes.fromhex(store.get(f"{key}/id").decode())
        self._communicator: Any = self._join(name, position, deadline)
        with cupy.cuda.Device(device):
            self._stream = cupy.cuda.Stream(non_blocking=True)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        threading.Thread(target=self._issue, name="tensorbus-nccl-issue", daemon=True).start()
        fate.add(self)

    def _join(self, name: bytes, position: int, deadline: Deadline) -> Any:
        """In a thread of its own, for it blocks until all have joined and knows no time-out."""
        made: list[Any] = []
        errors: list[BaseException] = []

        def join() -> None:
            try:
                with cupy.cuda.Device(self.device):
                    made.append(nccl.NcclCommunicator(len(self._ranks), name, position))
            except BaseException as e:
                errors.append(e)

        thread = threading.Thread(target=join, name="tensorbus-nccl-join", daemon=True)
        thread.start()
        if not poll(lambda: not thread.is_alive(), deadline, self._fate):
            raise CommTimeout("NCCL did not connect the ranks in time", self._others())
        if errors:
            raise CommError(
                f"NCCL can't connect {len(self._ranks)} ranks, this one on GPU {self.device} "
                f"({errors[0]}): each rank needs a GPU of its own. NCCL_DEBUG=WARN says more"
            ) from errors[0]
        return made[0]

    def _others(self) -> list[int]:
        context = self._context
        return [context.ranks[r] for r in self._ranks if r != context.rank]

    def run(self, call: str, issue: Issue, deadline: Deadline, after: Any = None) -> None:
        """``issue(communicator, stream)`` and wait until the GPU has done it.

        It begins when what is asked of the current stream, or the event *after*, is over: so it
        runs beside what other threads compute.
        """
        self._fate.check()
        with cupy.cuda.Device(self.device):
            job = _Job(issue, after or cupy.cuda.get_current_stream().record())
            self._jobs.put(job)
            try:
                if poll(lambda: self._asked(job), deadline, self._fate):
                    return
            except CommError:
                raise
            except FAULTS as e:
                error = CommError(f"{call} failed in NCCL: {e}; NCCL_DEBUG=WARN says more")
                self._fate.end(error)
                raise error from e
        # What was begun can't be taken back, so the comm is over.
        late = CommTimeout(f"{call} did not end in time", ())
        self._fate.end(late)
        raise late

    def _issue(self) -> None:
        """In a thread of its own: the first call of a kind connects ranks, and blocks till then.

        So the caller keeps its time-out, and nothing that ``end`` needs is held meanwhile.
        """
        with cupy.cuda.Device(self.device):
            while (job := self._jobs.get()) is not None:
                communicator = self._communicator
                if communicator is None:
                    return
                try:
                    self._stream.wait_event(job.after)
                    job.issue(communicator, self._stream.ptr)
                    job.done = self._stream.record()
                except FAULTS as e:
                    job.error = e

    def _asked(self, job: _Job) -> bool:
        if job.error is not None:
            self._fate.check()  # where the comm was ended, that is why the call failed
            raise job.error
        if job.done is not None and job.done.done:
            return True
        with self._lock:
            self._fate.check()
            if self._communicator is not None:
                self._communicator.check_async_error()
        return False

    def end(self, orderly: bool) -> None:
        """Free the communicator; what runs is cut off unless all is over in good order."""
        with self._lock, contextlib.suppress(*FAULTS):
            communicator, self._communicator = self._communicator, None
            if communicator is None:
                return
            if orderly:
                communicator.destroy()
            else:
                communicator.abort()  # a call that blocks in the other thread returns, too
        self._jobs.put(None)
