"""Eigenvalues and singular values, through NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT

TABLE = Table()


@TABLE.row("linalg_eigh", FLOAT, COMPLEX)
def _eigh(xp: Any, dtype: dtype) -> Kernel | None:
    return None if dtype.name == "float16" else lambda a: _converged(np.linalg.eigh, a, np.tril)


@TABLE.row("linalg_eigvalsh", FLOAT, COMPLEX)
def _eigvalsh(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    return lambda a: _converged(lambda x: (np.linalg.eigvalsh(x),), a, np.tril)


@TABLE.row("linalg_svd", FLOAT, COMPLEX)
def _svd(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def svd(a: Array, complete: bool) -> tuple[Array, ...]:
        return _converged(lambda x: np.linalg.svd(x, full_matrices=complete), a)

    return svd


@TABLE.row("linalg_svdvals", FLOAT, COMPLEX)
def _svdvals(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    return lambda a: _converged(lambda x: (np.linalg.svd(x, compute_uv=False),), a)


@TABLE.row("linalg_eig", FLOAT, COMPLEX)
def _eig(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    wide = np.dtype(dtype.to_complex().name)

    def eig(a: Array) -> tuple[Array, ...]:
        values, vectors, info = _converged(np.linalg.eig, a)
        return values.astype(wide, copy=False), vectors.astype(wide, copy=False), info

    return eig


@TABLE.row("linalg_eigvals", FLOAT, COMPLEX)
def _eigvals(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    wide = np.dtype(dtype.to_complex().name)

    def eigvals(a: Array) -> tuple[Array, ...]:
        values, info = _converged(lambda x: (np.linalg.eigvals(x),), a)
        return values.astype(wide, copy=False), info

    return eigvals


@TABLE.row("linalg_lstsq", FLOAT, COMPLEX)
def _lstsq(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def lstsq(a: Array, b: Array, rcond: float) -> tuple[Array, ...]:
        if a.ndim > 2 or not (np.isfinite(a).all() and np.isfinite(b).all()):
            return _by_svd(a, b, rcond)
        try:
            x, _, rank, s = np.linalg.lstsq(a, b, rcond)
        except np.linalg.LinAlgError:
            return _by_svd(a, b, rcond)
        return x, s, np.asarray(rank, np.int32), np.zeros((), np.int32)

    return lstsq


def _by_svd(a: Array, b: Array, rcond: float) -> tuple[Array, ...]:
    """Of a batch at once, and where b's columns or matrices that are not finite stand apart."""
    u, s, vh, info = _converged(lambda x: np.linalg.svd(x, full_matrices=False), a)
    kept = s > rcond * s[..., :1]
    with np.errstate(all="ignore"):
        inverses = np.where(kept, 1 / s, 0)
        x = vh.conj().swapaxes(-1, -2) @ (inverses[..., None] * (u.conj().swapaxes(-1, -2) @ b))
    return x, s, kept.sum(-1).astype(np.int32), info


def _converged(
    function: Callable[[Array], Any], a: Array, read: Callable[[Array], Array] = np.asarray
) -> tuple[Array, ...]:
    """The results of a function of matrices, and info: 1 for a matrix without results.

    These are matrices with elements that are not finite, for which LAPACK may fail, give NaN or
    not come back, and those that NumPy gives up on. It gives up on a whole batch; then each matrix
    is tried by itself. *read* makes 0 of the elements that the function does not look at.
    """
    found: Any
    finite = np.isfinite(a).all((-2, -1))
    if not finite.all():
        finite = np.isfinite(read(a)).all((-2, -1))
        a = np.where(finite[..., None, None], a, 0)
    try:
        results = tuple(function(a))
    except np.linalg.LinAlgError:
        pass
    else:
        values = min(results, key=np.ndim)  # NaN where LAPACK passed over it
        return *results, np.asarray(~finite | np.isnan(values).any(-1), np.int32)
    results = tuple(r.copy() for r in function(np.zeros_like(a)))
    info = np.asarray(~finite, np.int32)
    for at in np.ndindex(info.shape):
        try:
            found = function(a[at])
        except np.linalg.LinAlgError:
            found, info[at] = [np.nan] * len(results), 1
        for whole, part in zip(results, found, strict=True):
            whole[at] = part
    return *results, info
