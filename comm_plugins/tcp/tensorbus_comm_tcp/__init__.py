"""The ``tcp`` comm of tensorbus: sockets between the ranks, on any machine.

This module is what discovery imports, so it imports nothing but the hook.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorbus.plugin import Comm, CommContext, CommSpec, hookimpl

__all__ = ["tensorbus_comm"]


def _load() -> Callable[[CommContext], Comm]:
    from tensorbus_comm_tcp.comm import TcpComm

    return TcpComm


@hookimpl
def tensorbus_comm() -> CommSpec:
    """The comm ``tcp``: what is taken where nothing faster is there."""
    return CommSpec(name="tcp", load=_load, api=2, aliases=("gloo",))
