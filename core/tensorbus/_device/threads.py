"""How many host threads kernels may use."""

from __future__ import annotations

import os

from tensorbus import discovery

_chosen: int | None = None


def get_num_threads() -> int:
    """The number of host threads for kernels: what was set, or the processors of this process."""
    if _chosen is not None:
        return _chosen
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Ask the backends in use for *n* host threads; RuntimeError for a number below 1.

    A backend whose library has no such setting keeps what it was started with.
    """
    global _chosen
    if not isinstance(n, int) or n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _chosen = n
    for record in discovery.records():
        if record.state == "loaded" and record.group == "tensorbus.backends":
            discovery.backend(record.name).set_num_threads(n)
