"""``where`` without branches, and the clamps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import ALL, REAL

TABLE = Table()

_SMALL = 4096
"""Below so many elements ``np.where`` is faster even on a random mask."""


@TABLE.row("where", *ALL)
def _where(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.itemsize > 8:
        return None
    integer = np.dtype(f"i{dtype.itemsize}")
    own = np.dtype(dtype.name)

    def where(c: Array, x: Array, y: Array, out: Array | None = None) -> Array:
        if c.size < _SMALL:
            result = np.where(c, x, y)
        else:
            # NumPy branches on each element; a random mask mispredicts half of them. All bits
            # of -1 are set, so this takes the bits of x where c holds and of y elsewhere.
            y = y.view(integer)
            mask = np.negative(c.view(np.int8)).astype(integer, copy=False)
            result = np.bitwise_and(mask, x.view(integer) ^ y)
            result ^= y
            result = result.view(own)
        if out is None:
            return result
        out[...] = result
        return out

    return where


@TABLE.row("relu", *REAL)
def _relu(xp: Any, dtype: dtype) -> Kernel:
    zero = np.array(0, dtype.name)
    return lambda x, out=None: np.maximum(x, zero, out=out)


TABLE.add("clamp_min", REAL, lambda xp, dtype: np.maximum)
TABLE.add("clamp_max", REAL, lambda xp, dtype: np.minimum)


@TABLE.row("clamp", *REAL)
def _clamp(xp: Any, dtype: dtype) -> Kernel:
    def clamp(x: Array, low: Array, high: Array, out: Array | None = None) -> Array:
        result = np.maximum(x, low, out=out)
        # A 0-d result is a NumPy scalar and cannot be written to.
        return np.minimum(result, high, out=result if result.ndim or out is not None else None)

    return clamp
