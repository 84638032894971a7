"""Kernels of ``cpu`` that go without copies: convolutions, writes by an index, turned arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._base import dtypes
from tensorbus.rows.registry import ROWS
from tensorbus_cpu_numpy import multiples, transposing
from tensorbus_cpu_numpy.backend import CpuBackend

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RANDOM = np.random.default_rng(0)


def kernel(op, dtype):
    return CpuBackend().kernel(op, dtypes.dtype_by_name(np.dtype(dtype).name), 0)


def _windows(x, kernel, padding, dilation, stride):
    """(N, C, oh, ow, kh, kw), by NumPy's own windows."""
    sides = [(0, 0), (0, 0), *((p, p) for p in padding)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(x, sides), reach, (2, 3))
    return seen[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def _convolutions(x, w, g, padding, dilation, stride, groups):
    """Forward, and the gradients for images and filters, in float64."""
    n, c, h, v = x.shape
    seen = _windows(x, w.shape[2:], padding, dilation, stride)
    seen = seen.reshape(n, groups, c // groups, *seen.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", seen, filters)
    grouped = g.reshape(n, groups, -1, *g.shape[2:])
    of_w = np.einsum("ngchwij,ngohw->gocij", seen, grouped).reshape(w.shape)
    images = np.zeros((n, groups, c // groups, h + 2 * padding[0], v + 2 * padding[1]))
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            top, left = i * dilation[0], j * dilation[1]
            rows = slice(top, top + (g.shape[2] - 1) * stride[0] + 1, stride[0])
            columns = slice(left, left + (g.shape[3] - 1) * stride[1] + 1, stride[1])
            part = np.einsum("goc,ngohw->ngchw", filters[..., i, j], grouped)
            images[:, :, :, rows, columns] += part
    images = images.reshape(n, c, *images.shape[3:])
    of_x = images[:, :, padding[0] : padding[0] + h, padding[1] : padding[1] + v]
    return y.reshape(g.shape), of_x, of_w


# images, channels, filters, sides, kernel, groups, padding, dilation, stride
GEOMETRIES = {
    "depthwise": (3, 6, 6, (40, 41), (3, 3), 6, (1, 1), (1, 1), (1, 1)),
    "depthwise, wide": (2, 4, 4, (60, 300), (2, 5), 4, (0, 2), (1, 2), (1, 1)),
    "depthwise, same width": (2, 4, 4, (60, 80), (2, 5), 4, (0, 4), (1, 2), (1, 1)),
    "depthwise, tall": (2, 4, 4, (60, 80), (7, 3), 4, (3, 1), (1, 1), (1, 1)),
    "depthwise, wider than planes": (40, 150, 150, (9, 3), (3, 7), 150, (1, 3), (1, 1), (1, 1)),
    "depthwise, more padding than reach": (2, 5, 5, (60, 41), (3, 1), 5, (1, 3), (1, 1), (1, 1)),
    "depthwise, by two": (2, 6, 6, (60, 41), (3, 3), 6, (1, 1), (1, 1), (2, 2)),
    "depthwise, two filters each": (2, 6, 12, (60, 41), (3, 3), 6, (1, 1), (1, 1), (1, 1)),
    "groups": (3, 6, 9, (60, 41), (3, 3), 3, (1, 1), (1, 1), (1, 1)),
    "groups, same width": (2, 6, 4, (50, 60), (2, 5), 2, (0, 4), (1, 2), (1, 1)),
    "groups, tall": (2, 6, 4, (50, 60), (7, 3), 2, (3, 0), (2, 1), (1, 1)),
    "groups, many images": (70, 20, 10, (7, 9), (3, 3), 5, (1, 1), (1, 1), (1, 1)),
    "groups, more padding than reach": (2, 6, 4, (60, 41), (3, 1), 2, (1, 3), (1, 1), (1, 1)),
    "groups, by two": (2, 6, 4, (60, 41), (3, 3), 2, (1, 1), (1, 1), (2, 2)),
    "many channels": (3, 64, 70, (17, 18), (3, 3), 1, (1, 1), (1, 1), (1, 1)),
    "many channels, uneven": (2, 66, 64, (21, 19), (4, 2), 1, (2, 0), (1, 2), (1, 1)),
    "some channels": (4, 12, 9, (19, 24), (3, 3), 1, (1, 1), (1, 1), (1, 1)),
    "some channels, of more filters": (4, 9, 12, (23, 20), (3, 5), 1, (0, 2), (1, 1), (1, 1)),
    "some channels, small": (40, 9, 12, (7, 8), (3, 3), 1, (1, 1), (1, 1), (1, 1)),
    "1 x 1": (3, 6, 4, (13, 17), (1, 1), 1, (0, 0), (1, 1), (1, 1)),
    "1 x 1, groups": (3, 6, 4, (13, 17), (1, 1), 2, (0, 0), (1, 1), (1, 1)),
    "1 x 1, padding": (3, 6, 4, (13, 17), (1, 1), 1, (1, 2), (1, 1), (1, 1)),
    "1 x 1, by two": (3, 6, 4, (13, 17), (1, 1), 1, (0, 0), (1, 1), (2, 2)),
    "1 x 1, few pixels": (3, 6, 4, (3, 2), (1, 1), 1, (0, 0), (1, 1), (1, 1)),
}


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_convolutions(name, dtype, strided):
    _check_convolution(name, dtype, strided)


@pytest.fixture
def one_thread(monkeypatch):
    """So that channels with filters of their own go by multiples of lines, in several pieces."""
    pytest.importorskip("scipy")
    for name, value in {"count": lambda: 1, "_MANY": 1, "_PAYING": 1, "_PIECE": 3000}.items():
        monkeypatch.setattr(multiples, name, value)


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [name for name in GEOMETRIES if name.startswith("depthwise")])
def test_convolutions_of_channels_in_one_thread(name, dtype, strided, one_thread):
    _check_convolution(name, dtype, strided)


def test_multiples_by_zero_keep_what_is_not_finite(one_thread):
    x, w = np.ones((2, 4, 60, 41), np.float32), np.ones((4, 1, 3, 3), np.float32)
    w[1, 0, 1, 1] = w[2, 0, 0, 0] = 0
    x[1, 1, 30, 20] = np.inf
    y = kernel("conv2d", "f4")(x, w, (1, 1), (1, 1), (1, 1), 4)
    assert np.isnan(y[1, 1, 30, 20]) and np.isnan(y).sum() == 1 and np.isinf(y).sum() == 8
    x[1, 1, 30, 20] = np.nan
    y = kernel("conv2d", "f4")(x, w, (1, 1), (1, 1), (1, 1), 4)
    assert np.isnan(y[1, 1, 29:32, 19:22]).all() and np.isnan(y).sum() == 9


def _check_convolution(name, dtype, strided):
    n, c, o, sides, size, groups, padding, dilation, stride = GEOMETRIES[name]
    x, w = RANDOM.standard_normal((n, c, *sides)), RANDOM.standard_normal((o, c // groups, *size))
    out = _windows(x, size, padding, dilation, stride).shape[2:4]
    g = RANDOM.standard_normal((n, o, *out))
    expected = _convolutions(x, w, g, padding, dilation, stride, groups)
    x, w, g = (
        np.asfortranarray(a.astype(dtype)) if strided else a.astype(dtype) for a in (x, w, g)
    )
    setting = stride, padding, dilation, groups
    found = (
        kernel("conv2d", dtype)(x, w, *setting),
        kernel("conv2d_input", dtype)(g, w, sides, *setting),
        kernel("conv2d_weight", dtype)(g, x, size, *setting),
    )
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == dtype and a.shape == b.shape
        error = 1e-13 if dtype == "f8" else 3e-6
        np.testing.assert_allclose(a / np.abs(b).max(), b / np.abs(b).max(), rtol=0, atol=error)


def test_infinity_reaches_the_taps_that_meet_it_in_one_thread(one_thread):
    test_infinity_reaches_the_taps_that_meet_it_alone()


def test_infinity_reaches_the_taps_that_meet_it_alone():
    x, w = np.ones((2, 4, 60, 41), np.float32), np.ones((4, 1, 3, 3), np.float32)
    x[0, 1, 0, 0] = np.inf  # a corner: the last taps never see it
    setting = (1, 1), (1, 1), (1, 1), 4
    y = kernel("conv2d", "f4")(x, w, *setting)
    assert np.isinf(y).sum() == 4 and np.isinf(y[0, 1, :2, :2]).all()
    x[0, 1, 9, 40] = np.nan  # the end of a row: the next one begins without it
    y = kernel("conv2d", "f4")(x, w, *setting)
    assert np.isnan(y).sum() == 6 and np.isnan(y[0, 1, 8:11, 39:]).all()
    x[0, 1, 9, 40] = 1
    found = kernel("conv2d_weight", "f4")(np.ones_like(y), x, (3, 3), *setting)
    assert np.isinf(found[1, 0, :2, :2]).all() and np.isinf(found).sum() == 4
    assert np.isfinite(found[1, 0, 2]).all() and np.isfinite(found[1, 0, :, 2]).all()


@pytest.mark.parametrize("op", ["add", "mul", "amax", "amin"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8"])
@pytest.mark.parametrize("rows", [3, 40, 900])
def test_put_joins_all_that_meet(rows, dtype, op):
    """Few rows, many; few slices, many; of the values that meet each is joined once, in order."""
    for count in (9, 700):
        i = RANDOM.integers(0, rows, count)
        i[: count // 3] = 1  # one that gets far more than the others
        values = RANDOM.choice([-1.0, 1.0], (count, 6)) if op == "mul" else None
        values = (RANDOM.integers(-3, 4, (count, 6)) if values is None else values).astype(dtype)
        x = RANDOM.integers(-3, 4, (rows, 6)).astype(dtype)
        join = {"add": np.add, "mul": np.multiply, "amax": np.maximum, "amin": np.minimum}[op]
        expected = x.copy()
        for at, value in zip(i, values, strict=True):
            expected[at] = join(expected[at], value)  # exact in these numbers, wrapping too
        found = kernel("put", dtype)(x.copy(), 0, i, values, op)
        np.testing.assert_array_equal(found, expected)
        turned = kernel("put", dtype)(x.T.copy(), 1, i - rows, values.T, op, True)
        np.testing.assert_array_equal(turned, expected.T)


def test_put_of_what_is_not_a_number_stays_in_its_row():
    x, i = torch.zeros(50, 8), torch.arange(400) % 50
    values = torch.ones(400, 8)
    values[7], values[55, 2] = float("nan"), float("inf")
    found = x.index_add(0, i, values)
    assert found.isnan().any(1).nonzero().flatten().tolist() == [7]
    assert found[5, 2] == float("inf") and found[9].tolist() == [8.0] * 8
    assert x.index_add(0, i, torch.ones(1, 8).expand(400, 8)).eq(8).all()


@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "c16"])
def test_turned_copies(dtype):
    cases = (((300, 401), (1, 0)), ((2, 200, 300), (0, 2, 1)), ((2, 150, 3, 140), (3, 2, 1, 0)),
             ((3000, 30), (1, 0)))  # fmt: skip
    for shape, order in cases:
        x = (RANDOM.standard_normal(shape) * 9).astype(dtype)
        dst = np.zeros([shape[d] for d in order], dtype)
        transposing.write(dst, x.transpose(order))
        np.testing.assert_array_equal(dst, np.copy(x.transpose(order), order="C"))
        apart = np.zeros((*dst.shape, 2), dtype)[..., 0]
        transposing.write(apart, x.transpose(order))
        np.testing.assert_array_equal(apart, dst)


def test_turned_copies_of_what_overlaps_or_repeats():
    x = RANDOM.standard_normal((300, 300)).astype(np.float32)
    expected = x.T.copy()
    transposing.write(x, x.T)
    np.testing.assert_array_equal(x, expected)
    transposing.write(x, np.float32(2.0) * np.ones((1, 300), np.float32).T)
    assert (x == 2).all()
    square = torch.arange(90_000.0).reshape(300, 300)
    assert square.t().contiguous()[3, :4].tolist() == [3.0, 303.0, 603.0, 903.0]


@pytest.mark.parametrize("n", [1, 7, 65_536, 65_537, 200_001])
def test_uniforms_are_those_of_the_composition(n):
    kind = torch.zeros(1)._k
    found = kind.uniform((5, 9), 3, n)
    expected = np.asarray(ROWS["uniform"].composite(kind, (5, 9), 3, n))
    assert found.dtype == np.float32 and found.min() >= 0 and found.max() < 1
    last = ROWS["uniform"].composite(kind, (5, 9), 3 + n // 8 - 1, 8 + n % 8) if n > 8 else expected
    np.testing.assert_array_equal(found[-len(last) :], last)
    np.testing.assert_array_equal(found[:1000], expected[:1000])


def test_optimisers_step_large_parameters_as_small_ones():
    n = 200_000
    for make in (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, 0.1),
        lambda p: torch.optim.AdamW(p, 0.1),
        lambda p: torch.optim.Adam(p, 0.1, amsgrad=True),
    ):
        large = torch.randn(n).requires_grad_()
        small = [x.clone().requires_grad_() for x in large.detach().split(1000)]
        one, many = make([large]), make(small)
        for _ in range(3):
            large.grad = torch.randn(n)
            for x, g in zip(small, large.grad.split(1000), strict=True):
                x.grad = g.clone()
            one.step()
            many.step()
        assert large.tolist() == torch.cat([x.detach() for x in small]).tolist()
