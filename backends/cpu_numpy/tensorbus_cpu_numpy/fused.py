"""Fused ops in few passes over memory, each in its own fresh buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import ALL, FLOAT, ORDERED, REAL
from tensorbus_cpu_numpy.sums import total

TABLE = Table()

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
    one, low = np.array(1, wide), np.array(-80, wide)

    def sigmoid(x: Array, out: Array | None = None) -> Array:
        result = np.asarray(np.negative(x, dtype=wide))
        np.exp(result, result)
        result += one
        np.true_divide(one, result, result)
        if _has_zeros(result):
            # On the far left exp(-x) overflows while exp(x), the result, is subnormal still.
            np.exp(x, result, where=np.less(x, low), dtype=wide)
        return into(out, result.astype(own, copy=False))

    return quiet(sigmoid)


def _has_zeros(x: Array) -> bool:
    """Whether there is a zero, or perhaps a NaN, in what is not negative."""
    if x.size < 2048:
        return int(np.count_nonzero(x)) < x.size
    return not np.minimum.reduce(x, None) > 0


@TABLE.row("log10", FLOAT)
def _log10(xp: Any, dtype: dtype) -> Kernel:
    return _exact_at_powers(np.log10, dtype)


@TABLE.row("exp2", FLOAT)
def _exp2(xp: Any, dtype: dtype) -> Kernel:
    return _exact_at_powers(np.exp2, dtype)


def _exact_at_powers(function: Any, dtype: dtype) -> Kernel:
    """As NumPy's float32 loops for AVX-512 are not: 38 powers of ten, and one of two, are off."""
    if dtype.itemsize != 4:
        return function

    def in_double(x: Array, out: Array | None = None) -> Array:
        return into(out, np.asarray(function(x, dtype=np.float64)).astype(np.float32))

    return quiet(in_double)


def _centred(x: Array, dim: int, wide: np.dtype) -> Array:
    """x minus its maximum along *dim*, which keeps exp in range."""
    return np.subtract(x, np.maximum.reduce(x, dim, keepdims=True), dtype=wide)


def _sum_kept(x: Array, dim: int) -> Array:
    if x.size < 2048:
        return np.add.reduce(x, dim, keepdims=True)
    summed = total(x, (dim,)).astype(x.dtype, copy=False)
    return summed.reshape(*x.shape[:dim], 1, *x.shape[dim + 1 :])


@TABLE.row("softmax", FLOAT)
def _softmax(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)

    def softmax(x: Array, dim: int) -> Array:
        if x.ndim == 0:
            return np.asarray(x * 0 + 1, own)
        result = _centred(x, dim, wide)
        np.exp(result, result)
        result /= _sum_kept(result, dim)
        return result.astype(own, copy=False)

    return quiet(softmax)


@TABLE.row("log_softmax", FLOAT)
def _log_softmax(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)

    def log_softmax(x: Array, dim: int) -> Array:
        if x.ndim == 0:
            return np.asarray(x * 0, own)
        result = _centred(x, dim, wide)
        result -= np.log(_sum_kept(np.exp(result), dim))
        return result.astype(own, copy=False)

    return quiet(log_softmax)


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
