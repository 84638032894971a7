"""Factorizations on cpu with the LAPACK of SciPy, and with that of NumPy alone."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus_cpu_numpy import linear_algebra, small_matrices
from tensorbus_cpu_numpy.backend import CpuBackend

BACKEND = CpuBackend()


def kernel(name: str, dtype: Any = torch.float64) -> Any:
    return BACKEND.kernel(name, dtype, 0)


@pytest.fixture(params=["SciPy", "NumPy"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "NumPy":
        monkeypatch.setattr(linear_algebra, "_lapack", lambda: None)
        monkeypatch.setattr(linear_algebra, "functions", lambda: None)
    return str(request.param)


def definite(*shape: int) -> np.ndarray:
    a = np.random.default_rng(list(shape)).standard_normal(shape)
    return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 4, 4), (2, 1, 40, 40)], ids=str)
def test_cholesky(library: str, shape: Any) -> None:
    a = definite(*shape)
    a = np.tril(a) + np.triu(np.full_like(a, 9), 1)  # above is not read
    for given in (a, np.asfortranarray(a), a[..., ::-1, ::-1][..., ::-1, ::-1]):
        factor, info = kernel("linalg_cholesky")(given)
        assert info.dtype == np.int32 and info.shape == shape[:-2] and not np.any(info)
        np.testing.assert_allclose(factor, np.linalg.cholesky(definite(*shape)), rtol=1e-12)


def test_the_minors_that_fail(library: str) -> None:
    for n in (6, 40):
        stack = np.stack([np.eye(n)] * 5)
        stack[1, 0, 0], stack[2, 4, 4], stack[3, n - 1, n - 1], stack[4, 2, 2] = 0, -1, -2, -3
        factor, info = kernel("linalg_cholesky")(stack)
        assert info.tolist() == [0, 1, 5, n, 3]
        assert np.array_equal(factor[0], np.eye(n))
        for at in range(5):
            assert kernel("linalg_cholesky")(stack[at])[1] == info[at]


@pytest.mark.parametrize("hermitian", [False, True], ids=["symmetric", "hermitian"])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_ldl(library: str, n: int, hermitian: bool) -> None:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((3, n, n)) + 1j * rng.standard_normal((3, n, n))
    a = a + (a.conj() if hermitian else a).swapaxes(-1, -2)
    a[1] *= 1 - 0.99 * np.eye(n)  # blocks of 2
    factors, pivots, info = kernel("linalg_ldl", torch.complex128)(a, hermitian)
    assert not info.any() and not np.triu(factors, 1).any()
    assert n < 5 or (pivots[1] < 0).any()
    b = rng.standard_normal((3, n, 2)) + 0j
    x = kernel("linalg_ldl_solve", torch.complex128)(factors, pivots, b, hermitian)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-8, atol=1e-10)


def test_ldl_of_singular_matrices(library: str) -> None:
    a = np.stack([np.diag([1.0, 2, 3]), np.zeros((3, 3)), np.full((3, 3), np.nan),
                  np.diag([1.0, 0, 3])])  # fmt: skip
    info = kernel("linalg_ldl")(a, False)[-1]
    assert info.dtype == np.int32 and info.tolist() == [0, 1, 1, 2]


def test_what_needs_scipy(library: str) -> None:
    offered = kernel("linalg_lu") is not None, kernel("linalg_solve_triangular") is not None
    assert offered == (library == "SciPy",) * 2
    assert kernel("linalg_cholesky", torch.float16) is None


def test_capabilities_say_whose_lapack_it_is() -> None:
    details = BACKEND.capabilities(0).details
    assert details["linear algebra"] in ("SciPy", "NumPy")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_many_small_matrices_have_the_factors_of_each(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    for m, n in ((3, 3), (4, 2), (2, 5), (1, 1)):
        a = rng.standard_normal((128, m, n)).astype(dtype)
        a[5] = 0
        assert small_matrices.pays(a) and not small_matrices.pays(a[:3])
        d = {np.float32: torch.float32, np.float64: torch.float64}.get(dtype, torch.complex128)
        many, one = kernel("linalg_lu", d)(a), kernel("linalg_lu", d)
        for at in range(len(a)):
            for found, expected in zip(many, one(a[at]), strict=True):
                np.testing.assert_allclose(found[at], expected, rtol=2e-4, atol=1e-5)


SPECTRA = {
    "linalg_eigh": ((), 0),
    "linalg_eigvalsh": ((), 0),
    "linalg_svd": ((False,), 1),
    "linalg_svdvals": ((), 0),
    "linalg_eig": ((), 0),
    "linalg_eigvals": ((), 0),
}
"""Of each kernel its parameters, and which of its results are the values."""


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_leaves_its_neighbours_alone(name: str, bad: float) -> None:
    parameters, at = SPECTRA[name]
    stack = np.stack([np.diag([1.0, 2.0]), np.full((2, 2), bad), np.diag([3.0, 4.0])])
    *results, info = kernel(name)(stack, *parameters)
    assert info.dtype == np.int32 and info.tolist() == [0, 1, 0]
    assert sorted(results[at][0].real) == [1, 2] and sorted(results[at][2].real) == [3, 4]
    assert all(np.isfinite(r[[0, 2]]).all() for r in results)
    info = kernel(name)(stack[1], *parameters)[-1]
    assert isinstance(info, np.ndarray) and info.shape == () and info == 1


@pytest.mark.parametrize("name", SPECTRA)
def test_a_matrix_that_does_not_converge_leaves_its_neighbours_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    routine = {"linalg_svdvals": "svd"}.get(name, name.removeprefix("linalg_"))
    real = getattr(np.linalg, routine)

    def gives_up(a: Any, *args: Any, **named: Any) -> Any:
        if (a == 7).any():
            raise np.linalg.LinAlgError
        return real(a, *args, **named)

    monkeypatch.setattr(np.linalg, routine, gives_up)
    parameters, at = SPECTRA[name]
    stack = np.stack([np.diag([1.0, 2.0]), np.diag([7.0, 7.0]), np.full((2, 2), np.nan)])
    *results, info = kernel(name)(stack, *parameters)
    assert info.tolist() == [0, 1, 1]
    assert sorted(results[at][0].real) == [1, 2] and np.isnan(results[at][1]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_least_squares_of_what_is_not_finite(bad: float) -> None:
    a = np.stack([np.diag([1.0, 2.0]), np.full((2, 2), bad), np.diag([4.0, 0.0])])
    b = np.stack([np.array([[1.0, bad], [4.0, 1.0]])] * 3)
    x, s, rank, info = kernel("linalg_lstsq")(a, b, 1e-10)
    assert info.tolist() == [0, 1, 0] and rank[[0, 2]].tolist() == [2, 1]
    assert x[0, :, 0].tolist() == [1, 2] and x[2, :, 0].tolist() == [0.25, 0]
    assert not np.isfinite(x[0, :, 1]).any() and s[2].tolist() == [4, 0]
    x, s, rank, info = kernel("linalg_lstsq")(a[2], b[2, :, :1], 1e-10)  # by NumPy's own
    assert x[:, 0].tolist() == [0.25, 0] and (rank, info) == (1, 0) and info.dtype == np.int32
    x, s, rank, info = kernel("linalg_lstsq")(a[0], b[0], 1e-10)
    assert x[:, 0].tolist() == [1, 2] and (rank, info) == (2, 0)


@pytest.mark.parametrize("function", ["eigvals", "eigvalsh", "svdvals"])
def test_vectors_are_computed_for_gradients_alone(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[bool] = []

    def noted(real: Any, *args: Any, **named: Any) -> Any:
        found = real(*args, **named)
        called.append(isinstance(found, tuple))  # with vectors
        return found

    for routine in ("eig", "eigh", "eigvals", "eigvalsh", "svd"):
        real = getattr(np.linalg, routine)
        monkeypatch.setattr(np.linalg, routine, functools.partial(noted, real))
    values = getattr(torch.linalg, function)
    x = torch.tensor([[2.0, 1.0], [1.0, 5.0]], dtype=torch.float64)
    descends = function == "svdvals"
    expected = np.sort((7 + np.array([-1, 1]) * 13**0.5) / 2)[:: -1 if descends else 1]
    np.testing.assert_allclose(values(x).real.sort(descending=descends)[0], expected, rtol=1e-12)
    assert called == [False]
    x.requires_grad_()
    with torch.no_grad():
        values(x)
    assert called == [False] * 2
    found = values(x)
    assert called == [False] * 2 + [True]
    np.testing.assert_allclose(np.sort(found.detach().numpy().real), np.sort(expected), rtol=1e-12)
    (grad,) = torch.autograd.grad(found.real.sum(), x)
    np.testing.assert_allclose(grad.numpy(), np.eye(2), atol=1e-12)


def _equations(*shape: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(list(shape))
    draws = [rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for _ in range(2)]
    kept = draws if np.dtype(dtype).kind == "c" else [x.real for x in draws]
    return kept[0].astype(dtype), kept[1].astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (40, 40), (3, 4, 4), (2, 1, 33, 33)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_solutions_inverses_and_determinants(library: str, shape: Any, dtype: Any) -> None:
    a, b = _equations(*shape, dtype=dtype)
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    exact, rtol = a.astype(wide), 1e-9 if dtype is wide else 2e-3
    d = torch.from_numpy(a[..., :1, 0].copy()).dtype

    def check(found: Any, expected: Any) -> None:
        assert found.dtype == dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())

    for given in (a, np.asfortranarray(a)):
        kept = given.copy()
        for (x, info), expected in (
            (kernel("linalg_solve", d)(given, b), np.linalg.solve(exact, b.astype(wide))),
            (kernel("linalg_inv", d)(given), np.linalg.inv(exact)),
        ):
            check(x, expected)
            assert info.dtype == np.int32 and info.shape == shape[:-2] and not info.any()
        check(kernel("linalg_det", d)(given), np.linalg.det(exact))
        if wide is np.float64:
            for found, expected in zip(
                kernel("linalg_slogdet", d)(given), np.linalg.slogdet(exact), strict=True
            ):
                check(found, expected)
        np.testing.assert_array_equal(given, kept)


def test_one_singular_matrix_of_a_batch(library: str) -> None:
    a = np.stack([np.eye(3), np.diag([1.0, 0, 2]), np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])])
    b = np.ones((3, 3, 2))
    for x, info in (kernel("linalg_inv")(a), kernel("linalg_solve")(a, b)):
        assert info.tolist() == [0, 2, 1]
        np.testing.assert_array_equal(x[0], np.eye(3) @ b[0] if x.shape == b.shape else np.eye(3))
    for at, place in enumerate((0, 2, 1)):
        assert kernel("linalg_inv")(a[at])[1] == place
        assert kernel("linalg_solve")(a[at], b[at])[1] == place
    assert kernel("linalg_det")(a).tolist() == [1, 0, 0]
    sign, size = kernel("linalg_slogdet")(a)
    assert sign.tolist() == [1, 0, 0] and size.tolist() == [0, -np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_many_right_hand_sides_of_an_indefinite_matrix(library: str, dtype: Any) -> None:
    a, b = _equations(2, 40, 40, dtype=dtype)
    a = a + a.swapaxes(-1, -2)
    d = torch.from_numpy(a[0, 0, :1].copy()).dtype
    packed, pivots, _ = kernel("linalg_ldl", d)(a, False)
    x = kernel("linalg_ldl_solve", d)(packed, pivots.astype(np.int64), b, False)
    assert x.dtype == dtype
    rtol = 1e-9 if dtype is np.float64 else 2e-2
    np.testing.assert_allclose(a @ x, b, rtol=rtol, atol=rtol)
