"""The process's MPI: calls from several threads, and an end that leaves nobody waiting."""

from __future__ import annotations

import array
import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from mpi4py import MPI

ABORT = "TENSORBUS_MPI_ABORT"
CUDA = "TENSORBUS_MPI_CUDA"
_GRACE = 1.0
"""Seconds that other ranks have to report, too, what this one knows to have failed."""
_READING = 5.0
"""Seconds that the launcher has to read what a rank said last."""

guard: AbstractContextManager[Any] = (
    contextlib.nullcontext() if MPI.Query_thread() == MPI.THREAD_MULTIPLE else threading.RLock()
)
"""Held around each call of MPI: a lock where the library takes one thread at a time."""

_live: dict[int, str] = {}
"""Comms in which another rank may be waiting for this one: how each names this rank."""
_stuck: list[object] = []
"""Requests that will never end; with them the memory that MPI may still read or write."""
_failure = ""
_watching = False


def takes_cuda() -> bool:
    """Whether the MPI library says that it takes GPU memory, and the user does not forbid it."""
    if os.environ.get(CUDA, "1") == "0":
        return False
    library = ctypes.CDLL(MPI.__file__)
    try:
        return bool(library.MPIX_Query_cuda_support())
    except AttributeError:
        return False


def library() -> str:
    """The MPI library's name and version, in a few words."""
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, version))}"


# -- the end of the process --------------------------------------------------------------------
def watch(comm: object, name: str) -> None:
    """While *comm* lives, an error that ends this process ends the job.

    MPI would let the others wait for it for ever.
    """
    global _watching
    _live[id(comm)] = name
    if not _watching:
        _watching = True
        before, pid = sys.excepthook, os.getpid()
        sys.excepthook = _hook(before, pid)
        atexit.register(_at_exit, pid)


def unwatch(comm: object) -> None:
    """*comm* was closed."""
    _live.pop(id(comm), None)


def note_failure(text: str, requests: object = None) -> None:
    """Communication failed for good: MPI can't be left in good order any more."""
    global _failure
    _failure = _failure or text
    if requests is not None:
        _stuck.append(requests)


def _hook(before: Callable[..., Any], pid: int) -> Callable[..., None]:
    def hook(
        kind: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None:
        before(kind, value, traceback)
        if os.getpid() == pid and (_live or _failure):
            name = next(iter(_live.values()), "this rank")
            _abort(f"{name} raised {kind.__name__}: {value}")

    return hook


def _at_exit(pid: int) -> None:
    # MPI ends the job together: where a rank hangs or a transfer is open, that takes for ever.
    if os.getpid() == pid and _failure:
        _abort(f"communication failed before: {_failure}")


def _abort(why: str) -> None:
    if os.environ.get(ABORT, "1") == "0" or MPI.Is_finalized():
        return
    text = f"tensorbus: the MPI job ends, all its ranks: {why} ({ABORT}=0 leaves them running)"
    if _failure:
        time.sleep(_GRACE)
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
        sys.stdout.flush()
    _wait_for_reader()
    MPI.COMM_WORLD.Abort(1)


def _wait_for_reader() -> None:
    """Until the launcher has read what was printed: after an abort it reads no more."""
    try:
        import fcntl
        import termios
    except ImportError:  # Windows
        return
    unread, stop = array.array("i", [0]), time.monotonic() + _READING
    for stream in (1, 2):
        while not os.isatty(stream) and time.monotonic() < stop:
            try:
                fcntl.ioctl(stream, termios.FIONREAD, unread)
            except OSError:
                break  # neither a pipe nor a socket
            if unread[0] == 0:
                break
            time.sleep(0.01)
