"""Sums and means: matrix-vector products with ones, in blocks.

``np.add.reduce`` uses a quarter of the machine, and sums float32 over a leading dimension one
term after the other, with an error that grows with the number of terms. A product with ones runs
in BLAS; blocks of ``_BLOCK`` terms, added up in float64, keep the error below pairwise summation's.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, into, quiet, with_own
from tensorbus.plugin.array_library.reductions import accumulating
from tensorbus.plugin.array_library.table import ALL, BOOL, FLOAT

TABLE = Table()

_SMALL = 2048
"""Below so many elements the ufunc's own reduction is faster."""
_BLOCK = 1024
"""Terms of one row summed in float32: BLAS sums them in 16 or more lanes."""
_DOT = 8192
"""Terms of one scalar product in float32: BLAS sums these in 32 or more lanes."""
_STACK = 32
"""Terms of one column summed in float32: these are summed one after the other."""
_SHORT = {4: 256, 8: 32}
"""Rows of up to so many terms of 4 or 8 bytes are summed by one product: BLAS sums them in 8 or 4
lanes, and has less to do for each row."""
_TALL = 256
"""Terms of one column summed at once where none cancels another: BLAS adds four or more to what is
there, where ``np.add.reduce`` adds one, with three to eight times the error."""
_FAR, _WIDTH = 1 << 20, 4096
"""From so many terms on a row, which then leaves the cache, is a stack of shorter ones."""
_BLAS = ("float32", "float64")

_reduce = np.add.reduce


@functools.lru_cache(maxsize=256)
def ones(n: int, dtype: np.dtype) -> Array:
    """A vector that is kept."""
    made = np.ones(n, dtype)
    made.setflags(write=False)
    return made


@TABLE.row("sum", FLOAT)
def _sum(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in _BLAS:
        return None

    own = np.dtype(dtype.name)

    @quiet
    def sum(
        x: Array, dims: tuple[int, ...], dtype: np.dtype = own, out: Array | None = None
    ) -> Array:
        if x.size >= _SMALL and dtype.kind == "f" and dtype.itemsize > 2:
            terms = x.astype(dtype, copy=False)
            return into(out, total(terms, dims).astype(dtype, copy=False))
        if dtype.itemsize == 2:
            return _by_float32(x, dims, dtype, out)
        return _reduce(x, dims, dtype, out)

    return with_own(sum, own, sum)


_by_float32 = accumulating(_reduce)


@TABLE.row("mean", FLOAT)
def _mean(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    blas = dtype.name in _BLAS
    wide = np.float32 if dtype.name == "float16" else own

    def mean(x: Array, dims: tuple[int, ...], out: Array | None = None) -> Array:
        count = math.prod([x.shape[d] for d in dims])
        result = total(x, dims) if blas and x.size >= _SMALL else _reduce(x, dims, wide)
        # An integer divisor would make a NumPy scalar of float32 a float64.
        return into(out, np.true_divide(result, np.array(count, result.dtype)).astype(own))

    return quiet(mean)


def _squares(x: Array, dims: tuple[int, ...]) -> Array:
    kept = x.shape[: x.ndim - len(dims)]
    if x.size < _SMALL:
        return _reduce(x * x, dims)
    if x.flags.c_contiguous and dims[0] == len(kept) and dims[-1] == x.ndim - 1:
        made = _dots(x.reshape(-1, math.prod(x.shape[len(kept) :]))).reshape(kept)
    else:
        made = total(x * x, dims)
    return made.astype(x.dtype, copy=False)


@TABLE.row("vector_norm", FLOAT)
def _vector_norm(xp: Any, dtype: dtype) -> Kernel | None:
    return quiet(_root_of_squares) if dtype.name in _BLAS else None


@may_decline
def _root_of_squares(x: Array, order: float, dims: tuple[int, ...]) -> Array:
    """The norm of order 2 alone; others are composed."""
    if order != 2:
        return NotImplemented
    if len(dims) == x.ndim and x.flags.c_contiguous:
        return np.array(math.sqrt(_square(x.reshape(-1))), x.dtype)
    return np.sqrt(_squares(x, dims))


def _square(x: Array) -> Any:
    """The product of a contiguous array of one dimension with itself."""
    n = x.size
    if n <= _DOT:
        return x.dot(x)
    count = n // _DOT
    blocks, tail = np.ndarray((count, _DOT), x.dtype, x), x[count * _DOT :]
    parts, rest = np.vecdot(blocks, blocks), tail.dot(tail)
    if count <= _BLOCK:
        made = parts.dot(ones(count, x.dtype)) + rest
        if made < math.inf:  # else float64 may hold it
            return made
    return _reduce(parts, 0, np.float64) + rest


def _dots(x: Array) -> Array:
    """The product of each row of a contiguous matrix with itself."""
    rows, n = x.shape
    if n <= _DOT:
        return np.vecdot(x, x)
    blocks, left = divmod(n, _DOT)
    strides = (x.strides[0], _DOT * x.itemsize, x.itemsize)
    whole = np.ndarray((rows, blocks, _DOT), x.dtype, x, 0, strides)
    made = _reduce(np.vecdot(whole, whole), 1, np.float64)
    if left:
        tail = x[:, n - left :]
        made += np.vecdot(tail, tail)
    return made


def total(x: Array, dims: tuple[int, ...]) -> Array:
    """The sum of a float32 or float64 array over *dims*; partial sums are kept in float64."""
    if not x.flags.c_contiguous:
        return _strided_total(x, dims)
    shape = x.shape
    if dims == (0,) and len(shape) == 2:
        n = shape[0]
        if n % _STACK == 0 and 0 < n <= _STACK * _STACK:
            parts = np.matmul(ones(_STACK, x.dtype), x.reshape(n // _STACK, _STACK, shape[1]))
            return _reduce(parts, 0, np.float64)
        return _middle(x[None])[0] if n > _STACK else np.matmul(ones(n, x.dtype), x)
    # The last run of neighbouring dimensions first: it makes what is left smallest.
    stop = dims[-1] + 1
    start = stop - 1
    while start - 1 in dims:
        start -= 1
    n = math.prod(shape[start:stop])
    kept = shape[:start] + shape[stop:]
    if stop == len(shape):
        result = _rows(x.reshape(-1, n))
    else:
        result = _middle(x.reshape(-1, n, math.prod(shape[stop:])))
    rest = tuple([d for d in dims if d < start])
    return total(result.reshape(kept), rest) if rest else result.reshape(kept)


def _strided_total(x: Array, dims: tuple[int, ...]) -> Array:
    """Put the dimensions in memory's order, by a copy where that is not enough."""
    order = sorted(range(x.ndim), key=lambda d: -x.strides[d])
    swapped = x.transpose(order)
    if not swapped.flags.c_contiguous:
        return total(x.copy(), dims)
    position = {d: i for i, d in enumerate(order)}
    result = total(swapped, tuple(sorted([position[d] for d in dims])))
    kept = [d for d in order if d not in dims]
    return result.transpose(np.argsort(kept)) if len(kept) > 1 else result


def _rows(x: Array) -> Array:
    """The sum of each row of a contiguous matrix."""
    rows, n = x.shape
    if n <= _SHORT[x.itemsize]:
        return np.matmul(x, ones(n, x.dtype))
    if n <= _BLOCK:
        return np.vecdot(x, ones(n, x.dtype))
    if n >= _FAR:
        size = n // (_STACK * _WIDTH) * _STACK * _WIDTH
        stacks = x[:, :size].reshape(rows, -1, _STACK, _WIDTH)
        result = _rows(np.matmul(ones(_STACK, x.dtype), stacks).reshape(rows, -1))
        return result if size == n else result + _rows(x[:, size:])
    size = n // _BLOCK * _BLOCK
    blocks = x[:, :size].reshape(rows, -1, _BLOCK)
    result = _reduce(np.vecdot(blocks, ones(_BLOCK, x.dtype)), 1, np.float64)
    return result if size == n else result + _rows(x[:, size:])


def dots(x: Array, y: Array) -> Array:
    """The products of the rows of two matrices, as exact as their sums."""
    n = x.shape[1]
    if n <= _BLOCK:
        return np.vecdot(x, y)
    size = n // _BLOCK * _BLOCK
    blocks = [a[:, :size].reshape(len(a), -1, _BLOCK) for a in (x, y)]
    result = _reduce(np.vecdot(*blocks), 1, np.float64)
    return result if size == n else result + np.vecdot(x[:, size:], y[:, size:])


def weighted(factors: Array, x: Array) -> Array:
    """The sum of the rows of a contiguous matrix, each times its factor."""
    rows, width = x.shape
    blocks = rows // _STACK
    size = blocks * _STACK
    parts = np.matmul(
        factors[:size].reshape(blocks, 1, _STACK), x[:size].reshape(blocks, _STACK, width)
    )
    return _reduce(parts, (0, 1), np.float64) + np.matmul(factors[size:], x[size:])


def _middle(x: Array) -> Array:
    """The sum of a contiguous (planes, n, width) array over its second dimension."""
    planes, n, width = x.shape
    blocks, left = divmod(n, _STACK)
    if blocks == 0:
        return np.matmul(ones(n, x.dtype), x)
    size = x.itemsize
    strides = (n * width * size, _STACK * width * size, width * size, size)
    whole = np.ndarray((planes, blocks, _STACK, width), x.dtype, x, 0, strides)
    parts = np.matmul(ones(_STACK, x.dtype), whole)
    if blocks == 1:
        result = parts[:, 0]
    elif x.itemsize == 8:
        result = _middle(parts)
    else:
        result = _reduce(parts, 1, np.float64)
    if left:
        result = result + np.matmul(ones(left, x.dtype), x[:, n - left :])
    return result


@TABLE.row("any", *ALL)
def _any(xp: Any, dtype: dtype) -> Kernel:
    return np.logical_or.reduce


@TABLE.row("all", *ALL)
def _all(xp: Any, dtype: dtype) -> Kernel:
    return np.logical_and.reduce


# On bool the largest and the least are "any" and "all", which stop early and run vectorised.
TABLE.add("amax", (BOOL,), _any)
TABLE.add("amin", (BOOL,), _all)


def _sum_of_sizes(a: Array, dim: int) -> Array:
    """The sums over a dimension of numbers that are not negative."""
    if a.size < _SMALL:
        return _reduce(a, dim)
    n = a.shape[dim]
    if n <= _TALL and dim == a.ndim - 2 and a.flags.c_contiguous:
        return np.matmul(ones(n, a.dtype), a)
    return total(a, (dim,))


@TABLE.row("extreme_sum", FLOAT)
def _extreme_sum(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in _BLAS:
        return None
    own = np.dtype(dtype.name)

    def extreme_sum(x: Array, summed: int, ranked: int, largest: bool) -> Array:
        sums = _sum_of_sizes(np.abs(x), summed)
        extreme = np.maximum if largest else np.minimum
        return np.asarray(extreme.reduce(sums, ranked), own)

    return quiet(extreme_sum)


@TABLE.row("logcumsumexp", FLOAT)
def _logcumsumexp(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)

    def logcumsumexp(x: Array, dim: int) -> Array:
        # One pass, each sum from the one before: in float64 none of the digits are lost.
        return np.logaddexp.accumulate(x, dim, np.float64).astype(own, copy=False)

    return quiet(logcumsumexp)
