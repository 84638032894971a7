"""Graphs of pointwise ops as straight-line Python: values, and where they are written."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus.graph.reading import read
from tensorbus.graph.straight_line import straight_line
from tensorbus.rows.registry import ROWS

RNG = np.random.default_rng(11)

MEAN = """
def graph(p: float64[5], g: float64[5], m: float64[5], beta: float64, rest: float64):
    v0: float64[5] = mul(m, beta)
    v1: float64[5] = mul(g, rest)
    v2: float64[5] = add(v0, v1)
    v3: float64[5] = sub(p, v2)
    return into(p, v3), into(m, v2)
"""
EXCHANGED = """
def graph(x: float64[5], y: float64[5]):
    v0: float64[5] = add(x, y)
    v1: float64[5] = sub(x, y)
    return into(x, v1), into(y, v0)
"""
READ_LATER = """
def graph(x: float64[5], y: float64[5]):
    v0: float64[5] = mul(x, 2.0)
    v1: float64[5] = mul(v0, y)
    v2: float64[5] = sub(x, v1)
    return into(x, v0), into(y, v2)
"""
GIVEN = """
def graph(x: float64[5], y: float64[5]):
    v0: float64[5] = mul(x, 3.0)
    return into(x, v0), into(y, y)
"""
COPIED = """
def graph(x: float64[5], y: float64[5]):
    v0: float64[5] = mul(x, y)
    return into(x, v0), into(y, v0)
"""
SELECTED = """
def graph(x: float64[5], y: float64[5]):
    v0: bool[5] = lt(x, y)
    v1: float64[5] = mul(x, y)
    v2: bool[5] = lt(v1, 0.0)
    v3: float64[5] = where(v0, v1, 7.0)
    v4: float64[5] = where(v2, y, v3)
    return into(x, v4)
"""


def exchanged(x: Any, y: Any) -> tuple[Any, ...]:
    return x - y, x + y


def selected(x: Any, y: Any) -> tuple[Any, ...]:
    return (np.where(x * y < 0, y, np.where(x < y, x * y, 7.0)),)


CASES: dict[str, tuple[str, Any, int]] = {
    "mean": (MEAN, lambda p, g, m, b, r: (p - (m * b + g * r), m * b + g * r), 1),
    "exchanged": (EXCHANGED, exchanged, 1),
    "read later": (READ_LATER, lambda x, y: (x * 2, x - x * 2 * y), 1),
    "given": (GIVEN, lambda x, y: (x * 3, y), 0),
    "copied": (COPIED, lambda x, y: (x * y, x * y), 0),
    "selected": (SELECTED, selected, 3),
}


@pytest.fixture
def kind() -> Kind:
    return kind_of(torch.device("cpu"), torch.float64)


@pytest.mark.parametrize("name", CASES)
def test_it_writes_what_the_graph_says(kind: Kind, name: str) -> None:
    text, expected, buffers = CASES[name]
    graph = read(text)
    written = [i for _, i in graph.writes]
    line = straight_line(kind, graph, written)
    assert line.buffers <= buffers
    count = sum(hasattr(v.type, "shape") for v in graph.inputs)
    arrays = [RNG.standard_normal(5) for _ in range(count)]
    numbers = [0.75, 0.25][: len(graph.inputs) - count]
    before = [a.copy() for a in arrays]
    kept = line.run(*arrays, *numbers)
    assert len(kept) == line.buffers
    wanted = dict(zip(written, expected(*before, *numbers), strict=True))
    for i, (array, old) in enumerate(zip(arrays, before, strict=True)):
        np.testing.assert_allclose(array, wanted.get(i, old), rtol=1e-15)
    # Given back, the buffers are used again and nothing is made.
    again = [a.copy() for a in before]
    same = line.run(*again, *numbers, *kept)
    assert all(a is b for a, b in zip(same, kept, strict=True))
    for array, first in zip(again, arrays, strict=True):
        np.testing.assert_array_equal(array, first)


def test_an_input_holds_only_its_own_next_value(kind: Kind) -> None:
    """Else an interrupt would leave another tensor's numbers in it."""
    graph = read(MEAN)
    source = inspect.getsource(straight_line(kind, graph, [i for _, i in graph.writes]).run)
    lines = [line.strip() for line in source.splitlines()[1:-1]]
    assert lines == [
        "k_float64.mul(x2, x3, out=x2)",
        "b0 = k_float64.mul(x1, x4, out=b0)",
        "k_float64.add(x2, b0, out=x2)",
        "k_float64.sub(x0, x2, out=x0)",
    ]


def test_an_op_is_resolved_once(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at each call, where the line was made before the op's first call."""
    monkeypatch.delitem(vars(kind), "mul")
    kind.add_row(ROWS["mul"])  # as in a new process
    asked = []
    find = kind.backend.kernel
    monkeypatch.setattr(kind.backend, "kernel", lambda op, *at: asked.append(op) or find(op, *at))
    graph = read(MEAN)
    line = straight_line(kind, graph, [i for _, i in graph.writes])
    arrays = [np.ones(5) for _ in range(3)]
    for _ in range(3):
        line.run(*arrays, 0.5, 0.5)
    assert asked.count("mul") == 1


CAST = """
def graph(x: float64[5], n: int32[5]):
    v0: float64[5] = cast(n, float64)
    v1: float64[5] = mul(x, v0)
    v2: bool[5] = lt(v1, x)
    v3: bool[5] = logical_not(v2)
    v4: float64[5] = where(v3, v1, x)
    return v4, v0, x
"""


def test_results_may_be_arrays_of_their_own(kind: Kind) -> None:
    line = straight_line(kind, read(CAST), [None, None, 0])
    x, n = RNG.standard_normal(5), RNG.integers(-3, 3, 5).astype("int32")
    first, second = np.empty(5), np.empty(5)
    line.run(x, n, first, second)
    np.testing.assert_array_equal(second, n)
    np.testing.assert_array_equal(first, np.where(x * n < x, x, x * n))


def test_other_graphs_are_refused(kind: Kind) -> None:
    text = """
def graph(x: float64[5]):
    v0: float64[1] = sum(x, (0,), float64)
    v1: float64[5] = mul(x, 2.0)
    return into(x, v1)
"""
    with pytest.raises(ValueError, match="sum is not pointwise"):
        straight_line(kind, read(text), [0])
