"""Solutions, inverses and determinants where no factors are kept: NumPy's loops over a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quietly
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT
from tensorbus_cpu_numpy import linear_algebra, small_matrices
from tensorbus_cpu_numpy.transposing import column_major

TABLE = Table()


def _many(a: Array) -> bool:
    """Whether the loop of NumPy costs less than a call of LAPACK for each matrix."""
    return a.ndim > 2 and a.shape[-1] < linear_algebra.SMALL


@TABLE.row("linalg_solve", FLOAT, COMPLEX)
def _solve(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    getrf, trsm = (linear_algebra.routine(*at) for at in ((0, dtype, "getrf"), (1, dtype, "trsm")))

    def one(a: Array, b: Array) -> tuple[Array, Any]:
        lu, pivots, info = getrf(column_major(a), overwrite_a=1)
        x = b[linear_algebra.order_of(pivots)].T
        for upper in (False, True):  # of the transposed equations, row-major as BLAS wants them
            x = trsm(1.0, lu, x, side=1, lower=not upper, trans_a=1, diag=not upper, overwrite_b=1)
        return x.T, info

    def solve(a: Array, b: Array) -> tuple[Array, Array]:
        if getrf is None or _many(a):
            return _by_numpy(np.linalg.solve, a, b)
        return _each(one, a, b)

    return solve


@TABLE.row("linalg_inv", FLOAT, COMPLEX)
def _inv(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    getrf, getri = (linear_algebra.routine(0, dtype, name) for name in ("getrf", "getri"))

    def one(a: Array) -> tuple[Array, Any]:
        # The transposed inverse is that of the transposed matrix, which needs no rearranging.
        lu, pivots, info = getrf(a.T)
        if info:
            return np.full_like(a, np.nan), getrf(a)[-1]
        return getri(lu, pivots, lwork=_WORK * len(a), overwrite_lu=1)[0].T, info

    def inv(a: Array) -> tuple[Array, Array]:
        if getrf is None or _many(a):
            return _by_numpy(np.linalg.inv, a)
        return _each(one, a)

    return inv


_WORK = 64
"""Columns that LAPACK works on at once."""


@TABLE.row("linalg_det", FLOAT, COMPLEX)
def _det(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    getrf = linear_algebra.routine(0, dtype, "getrf")
    single = dtype.name in linear_algebra.SINGLE  # of which NumPy's is computed in double

    def det(a: Array) -> Array:
        if getrf is None or (single and _many(a)):
            return np.asarray(np.linalg.det(a))
        lu, odd = _factors(getrf, a)
        made = np.asarray(quietly(np.multiply.reduce, lu.diagonal(0, -2, -1), -1))
        return np.negative(made, out=made, where=odd)

    return det


@TABLE.row("linalg_slogdet", FLOAT)
def _slogdet(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    getrf = linear_algebra.routine(0, dtype, "getrf")

    def slogdet(a: Array) -> tuple[Array, Array]:
        if getrf is None or _many(a):
            sign, size = np.linalg.slogdet(a)
            return np.asarray(sign), np.asarray(size)
        lu, odd = _factors(getrf, a)
        pivots = lu.diagonal(0, -2, -1)
        sign = np.multiply.reduce(np.sign(pivots), -1)
        size = np.add.reduce(quietly(np.log, np.abs(pivots)), -1)
        return np.asarray(np.where(odd, -sign, sign)), np.asarray(size)

    return slogdet


def _factors(getrf: Any, a: Array) -> tuple[Array, Array]:
    """The factors of each transposed matrix, and whether its exchanges are odd in number."""
    made, n = np.array(a, order="C").swapaxes(-1, -2), a.shape[-1]
    matrices = [made] if a.ndim == 2 else made.reshape(-1, n, n)
    pivots = np.concatenate([getrf(one, overwrite_a=1)[1] for one in matrices]).reshape(-1, n)
    return made, np.bitwise_xor.reduce(pivots != np.arange(n), -1).reshape(a.shape[:-2])


def _each(one: Callable[..., tuple[Array, Any]], a: Array, *b: Array) -> tuple[Array, Array]:
    """The results of a function of one matrix for each of a batch."""
    if a.ndim == 2:
        x, info = one(a, *b)
        return x, np.asarray(info, np.int32)
    x, info = np.empty((b or (a,))[0].shape, a.dtype), np.empty(a.shape[:-2], np.int32)
    for at in np.ndindex(info.shape):
        x[at], info[at] = one(a[at], *(y[at] for y in b))
    return x, info


def _by_numpy(function: Callable[..., Array], a: Array, *b: Array) -> tuple[Array, Array]:
    """NumPy gives up on a whole batch where one matrix is singular; then each is tried."""
    try:
        return function(a, *b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return _each(lambda *given: _tried(function, *given), a, *b)


def _tried(function: Callable[..., Array], a: Array, *b: Array) -> tuple[Array, Any]:
    try:
        return function(a, *b), 0
    except np.linalg.LinAlgError:
        return np.full_like((b or (a,))[0], np.nan), small_matrices.lu(a[None])[-1][0] or len(a)
