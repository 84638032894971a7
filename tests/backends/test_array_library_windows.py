"""Convolution and pooling kernels of ``cpu`` against loops in float64, and PyTorch."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus_cpu_numpy import blas, threads
from tensorbus_cpu_numpy.backend import CpuBackend

BACKEND = CpuBackend()
RNG = np.random.default_rng(11)

CONVOLUTIONS = [
    # batch, channels, filters, image, kernel, stride, padding, dilation, groups
    (2, 3, 4, (7, 8), (3, 2), (1, 1), (0, 0), (1, 1), 1),
    (5, 1, 6, (9, 9), (5, 5), (1, 1), (0, 0), (1, 1), 1),
    (3, 8, 5, (6, 5), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (3, 8, 5, (9, 7), (3, 2), (2, 3), (1, 0), (1, 1), 1),
    (2, 4, 6, (9, 9), (3, 3), (1, 1), (2, 2), (2, 2), 1),
    (2, 8, 4, (7, 9), (2, 3), (1, 2), (1, 2), (1, 3), 1),
    (2, 4, 6, (7, 7), (3, 3), (2, 1), (1, 1), (1, 1), 2),
    (2, 5, 5, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 5),
    (1, 2, 3, (1, 1), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (40, 3, 2, (6, 6), (3, 3), (1, 1), (0, 0), (1, 1), 1),
    (2, 2, 2, (10, 10), (3, 3), (3, 3), (0, 0), (1, 1), 1),
]


def kernel(op, name="float64"):
    return BACKEND.kernel(op, dtypes.dtype_by_name(name), 0)


def by_loops(x, w, stride, padding, dilation, groups):
    """The definition of cross-correlation, one output element after the other."""
    n, c, h, width = x.shape
    o, per, kh, kw = w.shape
    (sv, sh), (ph, pw), (dv, dh) = stride, padding, dilation
    around = np.zeros((n, c, h + 2 * ph, width + 2 * pw))
    around[:, :, ph : ph + h, pw : pw + width] = x
    oh = (h + 2 * ph - dv * (kh - 1) - 1) // sv + 1
    ow = (width + 2 * pw - dh * (kw - 1) - 1) // sh + 1
    y = np.zeros((n, o, oh, ow))
    for f, r, q in itertools.product(range(o), range(oh), range(ow)):
        first = f // (o // groups) * per
        window = around[:, first : first + per, r * sv :, q * sh :]
        window = window[:, :, : dv * (kh - 1) + 1 : dv, : dh * (kw - 1) + 1 : dh]
        y[:, f, r, q] = (window * w[f]).sum((1, 2, 3))
    return y


def setting(case, rng=RNG):
    n, c, o, image, kernel_hw, *rest, groups = case
    x = rng.standard_normal((n, c, *image))
    w = rng.standard_normal((o, c // groups, *kernel_hw))
    return x, w, (*rest, groups)


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv2d_is_its_definition(case):
    x, w, options = setting(case)
    want = by_loops(x, w, *options)
    got = kernel("conv2d")(x, w, *options)
    assert got.flags.c_contiguous
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    for name, tolerance in (("float32", 2e-5), ("float16", 2e-2)):
        got = kernel("conv2d", name)(x.astype(name), w.astype(name), *options)
        assert got.dtype == np.dtype(name)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv2d_gradients_are_its_transposes(case):
    # The map is linear in each argument, so <g, conv(x, w)> fixes both gradients exactly.
    x, w, options = setting(case)
    g = RNG.standard_normal(by_loops(x, w, *options).shape)
    dx = kernel("conv2d_input")(g, w, x.shape[2:], *options)
    dw = kernel("conv2d_weight")(g, x, w.shape[2:], *options)
    assert dx.shape == x.shape and dw.shape == w.shape
    assert dx.flags.c_contiguous and dw.flags.c_contiguous
    for _ in range(5):
        v, u = RNG.standard_normal(x.shape), RNG.standard_normal(w.shape)
        np.testing.assert_allclose((dx * v).sum(), (g * by_loops(v, w, *options)).sum())
        np.testing.assert_allclose((dw * u).sum(), (g * by_loops(x, u, *options)).sum())


def test_convolution_takes_any_layout_and_threads_do_not_change_bits():
    x, w, options = setting((35, 1, 6, (28, 28), (5, 5), (1, 1), (0, 0), (1, 1), 1))
    x = x.astype(np.float32)
    w = w.astype(np.float32)
    g = kernel("conv2d", "float32")(x, w, *options)
    results = []
    before = threads.count()
    try:
        for n in (1, 2, 4):
            BACKEND.set_num_threads(n)
            for image in (x, x.transpose(2, 3, 0, 1).copy().transpose(2, 3, 0, 1), x[:, :, ::-1]):
                if image.strides[2] < 0:
                    image = image[:, :, ::-1].copy()[:, :, ::-1][:, :, ::-1]
                results.append(
                    (
                        kernel("conv2d", "float32")(image, w, *options),
                        kernel("conv2d_weight", "float32")(g, image, (5, 5), *options),
                        kernel("conv2d_input", "float32")(g, w, (28, 28), *options),
                    )
                )
    finally:
        BACKEND.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


POOLS = [
    ((6, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((7, 5), (3, 2), (2, 1), (1, 1), (1, 1), False),
    ((7, 7), (2, 2), (2, 2), (0, 0), (1, 1), True),
    ((8, 7), (3, 3), (2, 3), (1, 1), (1, 1), True),
    ((9, 9), (2, 3), (2, 1), (1, 1), (2, 3), False),
    ((5, 5), (3, 3), (1, 1), (1, 1), (1, 1), False),
]


def pool_by_loops(x, kernel_hw, stride, padding, dilation, ceil_mode):
    """For each window its values and their indices, by the rule of the output size."""
    counts = []
    for n, k, s, p, d in zip(x.shape[-2:], kernel_hw, stride, padding, dilation, strict=True):
        span = (n + 2 * p - d * (k - 1) - 1) / s
        count = int(np.ceil(span) if ceil_mode else np.floor(span)) + 1
        counts.append(count - 1 if ceil_mode and (count - 1) * s >= n + p else count)
    for r, q in itertools.product(range(counts[0]), range(counts[1])):
        top, left = r * stride[0] - padding[0], q * stride[1] - padding[1]
        indices = [
            (top + i * dilation[0], left + j * dilation[1])
            for i in range(kernel_hw[0])
            for j in range(kernel_hw[1])
        ]
        inside = [(a, b) for a, b in indices if 0 <= a < x.shape[-2] and 0 <= b < x.shape[-1]]
        yield (r, q), inside


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("options", POOLS, ids=str)
def test_max_pool2d(options, name):
    image, *rest = options
    x = RNG.integers(0, 9, (2, 3, *image)).astype(name)
    if "float" in name:
        x -= 4
        x[0, 0] = -np.inf
        x[1, 1, 2, 2] = np.nan
    y = kernel("max_pool2d", name)(x, *rest)
    indices = kernel("max_pool2d_indices", name)(x, *rest)
    assert indices.dtype == np.int64 and y.dtype == np.dtype(name)
    for (r, q), inside in pool_by_loops(x, *rest):
        for n, c in itertools.product(range(2), range(3)):
            values = [x[n, c, a, b] for a, b in inside]
            best = int(np.argmax(values))
            np.testing.assert_array_equal(y[n, c, r, q], values[best])
            a, b = inside[best]
            assert indices[n, c, r, q] == a * image[1] + b
    g = RNG.integers(1, 9, y.shape).astype(name)
    want = np.zeros(x.shape, name)
    for n, c, r, q in itertools.product(*map(range, y.shape)):
        a, b = divmod(int(indices[n, c, r, q]), image[1])
        want[n, c, a, b] += g[n, c, r, q]
    backward = kernel("max_pool2d_backward", name)
    np.testing.assert_array_equal(backward(g, indices, x.shape), want)


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("divisor", [None, 3])
@pytest.mark.parametrize("options", [o for o in POOLS if o[4] == (1, 1)], ids=str)
def test_avg_pool2d_and_its_transpose(options, include, divisor):
    image, kernel_hw, stride, padding, _, ceil_mode = options
    x = RNG.standard_normal((2, 3, *image))
    arguments = (kernel_hw, stride, padding, ceil_mode, include, divisor)
    y = kernel("avg_pool2d")(x, *arguments)
    for (r, q), inside in pool_by_loops(x, kernel_hw, stride, padding, (1, 1), ceil_mode):
        count = len(inside)
        if include:
            starts = r * stride[0] - padding[0], q * stride[1] - padding[1]
            sides = [
                min(s + k, n + p) - s
                for s, k, n, p in zip(starts, kernel_hw, image, padding, strict=True)
            ]
            count = sides[0] * sides[1]
        want = sum(x[:, :, a, b] for a, b in inside) / (divisor or count)
        np.testing.assert_allclose(y[:, :, r, q], want, rtol=1e-13, atol=1e-14)
    g, v = RNG.standard_normal(y.shape), RNG.standard_normal(x.shape)
    dx = kernel("avg_pool2d_backward")(g, image, *arguments)
    np.testing.assert_allclose((dx * v).sum(), (g * kernel("avg_pool2d")(v, *arguments)).sum())


def test_against_torch(oracle):
    rng = np.random.default_rng(12)
    close = {"rtol": 1e-10, "atol": 1e-10}
    for case in CONVOLUTIONS:
        x, w, options = setting(case, rng)
        g = rng.standard_normal(kernel("conv2d")(x, w, *options).shape)

        def convolution(torch, x=x, w=w, g=g, options=options):
            tx, tw = (torch.tensor(array, requires_grad=True) for array in (x, w))
            ty = torch.nn.functional.conv2d(tx, tw, None, *options)
            ty.backward(torch.tensor(g))
            return [t.numpy() for t in (ty.detach(), tx.grad, tw.grad)]

        y, dx, dw = oracle(convolution)
        np.testing.assert_allclose(kernel("conv2d")(x, w, *options), y, **close)
        found = kernel("conv2d_input")(g, w, x.shape[2:], *options)
        np.testing.assert_allclose(found, dx, **close)
        found = kernel("conv2d_weight")(g, x, w.shape[2:], *options)
        np.testing.assert_allclose(found, dw, **close)
    x = rng.integers(0, 3, (2, 3, 9, 9)).astype(np.float64)
    x[1, 1, 4, 3:6] = np.nan
    for _, *rest in POOLS:

        def pool(torch, rest=rest):
            pooled = torch.nn.functional.max_pool2d(torch.tensor(x), *rest, return_indices=True)
            return [t.numpy() for t in pooled]

        y, indices = oracle(pool)
        np.testing.assert_array_equal(kernel("max_pool2d")(x, *rest), y)
        np.testing.assert_array_equal(kernel("max_pool2d_indices")(x, *rest), indices)


def test_infinite_images_neither_warn_nor_fail():
    x = np.full((20, 2, 6, 6), np.inf, np.float32)
    w = np.zeros((3, 2, 3, 3), np.float32)
    options = ((1, 1), (0, 0), (1, 1), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(kernel("conv2d", "float32")(x, w, *options)).all()


def test_blas_has_its_threads_back_after_a_block_that_kept_it_in_one():
    control = blas.control()
    if control is None:
        pytest.skip("NumPy's BLAS here has no way to set its threads")
    before = control.get()
    try:
        BACKEND.set_num_threads(2)
        assert control.get() == 2
        one, two = object(), object()
        blas.hold(one)
        blas.hold(two)
        assert control.get() == 1
        for _ in range(2):  # an interrupt may have it said twice
            blas.let_go(two)
            assert control.get() == 1
        blas.let_go(one)
        assert control.get() == 2
        blas.let_go(one)
        blas.hold(one)
        BACKEND.set_num_threads(3)
        assert control.get() == 1
        blas.let_go(one)
        assert control.get() == 3
    finally:
        BACKEND.set_num_threads(before)


def test_an_error_in_one_thread_reaches_the_caller():
    def fail(start, stop):
        if start == 8:
            raise ValueError(f"block {start}:{stop}")

    with pytest.raises(ValueError, match="block 8:10"):
        threads.spread(fail, 10, 2, small=True)
