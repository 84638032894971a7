"""Sums of bags of rows and their derivative, each the product with one sparse matrix.

The matrix has a row for each bag, and in it what each index counts; its bounds, indices and factors
are the operands as they come, and its transpose in another format has the same three.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, IndexFault, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import sparse

TABLE = Table()

_MANY = 1 << 12
"""Below so many elements the steps of the composition cost no more than these checks."""


def _matrix(i: Array, bounds: Array, f: Array | None, padding: int, n: int, like: Array) -> Any:
    """Bounds, indices and factors for SciPy's loops; IndexFault for what is outside of *n* rows."""
    if bounds[0] or bounds[-1] > len(i) or (bounds[1:] < bounds[:-1]).any():
        return None
    if np.minimum.reduce(i) < 0 or np.maximum.reduce(i) >= n:
        raise IndexFault(int(i[(i < 0) | (i >= n)][0]), 0, n)
    if padding >= 0:
        counts = i != padding
        bounds = np.concatenate(([0], np.cumsum(counts)))[bounds]
        i, f = i[counts], f if f is None else f[counts]
    f = np.ones(len(i), like.dtype) if f is None else np.ascontiguousarray(f)
    return np.ascontiguousarray(bounds), np.ascontiguousarray(i), f


def _product(loop: str, x: Array, made: Array, matrix: Any) -> Any:
    found = sparse.loops()
    if found is None or matrix is None:
        return NotImplemented
    rows, columns = len(made), len(x)
    getattr(found, loop)(rows, columns, x.shape[1], *matrix, x.reshape(-1), made.reshape(-1))
    return made


def bag_sum(w: Array, i: Array, bounds: Array, f: Array | None, padding: int) -> Any:
    """The sum of the rows of *w* in each bag."""
    if i.size * w.shape[1] < _MANY or len(bounds) < 2:
        return NotImplemented
    matrix = _matrix(i, bounds, f, padding, len(w), w)
    made = np.zeros((len(bounds) - 1, w.shape[1]), w.dtype)
    return _product("csr_matvecs", np.ascontiguousarray(w), made, matrix)


def bag_spread(x: Array, i: Array, bounds: Array, f: Array | None, padding: int, size: int) -> Any:
    """Each row of *x* added to the rows that its bag names."""
    if i.size * x.shape[1] < _MANY or len(bounds) < 2:
        return NotImplemented
    matrix = _matrix(i, bounds, f, padding, size, x)
    made = np.zeros((size, x.shape[1]), x.dtype)
    return _product("csc_matvecs", np.ascontiguousarray(x), made, matrix)


def _offer(op: str, function: Kernel) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return quiet(may_decline(function)) if dtype.itemsize > 2 else None

    TABLE.add(op, (FLOAT,), maker)


_offer("bag_sum", bag_sum)
_offer("bag_spread", bag_spread)
