"""Eigenvalues and singular values composed of primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._dispatch.kinds import kind_of
from tensorbus.ops.linalg import jacobi

F32, F64 = (kind_of(torch.device("cpu"), d) for d in (torch.float32, torch.float64))
KINDS = [F32, F64]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def values_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng([11, *shape])
    a = rng.standard_normal(shape)
    if name == "graded":
        a = a * np.geomspace(1, 1e-6, shape[-1])
    if name == "of rank one":
        a = rng.standard_normal((*shape[:-1], 1)) @ rng.standard_normal((*shape[:-2], 1, shape[-1]))
    if name == "large":
        a = a * 1e30
    if name == "equal values":
        k = max(shape[-2:])
        whole = np.linalg.qr(rng.standard_normal((*shape[:-2], k, k)))[0]
        a = whole[..., : shape[-2], : shape[-1]]
    return a


def orthogonal(x: np.ndarray, eps: float) -> bool:
    """Whether the columns are, to the precision of n rotations each."""
    product = np.swapaxes(x, -1, -2).astype(np.float64) @ x - np.eye(x.shape[-1])
    return bool(np.abs(product).max(initial=0) < (4 + x.shape[-2]) * eps)


@pytest.mark.parametrize("F", KINDS, ids=["float32", "float64"])
@pytest.mark.parametrize("name", ["random", "graded", "of rank one", "large", "equal values"])
@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (8,), (33,), (2, 1, 5)], ids=str)
def test_eigh(shape: Any, name: str, F: Any) -> None:
    n, eps = shape[-1], float(torch.finfo(F.dtype).eps)
    a = values_of(name, (*shape, n)).astype(F.dtype.name)
    a = (a + a.swapaxes(-1, -2)) / 2
    hidden = np.tril(a) + np.triu(np.full_like(a, 7), 1)  # above is not read
    values, vectors, info = jacobi.eigh(F, hidden)
    assert info.dtype == np.int32 and info.shape == shape[:-1] and not np.any(info)
    expected = np.linalg.eigvalsh(a.astype(np.float64))
    size = np.abs(expected).max()
    assert np.abs(values - expected).max() < (8 + n) * eps * size
    assert orthogonal(vectors, eps)
    wide = vectors.astype(np.float64)
    assert np.abs(a @ wide - wide * values[..., None, :]).max() < (8 + n) * eps * size


@pytest.mark.parametrize("F", KINDS, ids=["float32", "float64"])
@pytest.mark.parametrize("name", ["random", "graded", "of rank one", "large", "equal values"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 3), (3, 5), (33, 20), (2, 1, 4, 4)], ids=str)
def test_svd(shape: Any, name: str, F: Any) -> None:
    m, n = shape[-2:]
    k, eps = min(m, n), float(torch.finfo(F.dtype).eps)
    a = values_of(name, shape).astype(F.dtype.name)
    u, s, vh, info = jacobi.svd(F, a, False)
    assert u.shape == (*shape[:-2], m, k) and vh.shape == (*shape[:-2], k, n)
    assert info.dtype == np.int32 and info.shape == shape[:-2] and not np.any(info)
    expected = np.linalg.svd(a.astype(np.float64), compute_uv=False)
    size = expected.max()
    assert (np.diff(s) <= 0).all() and np.abs(s - expected).max() < (8 + m) * eps * size
    assert orthogonal(u, eps) and orthogonal(np.swapaxes(vh, -1, -2), eps)
    made = (u.astype(np.float64) * s[..., None, :]) @ vh
    assert np.abs(made - a).max() < (8 + m) * eps * size


@pytest.mark.parametrize("F", KINDS, ids=["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (6, 1), (2, 4, 3)], ids=str)
def test_svd_completes_its_factors(shape: Any, F: Any) -> None:
    m, n = shape[-2:]
    eps = float(torch.finfo(F.dtype).eps)
    zero_column = values_of("random", shape)
    zero_column[..., n // 2] = 0
    for a in (values_of("random", shape), zero_column, np.zeros(shape)):
        a = a.astype(F.dtype.name)
        for complete in (False, True):
            u, s, vh, info = jacobi.svd(F, a, complete)
            k = min(m, n)
            assert u.shape[-1] == (m if complete else k) and not np.any(info)
            assert vh.shape[-2] == (n if complete else k)
            assert orthogonal(u, eps) and orthogonal(np.swapaxes(vh, -1, -2), eps)
            made = (u[..., :k].astype(np.float64) * s[..., None, :]) @ vh[..., :k, :]
            assert np.abs(made - a).max() <= (8 + m) * eps * np.abs(a).max()


def test_matrices_without_elements() -> None:
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3)):
        values, vectors, info = jacobi.eigh(F32, np.zeros(shape, np.float32))
        assert values.shape == shape[:-1] and vectors.shape == shape and info.shape == shape[:-2]
    for shape in ((3, 0), (0, 3), (0, 2, 4)):
        for complete in (False, True):
            u, s, vh, info = jacobi.svd(F32, np.zeros(shape, np.float32), complete)
            like = np.linalg.svd(np.zeros(shape), complete)
            assert (u.shape, s.shape, vh.shape) == tuple(x.shape for x in like)
            assert info.shape == shape[:-2]


def test_nan_does_not_converge_and_leaves_its_neighbours_alone() -> None:
    a = np.stack([np.diag([3.0, 1.0, 2.0]), np.full((3, 3), np.nan)])
    values, _, info = jacobi.eigh(F64, a)
    assert info.tolist() == [0, 1] and values[0].tolist() == [1.0, 2.0, 3.0]
    _, s, _, info = jacobi.svd(F64, a, False)
    assert info.tolist() == [0, 1] and s[0].tolist() == [3.0, 2.0, 1.0]
