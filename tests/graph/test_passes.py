"""Passes keep what a graph computes, bit by bit, and leave out what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_interpreter import Interpreter
from graph_strategies import graphs
from hypothesis import given, settings

from tensorbus import discovery
from tensorbus.graph.passes import (
    constants_folded,
    dead_code_removed,
    simplified,
    subexpressions_merged,
)
from tensorbus.graph.printing import printed
from tensorbus.graph.reading import read
from tensorbus.graph.verifying import verify
from tensorbus.plugin import Graph

PASSES = [dead_code_removed, subexpressions_merged, constants_folded, simplified]
ARRAYS = [
    np.array([[0.0, -0.0, np.nan], [np.inf, -2.5, 1e30]], "float32"),
    np.array([1.0, -1.0, 0.3], "float32"),
    np.array([[-0.0], [7.0]], "float32"),
    np.array([True, False, True]),
]


def bits(x: Any) -> Any:
    """The bits of an array, of which a NaN has only one."""
    x = np.asarray(x)
    x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x) if x.dtype.kind == "f" else x
    return x.shape, x.dtype, x.tobytes()


@settings(deadline=None, max_examples=60)
@given(graph=graphs())
@pytest.mark.parametrize("simplify", PASSES)
def test_what_is_computed_stays(simplify: Any, graph: Graph) -> None:
    verify(graph)
    before = printed(graph)
    made = simplify(graph)
    verify(made)
    assert printed(graph) == before and len(made.nodes) <= len(graph.nodes)
    interpreter = Interpreter(discovery.backend("cpu"))
    with np.errstate(all="ignore"):
        wanted = interpreter.run(graph, ARRAYS)
        got = interpreter.run(made, ARRAYS)
    assert [bits(x) for x in got] == [bits(x) for x in wanted]


def text_after(simplify: Any, text: str) -> str:
    made = simplify(read(text.strip()))
    verify(made)
    return printed(made)


HEAD = "def graph(x: float32[s0, 2], y: float32[2], i: int64[s0, 2]):\n"


@pytest.mark.parametrize(("lines", "wanted"), [
    (["a: float32[2] = exp(y)", "b: float32[2] = sqrt(a)", "c: float32[2] = abs(y)"],
     ["v0: float32[2] = abs(y)"]),
    (["a: float32[s0, 2] = gather(x, 0, i)", "c: float32[2] = abs(y)"],
     ["v0: float32[s0, 2] = gather(x, 0, i)", "v1: float32[2] = abs(y)"]),
])  # fmt: skip
def test_only_what_nothing_uses_and_nothing_refuses_is_dead(
    lines: list[str], wanted: list[str]
) -> None:
    got = text_after(dead_code_removed, HEAD + "".join(f" {x}\n" for x in lines) + " return c")
    assert got.splitlines()[1:-1] == [f"    {line}" for line in wanted]


@pytest.mark.parametrize(("lines", "count"), [
    (["a: float32[2] = mul(y, 0.0)", "b: float32[2] = mul(y, -0.0)"], 3),
    (["a: float32[2] = mul(y, 2.0)", "b: float32[2] = mul(y, 2.0)"], 2),
    (["a: float32[2] = where(m, y, 1.0)", "b: float32[2] = where(m, y, True)"], 3),
])  # fmt: skip
def test_constants_that_only_look_alike_are_told_apart(lines: list[str], count: int) -> None:
    text = "def graph(y: float32[2], m: bool[2]):\n" + "".join(f" {x}\n" for x in lines)
    got = text_after(subexpressions_merged, text + " c: float32[2] = add(a, b)\n return c")
    assert got.count(" = ") == count


def test_results_stay_arrays_of_their_own() -> None:
    text = """def graph(x: float32[2]):
    v0: float32[2] = mul(x, 1.0)
    v1: float32[2] = exp(x)
    v2: float32[2] = exp(x)
    v3: float32[2] = add(v0, v1)
    return v0, v1, v2, v3"""
    assert text_after(simplified, text) == text


def test_bodies_and_blocks_are_gone_through_too() -> None:
    text = """def graph(x: float32[2], c: bool[()]):
    v0: float32[2] = exp(x)
    def b0(v1: float32[2]):
        v2: float32[2] = exp(v1)
        v3: float32[2] = exp(v1)
        v4: float32[2] = add(v2, v3)
        v5: float32[2] = abs(v4)
        return v4
    v6: float32[2] = twice(x, body=b0)
    def b1():
        v7: float32[2] = exp(x)
        v8: float32[2] = add(v7, v6)
        return v8
    def b2():
        return x
    v9: float32[2] = if_(c, blocks=(b1, b2))
    v10: float32[2] = add(v9, v0)
    return v10"""
    got = text_after(simplified, text)
    assert got.count("exp(") == 2 and "abs" not in got


@pytest.mark.parametrize(("line", "wanted"), [
    ("a: float32[()] = add(0.1, 0.2)", "0.30000001192092896"),
    ("a: float32[()] = div(1.0, 0.0)", "inf"),
    ("a: int64[()] = mul(9223372036854775807, 2)", "-2"),
    ("a: float32[()] = exp(1.0)", "v0"),
    ("a: float32[2] = cast(f, float32)", "v0"),
])  # fmt: skip
def test_numbers_are_computed_in_the_dtype(line: str, wanted: str) -> None:
    d = "int64" if "int64[" in line else "float32"
    text = f"def graph(x: {d}[2], f: bool[2]):\n {line}\n b: {d}[2] = maximum(x, a)\n return b"
    assert f"maximum(x, {wanted})" in text_after(constants_folded, text)
