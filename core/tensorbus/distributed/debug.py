"""The debug mode: before each collective the ranks compare what they are about to do."""

from __future__ import annotations

import enum
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbus._base.dtypes import uint8
from tensorbus.distributed.errors import DistBackendError
from tensorbus.plugin.comm import HOST

if TYPE_CHECKING:
    from tensorbus._tensor.tensor import Tensor
    from tensorbus.distributed.process_group import ProcessGroup

VARIABLE = "TENSORBUS_DISTRIBUTED_DEBUG"
_SIZE = 512

Shown = tuple[str, str]
"""What must be equal on all ranks, and what is shown besides where it is not."""


class DebugLevel(enum.IntEnum):
    """How much is checked: with ``INFO`` or ``DETAIL`` each collective is compared."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level: DebugLevel | None = None


def level() -> DebugLevel:
    """The level that is set, from ``TENSORBUS_DISTRIBUTED_DEBUG`` at first."""
    global _level
    if _level is None:
        text = os.environ.get(VARIABLE, "0")
        known = {"": 0, "0": 0, "OFF": 0, "1": 1, "INFO": 1, "2": 2, "DETAIL": 2}
        if text.upper() not in known:
            raise ValueError(f"{VARIABLE}={text}: it may be 0 or OFF, 1 or INFO, 2 or DETAIL")
        _level = DebugLevel(known[text.upper()])
    return _level


def set_debug_level(level: DebugLevel | int) -> None:
    """Compare collectives between the ranks or not, from the next on; the same on all ranks."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Set the level that ``TENSORBUS_DISTRIBUTED_DEBUG`` says now.

    >>> import tensorbus as torch
    >>> torch.distributed.set_debug_level_from_env()
    >>> torch.distributed.get_debug_level().name
    'OFF'
    """
    global _level
    _level = None
    level()


def get_debug_level() -> DebugLevel:
    """The level that is set."""
    return level()


def shown(*tensors: Tensor, same: Any = "", shapes: bool = True) -> Shown:
    """What the ranks compare of a collective; without *shapes* those are only shown."""
    if not level():
        return "", ""
    dtypes = ", ".join(sorted({t._k.dtype.name for t in tensors}))
    sizes = ", ".join(str(tuple(t._s)) for t in tensors[:4]) + (", ..." if len(tensors) > 4 else "")
    return f"{same} {dtypes} {sizes if shapes else ''}".strip(), "" if shapes else sizes


def compare(group: ProcessGroup, number: int, call: str, shown: Shown) -> None:
    """Tell each other what is to be done; ``DistBackendError`` on all ranks where it differs."""
    mine = json.dumps([f"{call} number {number}: {shown[0]}", shown[1]]).encode()[:_SIZE]
    received = [_read(t) for t in _exchange(group, number, mine.ljust(_SIZE))]
    if len({same for same, _ in received}) > 1:
        sides = "; ".join(
            f"rank {rank} calls {same} {more}".rstrip()
            for rank, (same, more) in zip(group.ranks, received, strict=True)
        )
        raise DistBackendError(
            f"[rank {group.me}] the ranks of group {group.group_name!r} do not agree: {sides}. "
            f"Nothing was sent: make all ranks call the same operation with equal dtypes and shapes"
        )


def _exchange(group: ProcessGroup, number: int, mine: bytes) -> list[bytes]:
    comm = group.comm_for("cpu")
    if uint8 in comm.capabilities().get(HOST, ()):
        out = np.empty(_SIZE * group.size(), np.uint8)
        array = np.frombuffer(bytearray(mine), np.uint8)
        comm.all_gather(out, array, uint8, group.timeout)
        return [row.tobytes() for row in out.reshape(group.size(), _SIZE)]
    return group.share(f"debug/{number}", mine)


def _read(received: bytes) -> tuple[str, str]:
    try:
        same, more = json.loads(received)
    except ValueError:  # cut off at the size
        return received.decode(errors="replace").strip(), ""
    return same, more
