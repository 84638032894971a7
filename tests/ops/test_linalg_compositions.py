"""Factorizations composed of primitives: as exact as LAPACK's within a small factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._dispatch.kinds import kind_of
from tensorbus.ops.linalg import cholesky, lu, pivoted_ldl, qr, triangular

SIZES = [(1,), (2,), (5,), (31,), (32,), (33,), (100,), (2, 3, 37), (3, 1, 64)]
EMPTY = [(0,), (2, 0, 7), (2, 0)]
OBLONG = [
    *[(1, 1), (5, 3), (3, 5), (33, 33), (40, 70), (70, 40), (100, 100)],
    *[(2, 3, 37, 37), (3, 1, 64, 64), (2, 0, 7), (0, 4, 4)],
]
SHAPES_OF_QR = [(1, 1), (3, 3), (5, 3), (3, 5), (40, 33), (33, 70), (2, 3, 37, 5)]
DTYPES = [np.float32, np.float64]


def kind(dtype: Any) -> Any:
    return kind_of(torch.device("cpu"), torch.float32 if dtype is np.float32 else torch.float64)


def matrices(shape: tuple[int, ...], condition: float, dtype: Any, definite: bool = False) -> Any:
    """Matrices whose singular values lie between 1 / condition and 1."""
    *batch, n = shape
    rng = np.random.default_rng([7, *shape])
    q, r = (np.linalg.qr(rng.standard_normal((*batch, n, n)))[0] for _ in range(2))
    values = np.geomspace(1, 1 / condition, n)
    r = q.swapaxes(-1, -2) if definite else r
    found = (q * values) @ r
    if definite:
        found = (found + found.swapaxes(-1, -2)) / 2
    return found.astype(dtype)


def worst(residual: Any, *sizes: Any) -> float:
    """The largest residual in units of the precision, against the sizes of what was multiplied."""
    eps = np.finfo(residual[1]).eps
    scale = np.prod([np.abs(x).max((-1, -2)) for x in sizes], axis=0)
    return float((np.abs(residual[0]).max((-1, -2)) / scale).max() / eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_cholesky(shape: Any, dtype: Any) -> None:
    F = kind(dtype)
    for condition in (10.0, 0.05 / float(np.finfo(dtype).eps)):
        a = matrices(shape, condition, dtype, definite=True)
        hidden = np.tril(a) + np.triu(np.full_like(a, np.nan), 1)  # above is not read
        found, info = cholesky.factor(F, hidden)
        assert info.dtype == np.int32 and info.shape == shape[:-1] and not np.any(info)
        assert not np.triu(found, 1).any()
        wide = found.astype(np.float64)
        assert worst((wide @ wide.swapaxes(-1, -2) - a, dtype), a) < 8


@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_matrices_without_elements(shape: Any) -> None:
    F = kind(np.float32)
    a = np.zeros((*shape, shape[-1]), np.float32)
    found, info = cholesky.factor(F, a)
    assert found.shape == a.shape and info.shape == shape[:-1] and not np.any(info)
    b = np.zeros((*shape, 2), np.float32)
    assert triangular.solve_triangular(F, a, b, True, False).shape == b.shape


@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_first_minor_that_is_not_positive_is_told() -> None:
    F, n = kind(np.float64), 70
    stack = np.stack([np.eye(n)] * 5)
    stack[1, 0, 0], stack[2, 40, 40], stack[3, 69, 69], stack[4, 33, 33] = 0, -1, np.nan, -2
    assert cholesky.factor(F, stack)[1].tolist() == [0, 1, 41, 70, 34]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_solve_triangular(shape: Any, dtype: Any) -> None:
    F, rng = kind(dtype), np.random.default_rng(1)
    a = matrices(shape, 10.0, dtype) + np.eye(shape[-1], dtype=dtype)
    b = rng.standard_normal((*shape, 3)).astype(dtype)
    for upper in (False, True):
        for unit in (False, True):
            read = np.triu(a, int(unit)) if upper else np.tril(a, -int(unit))
            junk = np.full_like(a, np.nan)
            other = np.tril(junk, unit - 1) if upper else np.triu(junk, 1 - unit)
            x = triangular.solve_triangular(F, np.where(other == 0, read, junk), b, upper, unit)
            x = x.astype(np.float64)
            whole = read.astype(np.float64) + np.eye(shape[-1]) * unit
            assert worst((whole @ x - b, dtype), whole, x) < 8 * max(1, shape[-1] / 32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve_triangular_of_factors_that_are_nearly_singular(dtype: Any) -> None:
    F, rng = kind(dtype), np.random.default_rng(2)
    for shape in ((37,), (100,)):
        a = matrices(shape, 0.05 / float(np.finfo(dtype).eps), dtype, definite=True)
        factor = cholesky.factor(F, a)[0]
        b = rng.standard_normal((*shape, 2)).astype(dtype)
        for matrix, upper in ((factor, False), (factor.T, True)):
            x = triangular.solve_triangular(F, matrix, b, upper, False).astype(np.float64)
            # Where LAPACK's own residuals are up to 5.
            assert worst((matrix.astype(np.float64) @ x - b, dtype), matrix, x) < 30


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", OBLONG, ids=str)
def test_lu(shape: Any, dtype: Any) -> None:
    F, (m, n) = kind(dtype), shape[-2:]
    k = min(m, n)
    a = np.random.default_rng([3, *shape]).standard_normal(shape).astype(dtype)
    found, pivots, info = lu.factor(F, a)
    assert pivots.dtype == info.dtype == np.int32
    assert pivots.shape == (*shape[:-2], k) and info.shape == shape[:-2] and not np.any(info)
    if not a.size:
        return
    assert (pivots >= np.arange(k)).all() and (pivots < m).all()
    wide = found.astype(np.float64)
    lower = np.tril(wide[..., :k], -1) + np.eye(m, k)
    assert np.abs(lower).max() <= 1  # the largest element of a column is its pivot
    order = lu.permutation(F, pivots.astype(np.int64), m, False)
    permuted = np.take_along_axis(a, order[..., None], -2)
    residual = lower @ np.triu(wide[..., :k, :]) - permuted
    assert worst((residual, dtype), a) < 2 * np.sqrt(m) + 4
    back = lu.permutation(F, pivots.astype(np.int64), m, True)
    assert np.array_equal(np.take_along_axis(permuted, back[..., None], -2), a)


def test_the_first_pivot_that_is_zero_is_told() -> None:
    F = kind(np.float64)
    stack = np.stack([np.eye(40)] * 4)
    stack[1, 0, 0] = stack[2, 35, 35] = 0
    stack[3, :, 3] = stack[3, :, 2]
    found, _, info = lu.factor(F, stack)
    assert info.tolist() == [0, 1, 36, 4] and np.isfinite(found).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES_OF_QR, ids=str)
def test_qr(shape: Any, dtype: Any) -> None:
    F = kind(dtype)
    k = min(shape[-2:])
    square = matrices((*shape[:-2], max(shape[-2:])), 10.0, dtype)
    for a in (square[..., : shape[-2], : shape[-1]], 1e30 * square[..., : shape[-2], : shape[-1]]):
        a = a.astype(dtype)
        for complete in (False, True):
            q, r = qr.factor(F, a, complete)
            width = shape[-2] if complete else k
            assert q.shape == (*shape[:-1], width) and r.shape == (*shape[:-2], width, shape[-1])
            assert q.dtype == r.dtype == dtype and not np.tril(r, -1).any()
            expected = np.linalg.qr(a.astype(np.float64), "complete" if complete else "reduced")
            q, r = q.astype(np.float64), r.astype(np.float64)
            assert worst((q @ r - a, dtype), a) < 64
            assert worst((q.swapaxes(-1, -2) @ q - np.eye(width), dtype), np.eye(width)) < 16
            assert worst((r - expected[1], dtype), a) < 256  # the signs are LAPACK's, too


def test_qr_of_matrices_without_a_direction() -> None:
    F = kind(np.float64)
    for a in (np.zeros((3, 3)), np.eye(3), np.diag([2.0, -3.0, 0.0]), np.eye(4)[:, [1, 1, 2]]):
        q, r = qr.factor(F, a, False)
        np.testing.assert_allclose(q @ r, a, atol=1e-15)
        np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-15)
    assert np.isnan(qr.factor(F, np.full((2, 2), np.nan), False)[1][0]).all()
    for shape in ((0, 3), (3, 0), (2, 0, 3), (0, 3, 2)):
        for mode in ("reduced", "complete"):
            found = qr.factor(F, np.zeros(shape), mode == "complete")
            for got, want in zip(found, np.linalg.qr(np.zeros(shape), mode), strict=True):
                np.testing.assert_array_equal(got, want)


# -- L D L^T ---------------------------------------------------------------------------------
def _symmetric(shape: Any, dtype: Any, hermitian: bool) -> Any:
    """Matrices with small diagonals, so that there are blocks of 2 at different columns."""
    rng = np.random.default_rng([9, *shape])
    a = rng.standard_normal((*shape, shape[-1]))
    if np.issubdtype(dtype, np.complexfloating):
        a = a + 1j * rng.standard_normal(a.shape)
    turn = np.conj if hermitian else np.asarray
    a = np.tril(a) + turn(np.tril(a, -1)).swapaxes(-1, -2)
    a = a - 0.95 * np.eye(shape[-1]) * a
    if hermitian:
        a = a - 1j * np.eye(shape[-1]) * a.imag
    return a.astype(dtype)


def _multiplied(ld: Any, pivots: Any, hermitian: bool) -> Any:
    """The matrix whose factors these are, in float64, from its last block to its first."""
    n, turn = len(ld), np.conj if hermitian else np.asarray
    made, k = np.zeros_like(ld), 0
    blocks = []
    while k < n:
        blocks.append((k, 1 if pivots[k] > 0 else 2))
        k += blocks[-1][1]
    for k, size in reversed(blocks):
        lower, d = np.eye(n, dtype=ld.dtype), np.tril(ld[k : k + size, k : k + size])
        lower[k + size :, k : k + size] = ld[k + size :, k : k + size]
        made[k : k + size, k : k + size] = d + turn(np.tril(d, -1)).T
        made = lower @ made @ turn(lower).T
        order = np.arange(n)
        last, other = k + size - 1, abs(int(pivots[k])) - 1
        order[[last, other]] = order[[other, last]]
        made = made[order][:, order]
    return made


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (2, 3, 6), (33,)], ids=str)
def test_ldl(shape: Any, dtype: Any, hermitian: bool) -> None:
    a = _symmetric(shape, dtype, hermitian and np.issubdtype(dtype, np.complexfloating))
    F = torch.tensor(a)._k
    hidden = np.tril(a) + np.triu(np.full_like(a, 7), 1)  # above is not read
    ld, pivots, info = pivoted_ldl.factor(F, hidden, hermitian)
    assert pivots.dtype == info.dtype == np.int32 and info.shape == shape[:-1] and not info.any()
    assert not np.triu(ld, 1).any()
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    eps = np.finfo(dtype).eps
    b = np.random.default_rng(3).standard_normal((*shape, 2)).astype(dtype)
    x = pivoted_ldl.solve(F, ld, pivots.astype(np.int64), b, hermitian)
    for at in np.ndindex(*shape[:-1]):
        # Higham, Accuracy and Stability, 11.1: both residuals are below p(n) u (|A| + |L||D||L^T|).
        sizes = np.abs(a[at]) + _multiplied(np.abs(ld[at]).astype(np.float64), pivots[at], False)
        bound = 2 * shape[-1] * eps * sizes
        back = _multiplied(ld[at].astype(wide), pivots[at], hermitian)
        assert (np.abs(back - a[at]) <= bound).all()
        off = a[at].astype(wide) @ x[at].astype(wide) - b[at]
        assert (np.abs(off) <= 2 * bound @ np.abs(x[at])).all()
    reference = torch.linalg.ldl_factor(torch.tensor(a), hermitian=hermitian)
    assert (reference.pivots.numpy() == pivots).all(), "LAPACK's"
    assert shape[-1] < 6 or (pivots < 0).any(), "blocks of 2 are met"


def test_ldl_of_singular_matrices() -> None:
    F = kind(np.float64)
    a = np.stack([np.zeros((3, 3)), np.diag([1.0, 0, 2]), np.eye(3), np.diag([1, np.nan, 1])])
    ld, pivots, info = pivoted_ldl.factor(F, a, False)
    assert info.tolist() == [1, 2, 0, 2] and (pivots == [1, 2, 3]).all()
    assert ld[:3].tolist() == a[:3].tolist()
    for shape in EMPTY:
        a = np.zeros((*shape, shape[-1]))
        ld, pivots, info = pivoted_ldl.factor(F, a, False)
        assert (ld.shape, pivots.shape, info.shape) == (a.shape, shape, shape[:-1])
        assert not np.any(info)
        b = np.zeros((*shape, 2))
        assert pivoted_ldl.solve(F, ld, pivots.astype(np.int64), b, False).shape == b.shape


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_blocks_of_two_neither_overflow_nor_vanish(scale: float) -> None:
    F = kind(np.float64)
    a = np.array([[0, 2.0, 1], [2, 0, 3], [1, 3, 0]]) * scale
    ld, pivots, _ = pivoted_ldl.factor(F, a, False)
    assert (pivots < 0).any()
    x = pivoted_ldl.solve(F, ld, pivots.astype(np.int64), a @ np.ones((3, 1)), False)
    np.testing.assert_allclose(x, 1, rtol=1e-13)
