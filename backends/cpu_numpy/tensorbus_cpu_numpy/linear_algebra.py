"""Factorizations: by the LAPACK in SciPy where that is installed, else by the one in NumPy."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT
from tensorbus_cpu_numpy import small_matrices
from tensorbus_cpu_numpy.transposing import column_major

TABLE = Table()

SINGLE = ("float32", "complex64")
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
SMALL = 32
"""Below this size NumPy's loop over a batch costs less than a call for each matrix."""


@functools.cache
def _lapack() -> Any:
    """SciPy's LAPACK and BLAS, or None."""
    try:
        from scipy.linalg import blas, lapack
    except ImportError:
        return None
    return lapack, blas


@functools.cache
def functions() -> Any:
    """The module of SciPy's functions of matrices, or None."""
    try:
        from scipy import linalg
    except ImportError:
        return None
    return linalg


def library() -> str:
    """Whose LAPACK the kernels of this module use, without importing it."""
    try:
        found = importlib.util.find_spec("scipy")
    except ImportError:  # somebody keeps it out of this process
        found = None
    return "NumPy" if found is None else "SciPy"


def routine(module: int, dtype: dtype, name: str) -> Any:
    """A routine of SciPy's LAPACK (0) or BLAS (1) for a dtype, or None."""
    found = _lapack()
    return None if found is None else getattr(found[module], _LETTERS[dtype.name] + name)


# -- Cholesky --------------------------------------------------------------------------------
@TABLE.row("linalg_cholesky", FLOAT, COMPLEX)
def _cholesky(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in _LETTERS:
        return None
    potrf = routine(0, dtype, "potrf")
    one = _by_numpy if potrf is None else functools.partial(_by_lapack, potrf)

    def cholesky(a: Array) -> tuple[Array, Array]:
        if potrf is None or (a.ndim > 2 and a.shape[-1] < SMALL):
            try:
                factors = np.linalg.cholesky(a)
            except np.linalg.LinAlgError:
                pass
            else:
                return factors, _orders(factors)
        elif a.ndim == 2:
            factor, order = one(a)
            return factor, np.asarray(order, np.int32) if order else _orders(factor)
        factors, info = np.empty(a.shape, a.dtype), np.zeros(a.shape[:-2], np.int32)
        for at in np.ndindex(info.shape):
            factors[at], info[at] = one(a[at])
        return factors, np.where(info, info, _orders(factors))

    return cholesky


def _orders(factors: Array) -> Array:
    """Where a factor's diagonal is first not positive: LAPACK passes over NaN on some machines."""
    positive = factors.diagonal(0, -2, -1).real > 0
    if np.count_nonzero(positive) == positive.size:
        return np.zeros(factors.shape[:-2], np.int32)
    failed = ~positive
    return np.where(failed.any(-1), failed.argmax(-1) + 1, 0).astype(np.int32)


def _by_lapack(potrf: Any, a: Array) -> tuple[Array, int]:
    # The rows of a row-major matrix are LAPACK's columns: its lower triangle is their upper one.
    factor, info = potrf(np.ascontiguousarray(a).T, lower=0, clean=1)
    return factor.T, info


def _by_numpy(a: Array) -> tuple[Array, int]:
    """Without LAPACK's own report the order is found by halving: minors fail from one on."""
    works, fails, factor = 0, len(a) + 1, np.full(a.shape, np.nan, a.dtype)
    middle = len(a)
    while fails - works > 1:
        try:
            factor[:middle, :middle] = np.linalg.cholesky(a[:middle, :middle])
            works = middle
        except np.linalg.LinAlgError:
            fails = middle
        middle = (works + fails) // 2
    return factor, 0 if works == len(a) else fails


# -- triangular systems ----------------------------------------------------------------------
@TABLE.row("linalg_solve_triangular", FLOAT, COMPLEX)
def _solve_triangular(xp: Any, dtype: dtype) -> Kernel | None:
    trsm = routine(1, dtype, "trsm") if dtype.name in _LETTERS else None
    if trsm is None:
        return None

    def one(a: Array, b: Array, upper: bool, unit: bool) -> Array:
        # Of the transposed equation, whose operands lie in memory as BLAS wants them.
        if a.flags.f_contiguous and not a.flags.c_contiguous:
            return trsm(1.0, a, b.T, side=1, lower=not upper, trans_a=1, diag=unit).T
        return trsm(1.0, a.T, b.T, side=1, lower=upper, diag=unit).T

    def solve_triangular(a: Array, b: Array, upper: bool, unit: bool) -> Array:
        if b.ndim == 2:
            return one(a, b, upper, unit)
        if small_matrices.pays(a):
            return small_matrices.solve_triangular(a, b, upper, unit)
        x = np.empty(b.shape, b.dtype)
        for at in np.ndindex(b.shape[:-2]):
            x[at] = one(a[at], b[at], upper, unit)
        return x

    return solve_triangular


# -- LU --------------------------------------------------------------------------------------
@TABLE.row("linalg_lu", FLOAT, COMPLEX)
def _lu(xp: Any, dtype: dtype) -> Kernel | None:
    getrf = routine(0, dtype, "getrf") if dtype.name in _LETTERS else None
    if getrf is None:  # NumPy shows no factors
        return None

    def lu(a: Array) -> tuple[Array, Array, Array]:
        if a.ndim == 2:
            factors, pivots, info = getrf(column_major(a), overwrite_a=1)
            return factors, pivots.astype(np.int32, copy=False), np.asarray(info, np.int32)
        if small_matrices.pays(a):
            return small_matrices.lu(a)
        batch, k = a.shape[:-2], min(a.shape[-2:])
        turned = np.array(a.swapaxes(-1, -2), order="C")
        factors = turned.swapaxes(-1, -2)
        pivots, info = np.empty((*batch, k), np.int32), np.zeros(batch, np.int32)
        for at in np.ndindex(batch if a.size else (0,)):
            _, pivots[at], info[at] = getrf(factors[at], overwrite_a=1)
        return factors, pivots, info

    return lu


def order_of(pivots: Array) -> Array:
    """The order of the rows after LAPACK's exchanges, one after the other."""
    order = list(range(len(pivots)))
    for i, other in enumerate(pivots.tolist()):
        order[i], order[other] = order[other], order[i]
    return np.array(order)


# -- orthogonal factors ----------------------------------------------------------------------
@TABLE.row("linalg_qr", FLOAT, COMPLEX)
def _qr(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in _LETTERS:
        return None

    def qr(a: Array, complete: bool) -> tuple[Array, Array]:
        if a.ndim == 2 and dtype.name in SINGLE and min(a.shape) >= SMALL:
            sp = functions()
            if sp is not None:  # NumPy's computes single precision in double
                q, r = sp.qr(a, mode="full" if complete else "economic", check_finite=False)
                return q, r
        q, r = np.linalg.qr(a, "complete" if complete else "reduced")
        return q, r

    return qr


@TABLE.row("linalg_geqrf", FLOAT, COMPLEX)
def _geqrf(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in _LETTERS:
        return None

    def geqrf(a: Array) -> tuple[Array, Array]:
        packed, tau = np.linalg.qr(a, "raw")
        return np.swapaxes(packed, -1, -2), tau

    return geqrf
