"""Kernels of ``cpu`` that go through memory in blocks, beside float64 formulas of NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._base import dtypes
from tensorbus.nn import functional as F
from tensorbus_cpu_numpy import loops, sparse, sums
from tensorbus_cpu_numpy.backend import CpuBackend

# A warning of NumPy is in the name of the kernel; the tests take back the filter for its package.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

BACKEND = CpuBackend()
RANDOM = np.random.default_rng(0)

# Shapes of many elements, in which the last block is no whole one; the dimensions that are
# normalised, and those that have weights.
LAYOUTS = [
    ((300, 257), (1,), (1,)),
    ((700, 100), (1,), (1,)),
    ((3, 70_001), (1,), (1,)),
    ((400, 257), (0,), (1,)),
    ((40, 11, 100), (0, 2), (1,)),
    ((5, 7, 40, 41), (0, 2, 3), (1,)),
    ((20, 30, 9, 10), (2, 3), (2, 3)),
    ((70, 1000), (1,), None),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that what these shapes have is more than one block."""
    monkeypatch.setattr(loops, "_OF_ROWS", 1 << 16)


def kernel(op, dtype):
    return BACKEND.kernel(op, dtypes.dtype_by_name(np.dtype(dtype).name), 0)


def close(found, expected, dtype):
    assert found.dtype == dtype and found.shape == expected.shape
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        found / scale, expected / scale, atol=1e-13 if dtype == "f8" else 3e-6
    )


def _strided(x):
    """The same values with gaps and in another order."""
    return np.repeat(np.asfortranarray(x), 2, 0)[::2]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", [lambda x: x, _strided], ids=["dense", "strided"])
@pytest.mark.parametrize(("shape", "dims", "affine"), LAYOUTS)
def test_normalisation(shape, dims, affine, layout, dtype):
    x, g = (RANDOM.standard_normal(shape) for _ in range(2))
    along = [shape[d] if affine and d in affine else 1 for d in range(len(shape))]
    w, b = (RANDOM.standard_normal(along) if affine else None for _ in range(2))
    mean, var = x.mean(dims, keepdims=True), x.var(dims, keepdims=True)
    unit = (x - mean) / np.sqrt(var + 1e-3)
    weighted = g if w is None else g * w
    shares = [(weighted * u).mean(dims, keepdims=True) * u for u in (1, unit)]
    backward = (weighted - shares[0] - shares[1]) / np.sqrt(var + 1e-3)
    y = unit if w is None else unit * w + b

    def given(*arrays):
        flat = [a if a is None or a.shape == shape else a.squeeze() for a in arrays]
        return [None if a is None else a.astype(dtype) for a in flat]

    data, gradient = layout(x.astype(dtype)), layout(g.astype(dtype))
    weights = given(w, b)
    statistics = given(mean, 1 / np.sqrt(var + 1e-3))
    n = math.prod(shape[d] for d in dims)
    close(kernel("var", dtype)(data, dims, 2.0), x.var(dims) * n / (n - 2), dtype)
    batch = affine == (1,) and 1 not in dims
    if batch:
        found = kernel("batch_norm", dtype)(data, *weights, dims, 1e-3)
        expected = y, *given(mean, 1 / np.sqrt(var + 1e-3), var)
        of_others = kernel("batch_norm_inference", dtype)(data, *given(mean, var), *weights, 1e-3)
        close(of_others, y, dtype)
    else:
        found = kernel("layer_norm", dtype)(data, *weights, dims, 1e-3)
        expected = y, mean, 1 / np.sqrt(var + 1e-3)
    for ours, right in zip(found, expected, strict=True):
        close(ours, right, dtype)
    affine = affine or dims
    operands = gradient, data, *statistics
    found = kernel("normalize_input", dtype)(*operands, weights[0], dims, affine)
    close(found, backward, dtype)
    assert found.flags.owndata  # else a leaf's gradient would be a copy of it
    found = kernel("normalize_weight", dtype)(*operands, dims, affine)
    others = tuple(d for d in range(len(shape)) if d not in affine)
    close(found, (g * unit).sum(others), dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("far", [2, 5, 7])
def test_batches_of_channels_whose_means_are_far_from_zero(far, dtype):
    """Squares less the mean's would lose most digits there; *far* of seven channels are so."""
    x, g = RANDOM.standard_normal((2, 5, 7, 80, 81))
    x[:, :far] += 300
    x = x.astype(dtype).astype(np.float64)
    dims = (0, 2, 3)
    mean, var = x.mean(dims), x.var(dims)
    r = 1 / np.sqrt(var + 1e-3)
    unit = (x - mean[:, None, None]) * r[:, None, None]
    shares = [(g * u).mean(dims, keepdims=True) * u for u in (1, unit)]
    data, gradient, m, scale = (a.astype(dtype) for a in (x, g, mean, r))
    found = kernel("batch_norm", dtype)(data, None, None, dims, 1e-3)
    close(kernel("var", dtype)(data, dims, 0.0), var, dtype)
    close(found[3], var, dtype)
    found = kernel("normalize_weight", dtype)(gradient, data, m, scale, dims, (1,))
    error = 1e-12 if dtype == "f8" else 3e-5  # the mean itself has one
    np.testing.assert_allclose(found, (g * unit).sum(dims), rtol=0, atol=error * 200)
    found = kernel("normalize_input", dtype)(gradient, data, m, scale, None, dims, (1,))
    np.testing.assert_allclose(
        found, (g - shares[0] - shares[1]) * r[:, None, None], rtol=0, atol=error
    )


def test_batches_that_are_not_finite_or_whose_squares_are_not():
    x, g = RANDOM.standard_normal((2, 5, 7, 80, 81)).astype(np.float32)
    x[:, 0] = 3e19 + 1e17 * x[:, 0]
    x[1, 1, 2, 3] = np.inf
    g[2, 2, 3, 4] = np.inf
    dims = (0, 2, 3)
    v = kernel("batch_norm", "f4")(x, None, None, dims, 1e-3)[3]
    assert np.isfinite(v).tolist() == [True, False, *[True] * 5]
    np.testing.assert_allclose(v[0], x[:, 0].var(dtype=np.float64), rtol=1e-5)
    m = np.zeros(7, np.float32)
    found = kernel("normalize_weight", "f4")(g, x, m, m + 1, dims, (1,))
    assert np.isinf(found[2]) and np.isfinite(found[[0, 3, 4, 5, 6]]).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("shape", "dims"), [((300, 257), (1,)), ((3, 70_001), (1,)),
                                             ((20, 30, 9, 10), (2, 3))])  # fmt: skip
def test_root_mean_squares(shape, dims, weighted, dtype):
    random = np.random.default_rng(1)
    x, g = (random.standard_normal(shape) for _ in range(2))
    w = random.standard_normal([shape[d] for d in dims]) if weighted else None
    r = 1 / np.sqrt((x * x).mean(dims, keepdims=True) + 1e-3)
    y = g if w is None else g * w
    data, gradient, scale = (a.astype(dtype) for a in (x, _strided(g), r))
    weight = None if w is None else w.astype(dtype)
    found = kernel("rms_norm", dtype)(data, weight, dims, 1e-3)
    close(found[0], x * r if w is None else x * r * w, dtype)
    close(found[1], r, dtype)
    found = kernel("normalize_input", dtype)(gradient, data, None, scale, weight, dims, dims)
    close(found, r * y - x * r**3 * (y * x).mean(dims, keepdims=True), dtype)
    found = kernel("normalize_weight", dtype)(gradient, data, None, scale, dims, dims)
    others = tuple(d for d in range(len(shape)) if d not in dims)
    close(found, (g * x * r).sum(others), dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("scipy", [True, False])
def test_gradients_of_layers_whose_means_are_large(scipy, dtype, monkeypatch):
    if not scipy:
        monkeypatch.setattr(sparse, "loops", lambda: None)
    random = np.random.default_rng(2)
    g, w = random.standard_normal((700, 257)), random.standard_normal(257)
    x = random.standard_normal((700, 257)).astype(dtype)
    x[300:310] += 0.9  # in the second block
    # In the last one, of three, with a mean that has no rounding.
    part = np.round(random.standard_normal(128) * 1024) / 1024
    x[-1] = 1000 + np.concatenate([part, [0], -part])
    g[-1] = (x[-1] - 1000) / w
    g[0, 3] = np.nan
    mean, var = x.mean(1, "f8", keepdims=True), x.var(1, "f8", keepdims=True)
    r = 1 / np.sqrt(var + 1e-5)
    unit, y = (x - mean) * r, g * w
    right = (y - y.mean(1, keepdims=True) - (y * unit).mean(1, keepdims=True) * unit) * r
    operands = (a.astype(dtype) for a in (g, x, mean, r, w))
    found = kernel("normalize_input", dtype)(*operands, (1,), (1,))
    assert np.isnan(found[0]).all()
    close(found[1:], right[1:], dtype)


def test_few_elements_are_left_to_the_composition():
    x = np.ones((4, 5), np.float32)
    assert kernel("var", "f4")(x, (1,), 1.0) is NotImplemented
    assert torch.tensor([[1.0, 3.0]]).var(1).item() == 2.0


def test_the_variance_of_too_few_is_not_a_number_and_nan_stays_in_its_row():
    x = torch.ones(40_000, 1)
    assert x.var(1).isnan().all() and (x.var(1, correction=0) == 0).all()
    x = torch.randn(300, 200)
    x[3, 5], x[4, 6] = math.nan, math.inf
    assert x.var(1).isnan().nonzero().flatten().tolist() == [3, 4]
    y = F.layer_norm(x, (200,))
    assert y.isnan().any(1).nonzero().flatten().tolist() == [3, 4]


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(300, 257), (4, 90, 101), (2, 70_001)])
def test_softmax_and_its_logarithm(shape, dtype):
    x, g = RANDOM.standard_normal(shape) * 5, RANDOM.standard_normal(shape)
    p = _softmax(x)
    data, gradient = x.astype(dtype), g.astype(dtype)
    dim = len(shape) - 1
    y = kernel("softmax", dtype)(data, dim)
    close(y, p, dtype)
    expected = p * (g - (g * p).sum(-1, keepdims=True))
    close(kernel("softmax_backward", dtype)(gradient, y, dim), expected, dtype)
    y = kernel("log_softmax", dtype)(data, dim)
    close(y, np.log(p), dtype)
    expected = g - p * g.sum(-1, keepdims=True)
    close(kernel("log_softmax_backward", dtype)(_strided(gradient), y, dim), expected, dtype)
    across = np.ascontiguousarray(np.moveaxis(y, -1, 0))
    assert kernel("softmax_backward", dtype)(across, across, 0) is NotImplemented


def test_softmax_of_what_is_not_finite():
    x = RANDOM.standard_normal((300, 200)).astype(np.float32)
    x[1, 2], x[3], x[5, 4:] = np.nan, -np.inf, -np.inf
    y = kernel("softmax", "f4")(x, 1)
    assert np.flatnonzero(np.isnan(y).any(1)).tolist() == [1, 3]
    assert y[5, 4:].sum() == 0 and y[5].sum() == pytest.approx(1)


@pytest.mark.parametrize("level", [-200.0, -3.0, 200.0])
@pytest.mark.parametrize("few", [True, False])
def test_softmax_where_some_rows_have_to_be_centred(few, level):
    """A few rows, as those of causal attention with few terms, or most of them."""
    x = RANDOM.standard_normal((1500, 100))
    unusual = np.arange(0, 1500, 40 if few else 2)
    x[unusual] += level
    x[unusual, 1:] = np.where(level < -100, x[unusual, 1:], -np.inf)
    x = x.astype("f4")
    close(kernel("softmax", "f4")(x, 1), _softmax(x.astype("f8")), "f4")


@pytest.mark.parametrize("ignored", [False, True])
def test_cross_entropy_in_blocks(ignored):
    x, i = RANDOM.standard_normal((700, 130)) * 3, RANDOM.integers(0, 130, 700)
    if ignored:
        i[::3] = -100
    counts = i >= 0
    p = _softmax(x)
    chosen = p[np.arange(700), np.where(counts, i, 0)]
    expected = -np.log(chosen[counts]).mean()
    p[np.arange(700)[counts], i[counts]] -= 1
    p[~counts] = 0
    scores = torch.from_numpy(x.astype(np.float32)).requires_grad_()
    loss = F.cross_entropy(scores, torch.from_numpy(i))
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    loss.backward()
    close(scores.grad.numpy(), p / counts.sum(), "f4")


LENGTHS = [16, 32, 33, 256, 257, 1024, 1025, 5000, 262_144, 300_001, 1 << 20, (1 << 20) + 70_001]


@pytest.mark.parametrize("shape", [(3 if n < 300_000 else 2, n) for n in LENGTHS])
def test_sums_of_rows_lose_no_digits(shape):
    random = np.random.default_rng(0)  # so that these are the same numbers in any order of tests
    for dtype in ("f4", "f8"):
        x = (random.random(shape) + 0.5).astype(dtype)
        wide = x.astype(np.longdouble)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(sums.total(x, (1,)), wide.sum(1).astype("f8"), rtol=2 * eps)
        found = sums.dots(x, x[:, ::-1].copy())
        np.testing.assert_allclose(found, (wide * wide[:, ::-1]).sum(1).astype("f8"), rtol=3 * eps)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64])
def test_sums_of_few_rows(n):
    x = (np.random.default_rng(0).random((n, 5000)) + 0.5).astype("f4")
    np.testing.assert_allclose(sums.total(x, (0,)), x.sum(0, dtype="f8"), rtol=1e-6)
    assert np.isnan(sums.total(np.where(x > 1, np.nan, x), (0,))).any()


def test_numpy_keeps_its_buffers():
    before = np.getbufsize()
    torch.randn(300, 300).softmax(1)
    F.layer_norm(torch.randn(300, 300), (300,))
    assert np.getbufsize() == before


def test_a_gradient_is_taken_as_it_is_where_a_view_alone_holds_it():
    made = np.empty(12).reshape(3, 4)
    assert BACKEND.owns_storage(made) and BACKEND.owns_storage(np.empty(3))
    part = made[:]
    assert not BACKEND.owns_storage(made)
    del part
    root = np.empty(12)
    view = root.reshape(3, 4)
    assert not BACKEND.owns_storage(view) and not BACKEND.owns_storage(np.empty(4)[1:])
