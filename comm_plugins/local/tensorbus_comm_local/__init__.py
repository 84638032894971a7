"""The ``local`` comm of tensorbus: the threads of one process are the ranks, for tests.

This module is what discovery imports, so it imports nothing but the hook.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorbus.plugin import Comm, CommContext, CommSpec, hookimpl

__all__ = ["tensorbus_comm"]


def _load() -> Callable[[CommContext], Comm]:
    from tensorbus_comm_local.comm import LocalComm

    return LocalComm


@hookimpl
def tensorbus_comm() -> CommSpec:
    """The comm ``local``, which is used only where it is named."""
    return CommSpec(name="local", load=_load, priority=-1, threads=True, api=2)
