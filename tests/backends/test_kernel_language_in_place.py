"""Graphs that write into their inputs, as one generated kernel."""

from __future__ import annotations

import numpy as np
import pytest

from tensorbus.graph.reading import read
from tensorbus.graph.verifying import verify

RNG = np.random.default_rng(7)

STEP = """
def graph(p: float32[s0, s1], g: float32[s0, s1], m: float32[s0, s1], beta: float32, lr: float32):
    v0: float32[s0, s1] = mul(m, beta)
    v1: float32[s0, s1] = add(v0, g)
    v2: float32[s0, s1] = mul(v1, lr)
    v3: float32[s0, s1] = sub(p, v2)
    return into(p, v3), into(m, v1)
"""
EXCHANGED = """
def graph(x: float32[s0], y: float32[s0]):
    v0: float32[s0] = add(x, y)
    v1: float32[s0] = mul(x, 0.5)
    return into(x, v0), into(y, v1)
"""
TWICE = """
def graph(x: float32[s0], y: float32[s0], c: float32):
    v0: float32[s0] = mul(x, c)
    v1: float32[s0] = sub(v0, y)
    return into(x, v1), into(y, v1)
"""
GIVEN = """
def graph(x: float32[s0], y: float32[s0]):
    v0: float32[s0] = mul(x, 2.0)
    v1: float32[s0] = add(v0, y)
    return into(x, v1), into(y, x)
"""
BROADCAST = """
def graph(x: float32[s0, s1], y: float32[s1]):
    v0: float32[s0, s1] = mul(x, y)
    v1: float32[s0, s1] = add(v0, 1.0)
    return into(x, v1)
"""
FOLDED = """
def graph(x: float32[s0, s1]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    return into(x, v2)
"""


def laid_out(layout, *shape):
    values = RNG.standard_normal(shape).astype(np.float32)
    if layout == "strided":
        return np.repeat(values, 2, -1)[..., ::2]
    return values.copy(order="F") if layout == "transposed" else values


@pytest.mark.parametrize("layouts", [
    ["plain"] * 3, ["transposed"] * 3, ["plain", "transposed", "strided"],
])  # fmt: skip
def test_new_values_are_written_in_one_launch(generated, layouts):
    graph = read(STEP)
    verify(graph)
    kernel = generated.backend.compile(graph, 0)
    for shape in ((3, 5), (4, 33)):
        p, g, m = (laid_out(layout, *shape) for layout in layouts)
        arrays = [generated.put(x) for x in (p, g, m)]
        before = getattr(generated.backend, "launches", None)
        results = kernel(*arrays, 0.75, 0.125)
        if before is not None:
            assert generated.backend.launches == before + 1
        assert results[0] is arrays[0] and results[1] is arrays[2]
        wanted = np.float32(0.75) * m + g
        np.testing.assert_allclose(generated.get(arrays[2]), wanted, rtol=1e-6)
        np.testing.assert_allclose(generated.get(arrays[0]), p - wanted / 8, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(generated.get(arrays[1]), g)


@pytest.mark.parametrize(("text", "numbers", "expected"), [
    (EXCHANGED, (), lambda x, y: (x + y, x * np.float32(0.5))),
    (TWICE, (3.0,), lambda x, y: (x * np.float32(3) - y,) * 2),
    (GIVEN, (), lambda x, y: (x * np.float32(2) + y, x)),
])  # fmt: skip
def test_all_reads_come_before_the_writes(generated, text, numbers, expected):
    kernel = generated.backend.compile(read(text), 0)
    x, y = (RNG.standard_normal(1000).astype(np.float32) for _ in range(2))
    arrays = [generated.put(x), generated.put(y)]
    kernel(*arrays, *numbers)
    for array, wanted in zip(arrays, expected(x, y), strict=True):
        np.testing.assert_allclose(generated.get(array), wanted, rtol=1e-6, atol=1e-6)


def test_a_result_elsewhere_is_left_to_others(generated):
    kernel = generated.backend.compile(read(EXCHANGED), 0)
    arrays = [generated.put(np.ones(4, np.float32)) for _ in range(2)]
    assert kernel(*arrays, out=(None, None)) is NotImplemented
    assert generated.get(arrays[0]).tolist() == [1.0] * 4


TURNED = """
def graph(x: float32[s0, s0]):
    v0: float32[s0, s0] = permute(x, (1, 0))
    v1: float32[s0, s0] = mul(v0, 2.0)
    return into(x, v1)
"""

PICKED = """
def graph(x: float32[s0], i: int64[s0]):
    v0: float32[s0] = take(x, 0, i, True)
    v1: float32[s0] = mul(v0, 2.0)
    return into(x, v1)
"""


@pytest.mark.parametrize("text", [BROADCAST, FOLDED, TURNED, PICKED])
def test_what_reads_elements_beside_those_it_writes_is_declined(generated, text):
    verify(read(text))
    assert generated.backend.compile(read(text), 0) is None
