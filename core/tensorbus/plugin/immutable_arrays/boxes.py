"""Boxes: views of storages whose contents are replaced, and the places of their elements."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus._base.size import is_row_major

NOWHERE = 1 << 61
"""The place of padding: outside every storage, also where two of them are added."""


class Storage:
    """What stands for a run of memory: one immutable array, until the next write."""

    __slots__ = ("held", "lock", "nbytes")

    def __init__(self, flat: Any, dtype: dtype, nbytes: int):
        self.held = flat, dtype
        """The array of one dimension, and its dtype: that of the last write."""
        self.nbytes = nbytes
        """Bytes without the padding at the array's end."""
        self.lock = threading.Lock()
        """Held while a write reads the old contents and puts the new ones in their place."""


class Box:
    """An array as the frontend knows it; strides and the offset count elements."""

    __slots__ = ("contiguous", "dtype", "offset", "shape", "size", "storage", "strides")

    def __init__(
        self, storage: Storage, dtype: dtype, shape: tuple[int, ...], strides: Any, offset: int
    ):
        self.storage = storage
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.size = prod(shape)
        self.contiguous = is_row_major(shape, strides)

    def expanded(self, shape: tuple[int, ...]) -> Box:
        """This box, broadcast to *shape*."""
        if self.shape == shape:
            return self
        new = len(shape) - len(self.shape)
        kept = zip(self.shape, self.strides, strict=True)
        strides = (0,) * new + tuple([0 if n == 1 else s for n, s in kept])
        return Box(self.storage, self.dtype, shape, strides, self.offset)


def places(shape: Sequence[int], strides: Sequence[int], offset: int, room: int) -> np.ndarray:
    """Where in its storage each element is, in row-major order, and ``NOWHERE`` up to *room*."""
    grid = np.full((), offset, np.int64)
    for n, stride in zip(shape, strides, strict=True):
        grid = np.add.outer(grid, np.arange(n) * stride)
    return padded(grid.reshape(-1), room, NOWHERE)


def padded(values: np.ndarray, room: int, fill: Any = 0) -> np.ndarray:
    """*values*, of one dimension, with *fill* behind them up to *room* elements."""
    if len(values) == room:
        return values
    made = np.full(room, fill, values.dtype)
    made[: len(values)] = values
    return made
