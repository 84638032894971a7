"""Kernels beyond the primitives against NumPy, SciPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

RNG = np.random.default_rng(2)
TOLERANCE = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}

POINTWISE = {
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "square": np.square,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": scipy.special.expit,
    "relu": lambda x: np.maximum(x, 0),
    "ceil": np.ceil,
    "trunc": np.trunc,
    "exp2": np.exp2,
    "log2": np.log2,
    "log10": np.log10,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
    "erf": scipy.special.erf,
}


@pytest.mark.parametrize("op", POINTWISE)
def test_unary(generated, op):
    x = np.array([0.0, 1, -1, 0.5, -0.3, 2.5, -2.5, 7, 1e-5, np.inf, -np.inf, np.nan], "float32")
    with np.errstate(all="ignore"):
        want = POINTWISE[op](x.astype(np.float64))
    got = generated(op, x)
    assert got.dtype == (bool if want.dtype == bool else np.float32)
    np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=6e-7, atol=0)


def test_integer_extras(generated):
    x = np.array([0, 1, -1, 127, -128, 5], "int8")
    for op, want in [("neg", -x), ("square", x * x), ("sign", np.sign(x)), ("bitwise_not", ~x),
                     ("relu", np.maximum(x, 0)), ("logical_not", x == 0)]:  # fmt: skip
        assert (generated(op, x) == want).all(), op
    assert (generated("gt", x, x[::-1]) == (x > x[::-1])).all()
    assert (generated("ge", x, x[::-1]) == (x >= x[::-1])).all()


@pytest.mark.parametrize("name", ["uint8", "int8", "int64", "float32", "float64"])
def test_remainder_has_the_divisors_sign(generated, name):
    x = np.array([0, 1, 5, 7, 100, 127] + [-1, -5, -7, -128] * (name != "uint8"), name)
    x, y = np.meshgrid(x, x[x != 0])
    assert (generated("remainder", x, y) == np.remainder(x, y)).all()
    assert (generated("remainder", x, 3) == np.remainder(x, 3)).all()


def test_numbers_alone_give_an_array(generated):
    less = generated.kernel("lt", "int64")
    assert generated.get(less(2, 3)).shape == ()
    assert generated.get(less(2, 3)) and not generated.get(less(3, 2))


def test_clamps(generated):
    x = np.array([-3, -1, 0, 2, 9, np.nan], "float32")
    same = np.testing.assert_array_equal
    same(generated("clamp", x, -1.0, 2.0), np.clip(x, -1, 2))
    same(generated("clamp", x, 2.0, -1.0), np.clip(x, 2, -1))
    same(generated("clamp_min", x, 0.0), np.maximum(x, 0))
    same(generated("clamp_max", x, 0.0), np.minimum(x, 0))


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_mean(generated, name):
    x = (RNG.normal(0, 3, (4, 5, 30))).astype(name)
    for dim in range(3):
        want = x.astype(float).mean(dim)
        got = generated("mean", x, (dim,))
        np.testing.assert_allclose(got, want, rtol=TOLERANCE[name], atol=TOLERANCE[name])
    big = np.full(70_000, 3, name)
    assert generated("mean", big, (0,)) == 3
    assert np.isnan(generated("mean", big[:0], (0,)))


@pytest.mark.parametrize("name", ["bool", "int64", "float32"])
def test_any_and_all(generated, name):
    x = (RNG.random((6, 7)) < 0.3).astype(name)
    x[2], x[:, 3] = 1, 0
    for dims in ((0,), (1,), (0, 1)):
        assert (generated("any", x, dims) == x.any(dims)).all()
        assert (generated("all", x, dims) == x.all(dims)).all()
    assert generated("any", np.zeros(9000, name), (0,)) == False  # noqa: E712
    assert generated("all", x[:0], (0,)).all()


CONVOLUTIONS = [
    # (N, C, H, W), (O, C / groups, kh, kw), stride, padding, dilation, groups
    ((2, 3, 9, 8), (4, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 9, 8), (20, 3, 3, 3), (2, 1), (1, 2), (1, 2), 1),
    ((3, 4, 12, 11), (8, 2, 5, 3), (2, 3), (2, 0), (1, 1), 2),
    ((2, 6, 7, 7), (6, 1, 3, 3), (1, 1), (1, 1), (2, 1), 6),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution_and_its_gradients(generated, case, oracle):
    x_shape, w_shape, *rest = case
    rng = np.random.default_rng(1)
    x = rng.integers(-3, 4, x_shape).astype("float32")
    w = rng.integers(-3, 4, w_shape).astype("float32")

    def program(torch):
        tx, tw = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
        result = torch.nn.functional.conv2d(tx, tw, None, *rest)
        g = rng.integers(-3, 4, tuple(result.shape)).astype("float32")
        result.backward(torch.tensor(g))
        return g, result.detach().numpy(), tx.grad.numpy(), tw.grad.numpy()

    g, want, x_grad, w_grad = oracle(program)
    turned = x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    for seen in (x, turned):
        assert (generated("conv2d", seen, w, *rest) == want).all()
        assert (generated("conv2d_weight", g, seen, w_shape[2:], *rest) == w_grad).all()
    assert (generated("conv2d_input", g, w, x_shape[2:], *rest) == x_grad).all()


def test_gradient_of_many_weights(generated):
    rng = np.random.default_rng(2)
    x = rng.integers(-2, 3, (2, 64, 5, 5)).astype("float32")
    g = rng.integers(-2, 3, (2, 128, 3, 3)).astype("float32")
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    want = np.einsum("ncijkl,nokl->ocij", windows.transpose(0, 1, 4, 5, 2, 3), g)
    got = generated("conv2d_weight", g, x, (3, 3), (1, 1), (0, 0), (1, 1), 1)
    assert (got == want).all()


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("kernel, stride, padding, dilation",
                         [((2, 2), (2, 2), (0, 0), (1, 1)), ((3, 2), (2, 1), (1, 1), (1, 2)),
                          ((3, 3), (3, 4), (1, 0), (1, 1))])  # fmt: skip
def test_max_pool(generated, kernel, stride, padding, dilation, ceil_mode, oracle):
    x = np.random.default_rng(3).integers(-9, 9, (2, 3, 9, 10)).astype("float32")
    x[0, 0, 4, 5] = np.nan
    arguments = (kernel, stride, padding, dilation, ceil_mode)

    def program(torch):
        pool = torch.nn.functional.max_pool2d
        return [t.numpy() for t in pool(torch.tensor(x), *arguments, return_indices=True)]

    want, indices = oracle(program)
    for seen in (x, x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)):
        np.testing.assert_array_equal(generated("max_pool2d", seen, *arguments), want)
        got = generated("max_pool2d_indices", seen, *arguments)
        assert got.dtype == np.int64 and (got == indices).all()


def test_contiguous_copies(generated):
    x = np.arange(12, dtype="int16").reshape(3, 4)
    array = generated.put(x.T)
    copy = generated.kernel("contiguous", "int16")(array)
    assert copy.storage is not array.storage
    assert copy.strides == (3, 1)
    assert (generated.get(copy) == x.T).all()
