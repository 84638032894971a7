"""``where`` and the slope of ``relu`` without branches, and the clamps."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, into
from tensorbus.plugin.array_library.table import ALL, FLOAT, REAL

TABLE = Table()

_ONE = np.int8(1)
_SMALL = 4096
"""Below so many elements ``np.where`` is faster even on a random mask."""
_FEW, _PIECE = 1 << 10, 1 << 15
"""Below so many elements a number is as quick as an array of it; up to so many, that is kept."""


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


@functools.lru_cache(maxsize=16)
def _zeros(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    made = np.zeros(shape, dtype)
    made.setflags(write=False)
    return made


@TABLE.row("relu", *REAL)
def _relu(xp: Any, dtype: dtype) -> Kernel:
    zero = np.array(0, dtype.name)
    own = zero.dtype

    def relu(x: Array, out: Array | None = None) -> Array:
        # NumPy's loop for two arrays takes a third of the time of that for an array and a number.
        if x.size < _FEW or not x.flags.c_contiguous:
            return np.maximum(x, zero, out=out)
        if x.size <= _PIECE:
            return np.maximum(x, _zeros(x.shape, own), out=out)
        made = np.empty(x.shape, own)
        flat, result, zeros = x.reshape(-1), made.reshape(-1), _zeros((_PIECE,), own)
        for start in range(0, x.size, _PIECE):
            piece = flat[start : start + _PIECE]
            np.maximum(piece, zeros[: piece.size], out=result[start : start + _PIECE])
        return into(out, made)

    return relu


@TABLE.row("relu_backward", FLOAT)
def _relu_backward(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in ("float32", "float64"):
        return None
    own, integer = np.dtype(dtype.name), np.dtype(f"i{dtype.itemsize}")
    zero, one = np.array(0, own), np.array(1, np.int8)

    @may_decline
    def relu_backward(g: Array, y: Array) -> Any:
        if not y.ndim or g.shape != y.shape:
            return NotImplemented
        # As in ``where``: all bits of a gradient, or none.
        dropped = np.less_equal(y, zero).view(np.int8)
        mask = np.subtract(dropped, one, dropped).astype(integer)
        return np.bitwise_and(mask, g.view(integer), mask).view(own)

    return relu_backward


TABLE.add("clamp_min", REAL, lambda xp, dtype: np.maximum)
TABLE.add("clamp_max", REAL, lambda xp, dtype: np.minimum)


@TABLE.row("clamp", *REAL)
def _clamp(xp: Any, dtype: dtype) -> Kernel:
    def clamp(x: Array, low: Array, high: Array, out: Array | None = None) -> Array:
        result = np.maximum(x, low, out=out)
        # A 0-d result is a NumPy scalar and cannot be written to.
        return np.minimum(result, high, out=result if result.ndim or out is not None else None)

    return clamp
