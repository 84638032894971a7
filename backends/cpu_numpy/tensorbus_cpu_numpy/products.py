"""Matrix products: few rows in blocks that BLAS likes; dtypes it lacks by those it has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into, quiet, with_own
from tensorbus.plugin.array_library.narrow import product as converting
from tensorbus.plugin.array_library.table import BOOL, FLOAT, INTEGER
from tensorbus_cpu_numpy import blas

TABLE = Table()

_BYTE_BLOCK = 1024
"""1,024 products of two bytes' magnitude, at most 2**14 each, stay below float32's 2**24."""
_SMALL = 4096
_EXACT = float(1 << 53)


_SMALL_PRODUCT = 1_000_000
"""Up to this many multiplications OpenBLAS has kernels that need no packing, on some processors."""
_FEW_ROWS = 128
_TURNED_ROWS, _LONG, _WIDE = 32, 256, 64
"""OpenBLAS's other kernels take a third less time for a few rows, long and many, as columns."""


def _few_rows() -> Kernel:
    product = np.matmul
    own = np.dtype(np.float32)

    def matmul(a: Array, b: Array, dtype: np.dtype = own, out: Array | None = None) -> Array:
        if dtype is not own:
            return converting(np, a, b, dtype, out)
        if out is None and a.ndim == 2:
            m, k = a.shape
            if 8 < m <= _FEW_ROWS and m * k * b.shape[1] > _SMALL_PRODUCT:
                rows = _SMALL_PRODUCT // (k * b.shape[1])
                while rows > 3 and m % rows:
                    rows -= 1
                if rows > 3:
                    # The result owns its memory, so that a gradient can be taken as it is.
                    result = np.empty((m, b.shape[1]), own)
                    blocks = result.reshape(m // rows, rows, b.shape[1])
                    product(a.reshape(m // rows, rows, k), b, out=blocks)
                    return result
        return product(a, b, out=out)

    return with_own(matmul, own, matmul)


@TABLE.row("matmul", INTEGER, BOOL, FLOAT)
def _matmul(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.is_floating_point:
        return _few_rows() if dtype.name == "float32" and blas.has_small_kernels() else None
    multiply = _of_bytes if dtype.name == "int8" else _of_integers

    def matmul(a: Array, b: Array, dtype: np.dtype, out: Array | None = None) -> Array:
        small = a.shape[-2] * a.shape[-1] * b.shape[-1] < _SMALL
        if small or a.dtype.kind == "b" or dtype.kind not in "iu":
            return converting(np, a, b, dtype, out)
        return into(out, multiply(a, b, dtype))

    return matmul


@TABLE.row("linear", FLOAT)
def _linear(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.itemsize == 2:
        return None
    product: Any = np.matmul
    turns = dtype.name == "float32"
    if turns and blas.has_small_kernels():
        product, turns = _few_rows(), False

    def linear(x: Array, w: Array, b: Array | None) -> Array:
        """In one function: the calls of a composition take longer than a small product."""
        shape = x.shape
        if len(shape) != 2:
            x = x.reshape(math.prod(shape[:-1]), shape[-1])
        if turns and 1 < len(x) <= _TURNED_ROWS and w.shape[1] >= _LONG and len(w) >= _WIDE:
            r = np.matmul(w, x.T).T
            r = r.copy() if b is None else np.add(r, b, np.empty(r.shape, r.dtype))
        else:
            r = product(x, w.T)
            if b is not None:
                np.add(r, b, r)
        return r if len(shape) == 2 else r.reshape(*shape[:-1], len(w))

    return quiet(linear)


def _of_bytes(a: Array, b: Array, dtype: np.dtype) -> Array:
    """int8 products, summed exactly in float32 block by block."""
    total = None
    for start in range(0, a.shape[-1], _BYTE_BLOCK):
        left = a[..., start : start + _BYTE_BLOCK].astype(np.float32)
        right = b[..., start : start + _BYTE_BLOCK, :].astype(np.float32)
        part = np.matmul(left, right).astype(np.int32).astype(dtype, copy=False)
        total = part if total is None else np.add(total, part, total)
    return total


def _of_integers(a: Array, b: Array, dtype: np.dtype) -> Array:
    """In float64 where no sum can leave its exact range, else by NumPy's own loops."""
    if _bound(a) * _bound(b) * a.shape[-1] < _EXACT:
        product = np.matmul(a.astype(np.float64), b.astype(np.float64))
        return product.astype(np.int64).astype(dtype, copy=False)
    return np.matmul(a.astype(dtype, copy=False), b.astype(dtype, copy=False))


def _bound(x: Array) -> float:
    """The largest magnitude in *x*."""
    return max(float(x.max()), -float(x.min())) if x.size else 0.0
