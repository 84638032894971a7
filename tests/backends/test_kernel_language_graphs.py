"""Graphs as one generated kernel, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from tensorbus.graph.reading import read

RNG = np.random.default_rng(5)

SOFTMAX = """
def graph(x: float32[s0, s1]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    v3: float32[s0, s1] = exp(v2)
    v4: float32[s0] = sum(v3, (1,), float32)
    v5: float32[s0, 1] = view(v4, (s0, 1))
    v6: float32[s0, s1] = div(v3, v5)
    return v6
"""
STATISTICS = """
def graph(x: float32[s0, s1, s2], n: float32):
    v0: float32[s1] = sum(x, (0, 2), float32)
    v1: float32[s1] = div(v0, n)
    v2: float32[1, s1, 1] = view(v1, (1, s1, 1))
    v3: float32[s0, s1, s2] = sub(x, v2)
    v4: float32[s0, s1, s2] = mul(v3, v3)
    v5: float32[s1] = sum(v4, (0, 2), float32)
    v6: float32[s1] = div(v5, n)
    v7: float32[1, s1, 1] = view(v6, (1, s1, 1))
    v8: float32[1, s1, 1] = add(v7, 1e-05)
    v9: float32[1, s1, 1] = sqrt(v8)
    v10: float32[s0, s1, s2] = div(v3, v9)
    return v10, v1, v6
"""
SHARED = """
def graph(g: float32[s0], x: float32[s0, s1], most: float32[s0]):
    v0: float32[s0, 1] = view(most, (s0, 1))
    v1: bool[s0, s1] = eq(x, v0)
    v2: float32[s0, s1] = cast(v1, float32)
    v3: float32[s0] = sum(v2, (1,), float32)
    v4: float32[s0] = div(g, v3)
    v5: float32[s0, 1] = view(v4, (s0, 1))
    v6: float32[s0, s1] = mul(v2, v5)
    return v6
"""
SCALED = """
def graph(x: float32[s0, s1], w: float32[s1], c: float32):
    v0: float32[s0, s1] = mul(x, w)
    v1: float32[s0] = sum(v0, (1,), float32)
    v2: float32[s0] = mul(v1, c)
    v3: float32[s0] = amin(x, (1,))
    v4: float32[s0] = add(v2, v3)
    return v4
"""
CHANNELS = """
def graph(x: float32[s0, s1, s2], w: float32[s1]):
    v0: float32[s1, 1] = unsqueeze(w, 1)
    v1: float32[s0, s1, s2] = mul(x, v0)
    v2: float32[s0, s1] = amax(v1, (2,))
    v3: float32[s0, s1] = add(v2, w)
    return v3
"""
WHOLE = """
def graph(x: int64[s0, s1], y: int64[s0, s1]):
    v0: bool[s0, s1] = lt(x, y)
    v1: int64[s0, s1] = where(v0, x, -3)
    v2: int64[s1] = sum(v1, (0,), int64)
    v3: float32[s1] = cast(v2, float32)
    return v3
"""
OF_ONE = """
def graph(a: int64[s0, 1], b: int64[s0, 1], x: float32[s0, s1]):
    v0: float32[s0] = sum(a, (1,), float32)
    v1: float32[s0] = sum(b, (1,), float32)
    v2: float32[s0] = div(v0, v1)
    v3: float32[s0] = amax(x, (1,))
    v4: float32[s0] = add(v3, v2)
    return v4
"""
POINTWISE = """
def graph(x: float32[s0, s1], y: float32[s1], c: float32):
    v0: float32[s0, s1] = add(x, y)
    v1: bool[s0, s1] = lt(v0, nan)
    v2: bool[s0, s1] = le(v0, inf)
    v3: bool[s0, s1] = bitwise_or(v1, v2)
    v4: float32[s0, s1] = maximum(v0, c)
    v5: float32[s0, s1] = where(v3, v4, -0.0)
    def b0(a: float32[s0, s1]):
        v6: float32[s0, s1] = mul(a, 3.0)
        v7: float32[s0, s1] = add(v6, 1.0)
        return v7
    v8: float32[s0, s1] = thrice_and_one(v5, body=b0)
    return v8
"""


def statistics(x, n):
    x = x.astype(float)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    return (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5), mean, var


def normal(*shape):
    return RNG.standard_normal(shape).astype("float32")


CASES = {
    "softmax": (SOFTMAX, lambda n, m: (normal(n, m),), lambda x: scipy.special.softmax(x, 1)),
    "statistics": (STATISTICS, lambda n, m: (normal(3, n, m), 3.0 * m), statistics),
    "shared": (
        SHARED,
        lambda n, m: (
            normal(n),
            RNG.integers(0, 3, (n, m)).astype("float32"),
            np.full(n, 2.0, "f"),
        ),
        lambda g, x, most: (x == 2) * (g / (x == 2).sum(1))[:, None],
    ),
    "scaled": (
        SCALED,
        lambda n, m: (normal(n, m), normal(m) / 50, 0.5),
        lambda x, w, c: (x * w).sum(1) * c + x.min(1),
    ),
    "channels": (
        CHANNELS,
        lambda n, m: (normal(3, n, m), normal(n)),
        lambda x, w: (x * w[:, None]).max(2) + w,
    ),
    "whole": (
        WHOLE,
        lambda n, m: (RNG.integers(-9, 9, (n, m)), RNG.integers(-9, 9, (n, m))),
        lambda x, y: np.where(x < y, x, -3).sum(0).astype(float),
    ),
    "of one": (
        OF_ONE,
        lambda n, m: (
            RNG.integers(1, 9, (n, 1)),
            RNG.integers(1, 9, (n, 1)),
            normal(n, m),
        ),
        lambda a, b, x: x.max(1) + (a / b)[:, 0],
    ),
    "pointwise": (
        POINTWISE,
        lambda n, m: (normal(n, m), normal(m), 0.25),
        lambda x, y, c: np.maximum(x + y, c) * 3.0 + 1,
    ),
}


def put(generated, values):
    return [generated.put(x) if isinstance(x, np.ndarray) else x for x in values]


def close(generated, got, wanted):
    got = got if isinstance(got, tuple) else (got,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for one, other in zip(got, wanted, strict=True):
        one = generated.get(one)
        assert one.shape == other.shape and one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("case", CASES)
def test_values(generated, compiled, case):
    text, operands, reference = CASES[case]
    kernel = compiled(text)
    for n, m in ((40, 7), (5, 33), (64, 2100)):  # beyond lanes and blocks too
        values = operands(n, m)
        double = [x.astype(float) if isinstance(x, np.ndarray) else x for x in values]
        close(generated, kernel(*put(generated, values)), reference(*double))


@pytest.mark.parametrize("case", ["softmax", "pointwise"])
def test_layouts_and_out(generated, compiled, case):
    text, operands, reference = CASES[case]
    kernel = compiled(text)
    values = list(operands(48, 20))
    wanted = reference(*[x.astype(float) if isinstance(x, np.ndarray) else x for x in values])
    for lay_out in (
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, 0)[::2],
        lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    ):
        laid = [lay_out(values[0]), *values[1:]]
        close(generated, kernel(*put(generated, laid)), wanted)
        out = generated.put(np.zeros((20, 48), "float32").T)
        assert kernel(*put(generated, laid), out=(out,)) is out
        close(generated, out, wanted)


def test_values_that_are_not_finite(generated, compiled):
    x = normal(40, 50)
    x[0, 3], x[1, 4], x[2, :], x[3, 5], x[4, :] = np.nan, np.inf, -np.inf, -np.inf, 88
    with np.errstate(invalid="ignore"):
        wanted = scipy.special.softmax(x.astype(float), 1)
        got = generated.get(compiled(SOFTMAX)(generated.put(x)))
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-12)
        got = generated.get(compiled(CHANNELS)(*put(generated, [x[:, None], np.ones(1, "f")])))
        np.testing.assert_array_equal(got[:, 0], x.max(1) + 1)


def test_sums_keep_their_digits(generated, compiled):
    """Each block of 1,024 adds 1 to a number whose neighbours are 8 apart."""
    row = np.full(400 * 1024, 1 / 1024, "float32")
    row[0] = 1e8
    x = np.broadcast_to(row, (64, row.size))
    text = SCALED.replace("amin(x, (1,))", "amin(v0, (1,))")
    got = generated.get(compiled(text)(*put(generated, [x, np.ones(x.shape[1], "f"), 1.0])))
    np.testing.assert_allclose(got, np.full(64, row.astype(float).sum()), rtol=1e-7)


def test_what_is_no_loop_nest_is_declined(generated):
    for text in (
        "def graph(x: float32[s0, s1]):\n v: float32[s1, s0] = permute(x, (1, 0))\n"
        " w: float32[s0, s1] = cumsum(x, 0, float32)\n return w",
        "def graph(x: float32[s0, s1]):\n v: float32[s0] = sum(x, (1,), float32)\n"
        " w: float32[s1] = sum(x, (0,), float32)\n return v, w",
        "def graph(x: float32[s0], c: float32):\n v: float32[()] = log(c)\n"
        " w: float32[s0] = mul(x, v)\n return w",
    ):
        assert generated.backend.compile(read(text), 0) is None


def test_one_long_row_is_left_to_kernels_that_cut_it(generated, compiled):
    kernel = compiled(SOFTMAX)
    assert kernel(generated.put(normal(2, 100000))) is NotImplemented
