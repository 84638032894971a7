"""Calls a function in several processes and waits for them as one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import Any

from tensorbus.multiprocessing.errors import ProcessExitedException, ProcessRaisedException

_LONGEST = 1 << 15
"""Characters of a traceback that are sent: less than a pipe holds, so that no process waits."""
_GRACE = 30.0
METHODS = ("spawn", "fork", "forkserver")


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in *nprocs* processes, with i from 0 to nprocs - 1.

    With *join* it returns when all have ended, and raises ``ProcessRaisedException`` or
    ``ProcessExitedException`` for the one that failed first, after ending the others; without, it
    returns the ``ProcessContext`` to join later. *daemon* processes can't start others of their
    own. ``ValueError`` for less than one process or an unknown *start_method*.

    >>> from tensorbus.multiprocessing import spawn
    >>> spawn(print, args=("says",), nprocs=1, start_method="fork")
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """``spawn`` by PyTorch's other name.

    >>> from tensorbus.multiprocessing import start_processes
    >>> start_processes(abs, nprocs=1, start_method="fork")
    """
    _check_method(start_method)
    if isinstance(nprocs, bool) or not isinstance(nprocs, int) or nprocs < 1:
        raise ValueError(f"nprocs must be a whole number of at least 1, but is {nprocs!r}")
    if not callable(fn):
        raise TypeError(f"fn must be a function, not {type(fn).__name__}")
    if not isinstance(args, tuple):
        raise TypeError(f"args must be a tuple, not {type(args).__name__}")
    method = multiprocessing.get_context(start_method)
    processes: list[BaseProcess] = []
    errors: list[connection.Connection[Any, Any]] = []
    try:
        for number in range(nprocs):
            receive, send = method.Pipe(duplex=False)
            errors.append(receive)
            # The context's own class, which its type does not name.
            make: Any = method.Process  # type: ignore[attr-defined]
            process = make(target=_call, args=(fn, number, args, send), daemon=daemon)
            process.start()
            send.close()
            processes.append(process)
    except BaseException:
        for process in processes:
            process.kill()
        raise
    context = ProcessContext(processes, errors)
    if not join:
        return context
    while not context.join():
        pass
    return None


def _check_method(name: str) -> None:
    available = [m for m in METHODS if m in multiprocessing.get_all_start_methods()]
    if name not in available:
        raise ValueError(f"start_method {name!r}: give one of {', '.join(available)}")


def _call(
    fn: Callable[..., Any], number: int, args: tuple[Any, ...], errors: Any
) -> None:  # in the process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it too, and reports it
    except Exception:
        text = traceback.format_exc()
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 4]}\n  ...\n{text[-_LONGEST // 2 :]}"
        # Sent at once: leaving a job in order takes a moment, in which others fail because of it.
        with contextlib.suppress(OSError):
            errors.send((time.monotonic(), text))
        sys.exit(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class ProcessContext:
    """Processes that ``spawn(join=False)`` has started.

    >>> from tensorbus.multiprocessing import spawn
    >>> context = spawn(abs, nprocs=2, join=False, start_method="fork")
    >>> len(context.pids())
    2
    >>> while not context.join(): pass
    """

    def __init__(self, processes: list[BaseProcess], errors: list[connection.Connection[Any, Any]]):
        self.processes = processes
        self._errors = errors
        self._said: dict[int, tuple[float, str]] = {}
        self._first: int | None = None

    def pids(self) -> list[int]:
        """Their process ids."""
        return [int(process.pid or 0) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait; True when all have ended well, False when *timeout* seconds are over before.

        When one fails the others are ended: asked to, and killed after *grace_period* seconds (30).
        """
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while True:
                # Asked before who failed: one that ends in between is looked at once more.
                waited: list[Any] = [p.sentinel for p in self.processes if p.is_alive()]
                if self._first is None:
                    self._first = self._failed()
                if self._first is not None:
                    self._end(_GRACE if grace_period is None else grace_period)
                    self._raise(self._first)
                if not waited:
                    return True
                waited += [e for i, e in enumerate(self._errors) if i not in self._said]
                left = None if end is None else max(0.0, end - time.monotonic())
                if not connection.wait(waited, left) and left is not None:
                    return False
        except KeyboardInterrupt:
            self._end(_GRACE if grace_period is None else grace_period)
            raise

    def _failed(self) -> int | None:
        """Which failed first: who was killed, else who said so first, else who has ended badly.

        Several may have failed since this process last looked, one because of the other.
        """
        for number, errors in enumerate(self._errors):
            if number not in self._said:
                with contextlib.suppress(OSError, EOFError):
                    if errors.poll():
                        self._said[number] = errors.recv()
                    continue
                self._said[number] = 0.0, ""  # closed: it said nothing
        codes = dict(enumerate(process.exitcode for process in self.processes))
        killed = [number for number, code in codes.items() if code is not None and code < 0]
        raised = sorted((at, number) for number, (at, text) in self._said.items() if text)
        ended = [number for number, code in codes.items() if code]
        return next(iter([*killed, *(number for _, number in raised), *ended]), None)

    def _end(self, grace: float) -> None:
        stop = time.monotonic() + grace
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(max(0.0, stop - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _raise(self, number: int) -> None:
        process, (_, text) = self.processes[number], self._said.get(number, (0.0, ""))
        pid, code = int(process.pid or 0), process.exitcode or 0
        if text:
            raise ProcessRaisedException(
                f"\n\n-- Process {number} terminated with the following error:\n{text}", number, pid
            )
        name = None
        if code < 0:
            with contextlib.suppress(ValueError):
                name = signal.Signals(-code).name
            how = f"with signal {name or -code}"
        else:
            how = f"with exit code {code}"
        raise ProcessExitedException(f"process {number} terminated {how}", number, pid, code, name)


SpawnContext = ProcessContext
