"""Fused ops in few passes over memory, each in its own fresh buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import ALL, FLOAT, ORDERED, REAL
from tensorbus_cpu_numpy.loops import pieces

TABLE = Table()

_SMALL = 1 << 14
"""For fewer elements whole arrays are as quick as pieces."""

TABLE.names(REAL, remainder="remainder")


@TABLE.row("sign", *REAL)
def _sign(xp: Any, dtype: dtype) -> Kernel:
    if not dtype.is_floating_point:
        return np.sign
    zero = np.array(0, dtype.name)

    def sign(x: Array, out: Array | None = None) -> Array:
        # PyTorch's sign of NaN is 0, NumPy's is NaN.
        return into(out, np.subtract(x > zero, x < zero, dtype=np.int8).astype(zero.dtype))

    return sign


@TABLE.row("rsqrt", FLOAT)
def _rsqrt(xp: Any, dtype: dtype) -> Kernel:
    one = np.array(1, dtype.name)
    wide = np.float32 if dtype.itemsize == 2 else dtype.name

    def rsqrt(x: Array, out: Array | None = None) -> Array:
        root = np.asarray(np.sqrt(x, dtype=wide))
        return into(out, np.true_divide(one, root, root).astype(one.dtype, copy=False))

    return quiet(rsqrt)


@TABLE.row("sigmoid", FLOAT)
def _sigmoid(xp: Any, dtype: dtype) -> Kernel:
    wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)
    own = np.dtype(dtype.name)

    def sigmoid(x: Array, out: Array | None = None) -> Array:
        if x.size < _SMALL or own is not wide:
            result = np.exp(np.minimum(x, _LARGE), dtype=wide)
            return into(out, np.asarray(result / (result + 1)).astype(own, copy=False))
        made = np.empty(x.shape, own)
        pieces(_sigmoid_of_piece, x, made)
        return into(out, made)

    return quiet(sigmoid)


_LARGE = 80.0
"""From here on the sum of 1 and the exponential is that, and their quotient 1."""


def _sigmoid_of_piece(x: Array, out: Array, scratch: Array) -> None:
    """``e / (1 + e)`` by the exponential that is subnormal where the result is."""
    np.exp(x, out=out)
    np.add(out, 1.0, out=scratch)
    np.true_divide(out, scratch, out=out)
    if not np.vecdot(out, out) > 0:  # by far the quickest way to find a NaN
        np.exp(np.minimum(x, _LARGE, out=scratch), out=out)
        np.add(out, 1.0, out=scratch)
        np.true_divide(out, scratch, out=out)


@TABLE.row("log10", FLOAT)
def _log10(xp: Any, dtype: dtype) -> Kernel:
    return _in_double(np.log10) if dtype.itemsize == 4 else np.log10


def _in_double(function: Any) -> Kernel:
    """Exact at powers, as NumPy's float32 loop for AVX-512 is not: 38 of ten."""

    def in_double(x: Array, out: Array | None = None) -> Array:
        return into(out, np.asarray(function(x, dtype=np.float64)).astype(np.float32))

    return quiet(in_double)


@TABLE.row("exp2", FLOAT)
def _exp2(xp: Any, dtype: dtype) -> Kernel:
    first = _first_inexact_power() if dtype.itemsize == 4 else None
    if first is None:
        return np.exp2

    def exp2(x: Array, out: Array | None = None) -> Array:
        made = np.asarray(np.exp2(x))
        if not (x.size and np.maximum.reduce(x, None) < first):
            high = np.asarray(x >= first)
            made[high] = np.exp2(x[high], dtype=np.float64)
        return into(out, made)

    return quiet(exp2)


def _first_inexact_power() -> int | None:
    """The first exponent whose power of two NumPy's float32 loops on this processor miss, or None.

    Those for AVX-512 miss 2 ** 127.
    """
    whole = np.arange(-149, 128)
    x = whole.astype(np.float32)
    expected = np.ldexp(np.float32(1), whole)
    apart = np.repeat(x, 2)[::2]  # which may have a loop of its own
    inexact = (np.exp2(x) != expected) | (np.exp2(apart) != expected)
    return int(whole[inexact][0]) if inexact.any() else None


# The copy method's own default order is row-major.
TABLE.add("contiguous", ALL, lambda xp, dtype: np.ndarray.copy)


@TABLE.row("sort_values", *ORDERED)
def _sort_values(xp: Any, dtype: dtype) -> Kernel:
    def sort_values(x: Array, dim: int) -> Array:
        result = x.copy()
        if x.ndim:
            result.sort(dim)
        return result

    return sort_values
