"""Operations that run beside the program, in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from tensorbus.distributed.durations import Duration, seconds
from tensorbus.distributed.errors import DistBackendError
from tensorbus.futures import Future

_IDLE = 5.0
"""Seconds after which a thread that has nothing to do ends."""
_MANY = 16
"""Threads for messages beyond which another is made only where none becomes free soon."""
_THROTTLE = 0.01


class Work:
    """An operation that was started with ``async_op=True``, ``isend`` or ``irecv``.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     x = tensorbus.ones(2)
    ...     work = dist.all_reduce(x, async_op=True)
    ...     return work.wait(), x.tolist()
    >>> dist.local.run(rank, 2)
    [(True, [2.0, 2.0]), (True, [2.0, 2.0])]
    """

    def __init__(self, run: Callable[[], Any], title: str):
        self._run: Callable[[], Any] | None = run
        self._title = title
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._future: Future[list[Any]] | None = None
        self._value: Any = None
        self._error: BaseException | None = None

    def _execute(self) -> None:
        run, self._run = self._run, None
        try:
            self._value = run() if run is not None else None
        except BaseException as e:
            self._error = e
        finally:
            with self._lock:
                self._done.set()
                future = self._future
            if future is not None:
                self._complete(future)

    def _complete(self, future: Future[list[Any]]) -> None:
        if self._error is None:
            future.set_result(self.result())
        elif isinstance(self._error, Exception):
            future.set_exception(self._error)
        else:
            future.set_exception(RuntimeError(f"{self._title}: {self._error!r}"))

    def wait(self, timeout: Duration = None) -> bool:
        """Wait until it is done and raise what went wrong; True.

        ``DistBackendError`` after *timeout*: the operation itself goes on.
        """
        limit = None if timeout is None else seconds(timeout, 0.0)
        if not self._done.wait(limit):
            raise DistBackendError(f"{self._title} is not done after {limit:g} seconds")
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether it is done, well or not."""
        return self._done.is_set()

    def is_success(self) -> bool:
        """Whether it is done and nothing went wrong."""
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that hold the result, once it is done."""
        self.wait()
        value = self._value
        if value is None:
            return []
        return list(value) if isinstance(value, (list, tuple)) else [value]

    def source_rank(self) -> int:
        """For a receive from any source: the global rank that sent."""
        self.wait()
        if not isinstance(self._value, int):
            raise RuntimeError("source_rank is for receives")
        return self._value

    def synchronize(self) -> None:
        """``wait()``."""
        self.wait()

    def get_future(self) -> Future[list[Any]]:
        """A future of ``result()``.

        >>> import tensorbus.distributed as dist
        >>> def rank():
        ...     work = dist.all_reduce(tensorbus.ones(2), async_op=True)
        ...     return work.get_future().then(lambda f: f.value()[0].sum().item()).wait()
        >>> dist.local.run(rank, 2)
        [4.0, 4.0]
        """
        with self._lock:
            future, made = self._future, self._future is None
            if future is None:
                future = self._future = Future()
            done = self._done.is_set()
        if made and done:
            self._complete(future)
        return future


class _Workers:
    """Threads that take whatever is to be run; those that have nothing to do end after a while."""

    def __init__(self) -> None:
        lock = threading.Lock()
        self._given, self._free = threading.Condition(lock), threading.Condition(lock)
        self._jobs: deque[Callable[[], None]] = deque()
        self._idle = self._count = 0

    def run(self, job: Callable[[], None]) -> None:
        """Run *job* in a thread, without waiting for other jobs to end: they may depend on it."""
        with self._given:
            if self._count >= _MANY:
                # Many short jobs share threads; so many that are blocked need one each.
                self._free.wait_for(lambda: self._idle > len(self._jobs), _THROTTLE)
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._given.notify()
                return
            self._count += 1
        threading.Thread(target=self._work, name="tensorbus-message", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._given:
                self._idle += 1
                self._free.notify()
                there = self._given.wait_for(lambda: bool(self._jobs), _IDLE)
                self._idle -= 1
                if not there:
                    self._count -= 1
                    return
                job = self._jobs.popleft()
            job()
            del job


_workers = _Workers()


def _forget_threads() -> None:
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


class Lane:
    """Runs one operation at a time, in the order given: here, or in a thread.

    With *name* it keeps a thread of its own; without, it borrows one while it has work.
    """

    def __init__(self, name: str = ""):
        self._name = name
        self._lock = threading.RLock()  # entered and left in compiled code, as no Condition is
        self._changed = threading.Condition(self._lock)
        self._queue: deque[Work] = deque()
        self._running: object = None
        self._served = False

    def run(self, f: Callable[[], Any], title: str) -> Any:
        """Run *f* after all that was given before, and return what it does."""
        turn = object()
        try:
            with self._lock:
                if self._running is None and not self._queue:
                    self._running = turn
            if self._running is turn:
                # In the caller's thread: handing over to another costs more than a small message.
                return f()
        finally:
            try:
                self._end(turn)
            except BaseException:  # an interrupt, before it was done
                self._end(turn)
                raise
        work = Work(f, title)
        self.submit(work)
        work.wait()
        return work._value

    def _end(self, turn: object) -> None:
        with self._lock:
            if self._running is turn:
                self._changed.notify()
                self._running = None

    def idle(self) -> bool:
        """Whether nothing runs or waits here."""
        with self._lock:
            return self._running is None and not self._queue

    def submit(self, work: Work) -> Work:
        """Run it in a thread."""
        first = False
        try:
            with self._lock:
                self._queue.append(work)
                self._changed.notify()
                if not self._served:
                    self._served = first = True
            if first:
                self._serve()
        except BaseException:
            if first:  # interrupted; a second thread, if the first is there, waits for its turn
                self._served = False
            raise
        return work

    def _serve(self) -> None:
        if self._name:
            threading.Thread(target=self._loop, name=self._name, daemon=True).start()
        else:
            _workers.run(self._loop)

    def _loop(self) -> None:
        patience = _IDLE if self._name else 0.0
        while True:
            with self._lock:
                while self._running is not None or not self._queue:
                    if self._queue:
                        self._changed.wait()
                    elif not self._changed.wait_for(lambda: bool(self._queue), patience):
                        self._served = False
                        return
                work = self._queue.popleft()
                self._running = work
            work._execute()
            del work
            with self._lock:
                self._running = None
