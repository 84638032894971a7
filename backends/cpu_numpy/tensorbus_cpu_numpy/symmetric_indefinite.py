"""Symmetric matrices that need not be positive definite: L D L^T with blocks of 1 and 2 on D.

By the LAPACK in SciPy where that is installed, else by the same steps (Bunch and Kaufman, 1977) one
column after the other. Exchanges are those of LAPACK: row i with ``pivots[i] - 1``, and where two
neighbours are negative, the second of a block of 2 with ``-pivots[i] - 1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quietly
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT
from tensorbus_cpu_numpy import linear_algebra
from tensorbus_cpu_numpy.transposing import column_major, lower_column_major

TABLE = Table()

_ALPHA = (1 + 17**0.5) / 8
"""The share of a column's largest element from which its diagonal one is a good pivot."""
_WORK = 64
"""Columns that LAPACK works on at once."""


@TABLE.row("linalg_ldl", FLOAT, COMPLEX)
def _ldl(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def ldl(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
        kind = "hetrf" if hermitian and dtype.is_complex else "sytrf"
        routine = linear_algebra.routine(0, dtype, kind)
        if routine is not None and a.size:
            return _by_lapack(routine, a)
        packed = np.tril(a)
        pivots, info = np.empty(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
        for at in np.ndindex(info.shape if packed.size else (0,)):
            pivots[at], info[at] = factor(packed[at], hermitian)
        return packed, pivots, info

    return ldl


def _by_lapack(routine: Any, a: Array) -> tuple[Array, Array, Array]:
    """The factors of each matrix, which LAPACK writes over a copy."""
    n = a.shape[-1]
    if a.ndim == 2:
        packed, pivots, failed = routine(lower_column_major(a), 1, _WORK * n, 1)
        return packed, pivots, np.asarray(failed, np.int32)
    made = np.array(a.swapaxes(-1, -2), order="C")
    found = [routine(one.T, 1, _WORK * n, 1)[1:] for one in made.reshape(-1, n, n)]
    np.copyto(made, 0, where=np.tri(n, k=-1, dtype=np.bool_))
    pivots = np.concatenate([one for one, _ in found])
    info = np.array([failed for _, failed in found], np.int32)
    return made.swapaxes(-1, -2), pivots.reshape(a.shape[:-1]), info.reshape(a.shape[:-2])


@TABLE.row("linalg_ldl_solve", FLOAT, COMPLEX)
def _ldl_solve(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def ldl_solve(packed: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
        kind = "hetrs" if hermitian and dtype.is_complex else "sytrs"
        routine = linear_algebra.routine(0, dtype, kind)
        x = np.array(b)
        if x.size and routine is not None:
            exchanges = pivots.astype(np.int32)
            for at in np.ndindex(b.shape[:-2]):
                factors = packed[at]
                if not factors.flags.f_contiguous:
                    factors = column_major(factors)
                x[at] = routine(factors, exchanges[at], column_major(b[at]), 1, 1)[0]
        elif x.size:
            for at in np.ndindex(b.shape[:-2]):
                solve(packed[at], pivots[at], x[at], hermitian)
        return x

    return ldl_solve


def _conjugated(x: Array, hermitian: bool) -> Array:
    return x.conj() if hermitian else x


def factor(a: Array, hermitian: bool) -> tuple[Array, int]:
    """Write L and D over a lower triangle; the pivots, and 1 + the index of the first zero in D."""
    n, info = len(a), 0
    pivots, k = np.empty(n, np.int32), 0
    while k < n:
        if not (_sizes(a[k:, k]) > 0).any():  # NaN neither
            info = info or k + 1
            pivots[k], k = k + 1, k + 1
            continue
        other, size = _pivot(a, k)
        last = k + size - 1
        if other != last:
            _exchange(a, k, last, other, hermitian)
        step, rest = slice(k, last + 1), slice(last + 1, n)
        columns = a[rest, step].copy()
        a[rest, step] = columns @ np.linalg.inv(_block(a, step, hermitian))
        a[rest, rest] -= a[rest, step] @ _conjugated(columns, hermitian).T
        pivots[step] = other + 1 if size == 1 else -other - 1
        k += size
    a[np.triu_indices(n, 1)] = 0
    return pivots, info


def _sizes(x: Array) -> Array:
    """What LAPACK takes for magnitudes here: of complex numbers the sums of their parts'."""
    return np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """The row to exchange with, and the size of the block: 1 or 2."""
    below = _sizes(a[k + 1 :, k])
    largest = below.max(initial=0)
    diagonal = _sizes(a[k, k])
    if not diagonal < _ALPHA * largest:
        return k, 1
    i = k + 1 + int(below.argmax())
    beside = max(_sizes(a[i, k:i]).max(), _sizes(a[i + 1 :, i]).max(initial=0))
    if diagonal * beside >= _ALPHA * largest * largest:
        return k, 1
    return i, 1 if _sizes(a[i, i]) >= _ALPHA * beside else 2


def _exchange(a: Array, k: int, i: int, j: int, hermitian: bool) -> None:
    """Rows and columns i < j of the lower triangle, from column k on."""
    a[j + 1 :, [i, j]] = a[j + 1 :, [j, i]]
    between = a[i + 1 : j, i].copy()
    a[i + 1 : j, i] = _conjugated(a[j, i + 1 : j], hermitian)
    a[j, i + 1 : j] = _conjugated(between, hermitian)
    a[j, i] = _conjugated(a[j, i], hermitian)
    a[i, i], a[j, j] = a[j, j], a[i, i]
    if i > k:
        a[[i, j], k] = a[[j, i], k]


def _block(a: Array, step: slice, hermitian: bool) -> Array:
    """A block of D, whose upper triangle is not there."""
    lower = np.tril(a[step, step])
    whole = lower + _conjugated(np.tril(lower, -1), hermitian).T
    if hermitian:
        np.fill_diagonal(whole, whole.diagonal().real)
    return whole


def _blocks(pivots: Array) -> Iterator[tuple[int, int, int]]:
    """The first index of each block of D, its size, and the row that its last is exchanged with."""
    k = 0
    while k < len(pivots):
        size = 1 if pivots[k] > 0 else 2
        yield k, size, abs(int(pivots[k])) - 1
        k += size


def solve(packed: Array, pivots: Array, x: Array, hermitian: bool) -> None:
    """Write the solution over the right-hand sides."""
    quietly(_solve, packed, list(_blocks(pivots)), x, hermitian)


def _solve(
    packed: Array, blocks: Sequence[tuple[int, int, int]], x: Array, hermitian: bool
) -> None:
    n = len(packed)
    for k, size, other in blocks:
        step, last = slice(k, k + size), k + size - 1
        x[[last, other]] = x[[other, last]]
        x[k + size : n] -= packed[k + size : n, step] @ x[step]
        block = _block(packed, step, hermitian)
        x[step] = x[step] / block[0, 0] if size == 1 else np.linalg.inv(block) @ x[step]
    for k, size, other in reversed(blocks):
        step, last = slice(k, k + size), k + size - 1
        x[step] -= _conjugated(packed[k + size : n, step], hermitian).T @ x[k + size : n]
        x[[last, other]] = x[[other, last]]
