"""``where`` without branches, and the clamps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import ALL, REAL

TABLE = Table()

_ONE = np.int8(1)
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
            result = chosen(c.view(np.int8), x.view(integer), y.view(integer)).view(own)
        if out is None:
            return result
        out[...] = result
        return out

    def chosen(c: Array, x: Array, y: Array) -> Array:
        # NumPy branches on each element; a random mask mispredicts half of them. All bits of -1
        # are set, so this takes the bits of x where c holds and of y elsewhere.
        if not x.ndim and not x:
            return _masked(np.subtract(c, _ONE), y)
        if not y.ndim and not y:
            return _masked(np.negative(c), x)
        mask = np.negative(c).astype(integer, copy=False)
        result = _masked(mask, x ^ y)  # in the mask's memory: new pages cost more than the bits
        result ^= y
        return result

    return where


def _masked(mask: Array, x: Array) -> Array:
    """The bits of *x* where those of *mask* are set, and none elsewhere."""
    mask = mask.astype(x.dtype, copy=False)
    return np.bitwise_and(mask, x, mask if mask.shape == x.shape else None)


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
