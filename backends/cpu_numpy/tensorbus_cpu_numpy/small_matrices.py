"""Many small matrices at once, the batch innermost: a call of LAPACK each would cost more."""

from __future__ import annotations

import numpy as np

from tensorbus.plugin import Array

_SIZE = 8
_COUNT = 16
"""So many matrices for each of their rows make up for the calls of NumPy that a column takes."""


def pays(a: Array) -> bool:
    """Whether a batch is of matrices so small, and so many."""
    n = max(a.shape[-2:])
    return a.ndim > 2 and n <= _SIZE and a.size // (a.shape[-1] * a.shape[-2]) >= _COUNT * n


def _innermost(a: Array) -> Array:
    """A copy of shape (rows, columns, matrices)."""
    return np.array(np.moveaxis(a.reshape(-1, *a.shape[-2:]), 0, -1), order="C")


def _outermost(x: Array, shape: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(np.moveaxis(x, -1, 0)).reshape(shape)


def lu(a: Array) -> tuple[Array, Array, Array]:
    """The factors, exchanges and first zero pivots, as of the kernel ``linalg_lu``."""
    x = _innermost(a)
    m, n, count = x.shape
    k = min(m, n)
    pivots, info = np.empty((count, k), np.int32), np.zeros(count, np.int32)
    at = np.arange(count)
    for j in range(k):
        chosen = np.abs(x[j:, j]).argmax(0) + j
        pivots[:, j] = chosen
        first = x[j].copy()
        x[j] = x[chosen, :, at].T
        x[chosen, :, at] = first.T
        zero = x[j, j] == 0
        info[zero & (info == 0)] = j + 1
        x[j + 1 :, j] /= np.where(zero, 1, x[j, j])
        x[j + 1 :, j + 1 :] -= x[j + 1 :, j, None] * x[j, None, j + 1 :]
    batch = a.shape[:-2]
    factors = _outermost(x.swapaxes(0, 1), (*a.shape[:-2], n, m)).swapaxes(-1, -2)
    return factors, pivots.reshape(*batch, k), info.reshape(batch)


def solve_triangular(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """The solutions, as of the kernel ``linalg_solve_triangular``."""
    n, x, a = a.shape[-1], _innermost(b), _innermost(a)
    for i in reversed(range(n)) if upper else range(n):
        if not unit:
            x[i] /= a[i, i]
        rest = slice(0, i) if upper else slice(i + 1, n)
        x[rest] -= a[rest, i, None] * x[i]
    return _outermost(x, b.shape)
