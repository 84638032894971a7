"""Pointwise kernels and exponentials of ``cpu`` on many elements, beside float64 formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

import tensorbus as torch
from tensorbus._base import dtypes
from tensorbus.nn import functional as F
from tensorbus_cpu_numpy.backend import CpuBackend

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

BACKEND = CpuBackend()
RANDOM = np.random.default_rng(0)
EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e20, -1e20, 1e-40, -20.0, 90.0, -90.0, -100.0]


def kernel(op: str, dtype: str) -> Any:
    found = BACKEND.kernel(op, dtypes.dtype_by_name(np.dtype(dtype).name), 0)
    assert found is not None
    return found


def many(dtype: str, *edges: float) -> np.ndarray:
    """More elements than there are in a piece, on both sides of all that is special."""
    x = np.concatenate([np.linspace(-9, 9, 70_001), RANDOM.standard_normal(70_000), edges])
    return x.astype(dtype)


def units(found: np.ndarray, exact: np.ndarray, scale: np.ndarray) -> float:
    """The largest error in units of the last place of *scale*."""
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(scale.astype(found.dtype)))))


@pytest.mark.parametrize(("op", "dtype", "most"), [
    ("gelu", "f4", 2.0), ("gelu_tanh", "f4", 2.0), ("gelu_tanh", "f8", 2.0),
])  # fmt: skip
def test_gelu(op: str, dtype: str, most: float) -> None:
    x = many(dtype)
    wide = x.astype(np.longdouble)
    inner = np.sqrt(np.longdouble(2) / np.pi) * (wide + 0.044715 * wide**3)
    share = special.ndtr(x.astype("f8")) if op == "gelu" else 1 / (1 + np.exp(-2 * inner))
    made = kernel(op, dtype)(x)
    assert made.dtype == x.dtype and units(made, wide * share, wide) <= most
    np.testing.assert_array_equal(kernel(op, dtype)(x[::-1]), made[::-1])
    into = np.empty_like(x)
    assert kernel(op, dtype)(x, out=into) is into
    np.testing.assert_array_equal(into, made)


@pytest.mark.parametrize("op", ["gelu", "gelu_tanh"])
def test_gelu_of_edges_is_that_of_few_elements(op: str) -> None:
    approximate = "none" if op == "gelu" else "tanh"
    x = torch.tensor(many("f4", *EDGES))
    found = F.gelu(x, approximate=approximate)[-len(EDGES) :].tolist()
    assert repr(found) == repr(F.gelu(x[-len(EDGES) :].clone(), approximate=approximate).tolist())


def test_gradient_of_gelu() -> None:
    x = many("f4")
    g = RANDOM.standard_normal(x.shape).astype("f4")
    wide = x.astype("f8")
    slope = special.ndtr(wide) + wide * np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)
    made = kernel("gelu_backward", "f4")(g, x)
    np.testing.assert_allclose(made, g * slope, atol=1e-6)
    leaf = torch.tensor(x, requires_grad=True)
    F.gelu(leaf).backward(torch.tensor(g))
    assert leaf.grad is not None
    np.testing.assert_array_equal(leaf.grad.numpy(), made)
    # Both parts are multiples of one exponential, so tails keep their digits, and signs are bits.
    slopes = kernel("gelu_backward", "f4")(np.ones_like(x), x)
    far = wide < -3
    np.testing.assert_allclose(slopes[far], slope[far], rtol=3e-5)
    np.testing.assert_allclose(slopes, slope, rtol=0, atol=3e-7)
    edges = np.tile(np.array([0.0, -0.0, 40.0, -40.0, math.nan, -math.nan], "f4"), 1000)
    found = kernel("gelu_backward", "f4")(np.ones_like(edges), edges)[:6]
    np.testing.assert_array_equal(found, np.array([0.5, 0.5, 1.0, 0.0, math.nan, math.nan]))


def test_second_derivative_of_gelu_of_many_elements() -> None:
    x = torch.tensor(many("f4"), requires_grad=True)
    (slope,) = torch.autograd.grad(F.gelu(x).sum(), x, create_graph=True)
    (curve,) = torch.autograd.grad(slope.sum(), x)
    wide = x.detach().numpy().astype("f8")
    density = np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(curve.numpy(), (2 - wide * wide) * density, atol=2e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sigmoid(dtype: str) -> None:
    x = many(dtype, -86.0, 80.0, 200.0)
    made = kernel("sigmoid", dtype)(x)
    exact = special.expit(x.astype(np.longdouble))
    assert units(made, exact, exact) <= 4
    x = many(dtype, *EDGES)
    found = kernel("sigmoid", dtype)(x)[-len(EDGES) :]
    assert repr(found.tolist()) == repr(kernel("sigmoid", dtype)(x[-len(EDGES) :]).tolist())
    assert np.isnan(found[4]) and found[:4].tolist() == [0.5, 0.5, 1.0, 0.0]
    x = np.full(70_000, -100.0, "f4")  # subnormal results
    assert kernel("sigmoid", "f4")(x)[-1] == pytest.approx(math.exp(-100), abs=1e-45)


@pytest.mark.parametrize("shift", [0.0, 70.0, 95.0, -3.0, -60.0, -97.0, 3e4])
def test_exponentials_far_from_zero_are_those_of_centred_values(shift: float) -> None:
    """Rows whose exponentials overflow, or vanish, stand among others."""
    x = RANDOM.standard_normal((600, 200)).astype("f4")
    x[170:190] += np.float32(shift)
    wide = x.astype("f8")
    e = np.exp(wide - wide.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    leaf = torch.tensor(x, requires_grad=True)
    np.testing.assert_allclose(leaf.softmax(1).detach().numpy(), p, rtol=4e-6)
    i = RANDOM.integers(0, 200, 600)
    i[180] = x[180].argmax()
    each = F.cross_entropy(leaf, torch.tensor(i))
    assert each.item() == pytest.approx(-np.log(p[np.arange(600), i]).mean(), rel=1e-6)
    each.backward()
    p[np.arange(600), i] -= 1
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), p / 600, atol=1e-9)


def test_the_loss_where_one_class_is_nearly_sure() -> None:
    x = RANDOM.standard_normal((600, 200)).astype("f4")
    x[:, 7] += 25
    wide = x.astype("f8")
    exact = np.log1p(np.exp(np.delete(wide, 7, 1) - wide[:, 7:8]).sum(1)).mean()
    loss = F.cross_entropy(torch.tensor(x), torch.full((600,), 7))
    assert loss.item() == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(300, 256), (300, 257), (3, 70_001), (40, 20, 130), (1, 40_000)])
def test_running_sums(shape: tuple[int, ...], dtype: str) -> None:
    x = RANDOM.standard_normal(shape).astype(dtype)
    wide = x.astype(np.longdouble)
    exact, size = np.cumsum(wide, -1), np.cumsum(np.abs(wide), -1)
    made = torch.tensor(x).cumsum(-1).numpy()
    assert np.max(np.abs(made - exact) / size) <= 8 * np.finfo(dtype).eps
    whole = np.round(x * 4)  # no sum of these is rounded
    np.testing.assert_array_equal(torch.tensor(whole).cumsum(-1).numpy(), np.cumsum(whole, -1))
    out = torch.empty(*shape[::-1], dtype=torch.tensor(x).dtype).permute(*range(len(shape))[::-1])
    torch.cumsum(torch.tensor(x), -1, out=out)
    np.testing.assert_array_equal(out.numpy(), made)


def test_running_sums_of_what_is_not_finite() -> None:
    x = RANDOM.standard_normal((300, 257)).astype("f4")
    x[3, 5], x[4, 9], x[7], x[7, 1] = math.inf, math.nan, 3e38, -3e38
    x[9, 3], x[9, 40] = math.inf, -math.inf
    with np.errstate(all="ignore"):
        expected = np.cumsum(x, 1)
    found = torch.tensor(x).cumsum(1).numpy()
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8"])
@pytest.mark.parametrize("n", [1000, 5000, 32_768, 100_001])
def test_relu(n: int, dtype: str) -> None:
    x = (RANDOM.standard_normal(n) * 9).astype(dtype)
    if dtype[0] == "f":
        x[[3, -1]], x[7] = math.nan, math.inf
    made = kernel("relu", dtype)(x)
    assert made.dtype == x.dtype
    np.testing.assert_array_equal(made, np.where(x < 0, 0, x))
    np.testing.assert_array_equal(kernel("relu", dtype)(x[::-2]), made[::-2])
    assert kernel("relu", dtype)(x, out=x) is x  # in place
    np.testing.assert_array_equal(x, made)
