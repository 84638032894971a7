"""How many host threads kernels may use."""

from __future__ import annotations

import os

from tensorbus import discovery
from tensorbus._base import registered
from tensorbus.plugin import Backend

_chosen: int | None = None
_interop = 1


def get_num_threads() -> int:
    """The number of host threads for kernels: what was set, or the processors of this process."""
    if _chosen is not None:
        return _chosen
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Ask the backends for *n* host threads; RuntimeError for a number below 1.

    A backend whose library has no such setting keeps what it was started with.
    """
    global _chosen
    if not isinstance(n, int) or n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _chosen = n
    _tell_backends(n)


def init_num_threads() -> None:
    """Tell the backends in use, from this thread, the number that ``set_num_threads`` was given.

    The number holds for all threads of the process; a library that keeps one for each thread gets
    to know it here. Without such a number nothing happens.
    """
    if _chosen is not None:
        _tell_backends(_chosen)


@registered.backend_loaded.listen
def _tell_backend(backend: Backend) -> None:
    if _chosen is not None:
        backend.set_num_threads(_chosen)


def _tell_backends(n: int) -> None:
    for record in discovery.records():
        if record.state == "loaded" and record.group == "tensorbus.backends":
            discovery.backend(record.name).set_num_threads(n)


def get_num_interop_threads() -> int:
    """What ``set_num_interop_threads`` was told; 1 before: ops run one after the other."""
    return _interop


def set_num_interop_threads(n: int) -> None:
    """Keep how many host threads may run ops beside each other; no op here uses more than one.

    RuntimeError for a number below 1 and for what is no int.
    """
    global _interop
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n < 1:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _interop = n
