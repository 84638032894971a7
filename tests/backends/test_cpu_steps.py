"""Steps of SGD on the CPU: by one pass of BLAS where parameters are large, else by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus_cpu_numpy import blas, steps

SHAPES = [(), (3,), (0, 4), (127, 3), (181, 200), (70_001,)]
DTYPES = [torch.float32, torch.float64]


def given(dtype: torch.dtype, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(shape))
    x, g = rng.standard_normal((2, *shape))
    return np.array(x, dtype.name), np.array(g, dtype.name)


def parameter(x: np.ndarray, g: np.ndarray) -> torch.nn.Parameter:
    p = torch.nn.Parameter(torch.tensor(x))
    p.grad = torch.tensor(g)
    return p


def check(p: torch.Tensor, x: np.ndarray, g: np.ndarray, factor: float, decay: float = 0) -> None:
    wide = x.astype(np.float64)
    expected = wide + factor * (g.astype(np.float64) + decay * wide)
    tolerance = {"float32": 1e-6, "float64": 1e-14}[x.dtype.name]
    np.testing.assert_allclose(p.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("decay", [0, 0.25])
def test_parameters_of_all_sizes(dtype: torch.dtype, maximize: bool, decay: float) -> None:
    arrays = [given(dtype, shape) for shape in SHAPES]
    params = [parameter(x, g) for x, g in arrays]
    torch.optim.SGD(params, lr=0.3, maximize=maximize, weight_decay=decay).step()
    for p, (x, g) in zip(params, arrays, strict=True):
        check(p, x, -g if maximize else g, -0.3, decay)


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_parameters_go_to_blas_once(dtype: torch.dtype, monkeypatch: Any) -> None:
    calls: list[tuple[int, float]] = []
    real = blas.add_multiple(np.dtype(dtype.name))
    if real is None:
        pytest.skip("NumPy has another BLAS than OpenBLAS")

    def counted(x: Any, y: Any, factor: float) -> None:
        calls.append((x.size, factor))
        real(x, y, factor)

    monkeypatch.setattr(blas, "add_multiple", lambda dtype: counted)
    kernel: Callable[..., Any] | None = steps.TABLE["sgd_step"](np, dtype)
    assert kernel is not None
    flags = False, False, False, False, False
    arrays = [given(dtype, shape) for shape in SHAPES]
    xs, gs = [x.copy() for x, _ in arrays], [g for _, g in arrays]
    kernel(xs, gs, [], 0.5, 0, 1, 0, *flags)
    assert calls == [(181 * 200, -0.5), (70_001, -0.5)]
    for now, (x, g) in zip(xs, arrays, strict=True):
        check(torch.tensor(now), x, g, -0.5)
    turned = [x.copy(order="F") for x, _ in arrays]
    kernel(turned, gs, [], 0.5, 0, 1, 0, *flags)
    kernel([x.copy() for x, _ in arrays], [g.copy(order="F") for g in gs], [], 0.5, 0, 1, 0,
           *flags)  # fmt: skip
    assert calls[2:] == [(70_001, -0.5)] * 2
    for now, (x, g) in zip(turned, arrays, strict=True):
        check(torch.tensor(now), x, g, -0.5)
    assert kernel(xs, gs, xs, 0.5, 0.9, 1, 0, *flags) is NotImplemented


def test_without_that_blas_numpy_does_all(monkeypatch: Any) -> None:
    monkeypatch.setattr(blas, "control", lambda: None)
    kernel = steps.TABLE["sgd_step"](np, torch.float32)
    x, g = given(torch.float32, (70_001,))
    now = x.copy()
    assert kernel is not None
    kernel([now], [g], [], 0.5, 0, 1, 0, False, False, False, False, False)
    check(torch.tensor(now), x, g, -0.5)


@pytest.mark.parametrize("shape", [(5,), (70_001,)])
@pytest.mark.parametrize("rate", [0.0, 1e-60])
def test_a_rate_of_zero_does_not_hide_an_infinite_gradient(
    shape: tuple[int, ...], rate: float
) -> None:
    x, g = given(torch.float32, shape)
    g[3] = np.inf
    p = parameter(x, g)
    torch.optim.SGD([p], lr=rate).step()
    now = p.detach().numpy()
    assert np.isnan(now[3]) and np.array_equal(np.delete(now, 3), np.delete(x, 3))


def test_dtypes_without_a_kernel_are_composed() -> None:
    assert steps.TABLE["sgd_step"](np, torch.float16) is None
    assert steps.TABLE["sgd_step"](np, torch.bfloat16) is None
