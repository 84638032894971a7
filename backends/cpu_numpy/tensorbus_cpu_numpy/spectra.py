"""Eigenvalues and singular values, through NumPy, and SciPy for single precision."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quietly
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT
from tensorbus_cpu_numpy import linear_algebra

TABLE = Table()


def _module(dtype: dtype, a: Array) -> Any:
    """SciPy's functions of one matrix for large ones of single precision, else None.

    NumPy's compute those in double, but cost less for a batch of small ones.
    """
    if dtype.name not in linear_algebra.SINGLE or min(a.shape[-2:]) < linear_algebra.SMALL:
        return None
    return linear_algebra.functions()


@TABLE.row("linalg_eigh", FLOAT, COMPLEX)
def _eigh(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def eigh(a: Array) -> tuple[Array, ...]:
        sp = _module(dtype, a)
        function: Callable[[Array], Any] = np.linalg.eigh
        if sp is not None:
            function = _each(lambda x: sp.eigh(x, driver="evd", check_finite=False))
        return _converged(function, a, np.tril)

    return eigh


@TABLE.row("linalg_eigvalsh", FLOAT, COMPLEX)
def _eigvalsh(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def eigvalsh(a: Array) -> tuple[Array, ...]:
        sp, function = _module(dtype, a), _alone(np.linalg.eigvalsh)
        if sp is not None:
            function = _each(_alone(lambda x: sp.eigvalsh(x, driver="evd", check_finite=False)))
        return _converged(function, a, np.tril)

    return eigvalsh


@TABLE.row("linalg_svd", FLOAT, COMPLEX)
def _svd(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def svd(a: Array, complete: bool) -> tuple[Array, ...]:
        sp, function = _module(dtype, a), np.linalg.svd
        if sp is None:
            return _converged(lambda x: function(x, full_matrices=complete), a)
        one = functools.partial(sp.svd, full_matrices=complete, check_finite=False)
        return _converged(_each(one), a)

    return svd


@TABLE.row("linalg_svdvals", FLOAT, COMPLEX)
def _svdvals(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def svdvals(a: Array) -> tuple[Array, ...]:
        sp = _module(dtype, a)
        if sp is None:
            return _converged(lambda x: (np.linalg.svd(x, compute_uv=False),), a)
        return _converged(_each(_alone(lambda x: sp.svdvals(x, check_finite=False))), a)

    return svdvals


@TABLE.row("linalg_eig", FLOAT, COMPLEX)
def _eig(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    wide = np.dtype(dtype.to_complex().name)

    def eig(a: Array) -> tuple[Array, ...]:
        sp = _module(dtype, a)
        function: Callable[[Array], Any] = np.linalg.eig
        if sp is not None:
            function = _each(lambda x: _widened(wide, sp.eig(x, check_finite=False)))
        values, vectors, info = _converged(function, a)
        return values.astype(wide, copy=False), vectors.astype(wide, copy=False), info

    return eig


@TABLE.row("linalg_eigvals", FLOAT, COMPLEX)
def _eigvals(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None
    wide = np.dtype(dtype.to_complex().name)

    def eigvals(a: Array) -> tuple[Array, ...]:
        sp, function = _module(dtype, a), _alone(np.linalg.eigvals)
        if sp is not None:
            function = _each(lambda x: _widened(wide, (sp.eigvals(x, check_finite=False),)))
        values, info = _converged(function, a)
        return values.astype(wide, copy=False), info

    return eigvals


@TABLE.row("linalg_lstsq", FLOAT, COMPLEX)
def _lstsq(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def lstsq(a: Array, b: Array, rcond: float) -> tuple[Array, ...]:
        if a.ndim > 2 or not (np.isfinite(a).all() and np.isfinite(b).all()):
            return _by_svd(a, b, rcond)
        sp, function = _module(dtype, a), np.linalg.lstsq
        if sp is not None:
            function = functools.partial(sp.lstsq, check_finite=False, lapack_driver="gelsd")
        try:
            x, _, rank, s = function(a, b, rcond)
        except np.linalg.LinAlgError:
            return _by_svd(a, b, rcond)
        return x, s, np.asarray(rank, np.int32), np.zeros((), np.int32)

    return lstsq


def _alone(function: Callable[[Array], Array]) -> Callable[[Array], tuple[Array, ...]]:
    """The function's only result as one of several."""
    return lambda a: (function(a),)


def _widened(wide: np.dtype, results: Iterable[Array]) -> tuple[Array, ...]:
    return tuple(x.astype(wide, copy=False) for x in results)


def _each(function: Callable[[Array], tuple[Array, ...]]) -> Callable[[Array], tuple[Array, ...]]:
    """A function of one matrix for a batch of them."""

    def run(a: Array) -> tuple[Array, ...]:
        if a.ndim == 2:
            return function(a)
        results = [function(x) for x in a.reshape(-1, *a.shape[-2:])]
        return tuple(
            np.stack(parts).reshape(*a.shape[:-2], *parts[0].shape)
            for parts in zip(*results, strict=True)
        )

    return run


def _by_svd(a: Array, b: Array, rcond: float) -> tuple[Array, ...]:
    """Of a batch at once, and where b's columns or matrices that are not finite stand apart."""
    u, s, vh, info = _converged(lambda x: np.linalg.svd(x, full_matrices=False), a)
    kept = s > rcond * s[..., :1]

    def solution() -> Array:
        inverses = np.where(kept, 1 / s, 0)
        return vh.conj().swapaxes(-1, -2) @ (inverses[..., None] * (u.conj().swapaxes(-1, -2) @ b))

    return quietly(solution), s, kept.sum(-1).astype(np.int32), info


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
