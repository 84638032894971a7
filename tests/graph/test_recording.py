"""Compositions become graphs that mean the same, print, and are read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_interpreter import Interpreter

import tensorbus as torch
from tensorbus import discovery
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus.graph.printing import printed
from tensorbus.graph.reading import read
from tensorbus.graph.recording import Unrecordable, array_of, record, recording_device
from tensorbus.graph.sizes import generalised
from tensorbus.graph.verifying import verify
from tensorbus.plugin import Graph, TensorType, Value
from tensorbus.rows.registry import ROWS

PARAMETERS: dict[str, tuple[Any, ...]] = {
    "softmax": (1,), "softmax_backward": (1,), "log_softmax": (1,), "log_softmax_backward": (1,),
    "hardtanh": (-1.0, 1.0), "hardshrink": (0.5,), "softshrink": (0.5,), "leaky_relu": (0.1,),
    "elu": (1.0, 1.0, 1.0), "softplus": (1.0, 20.0), "threshold": (0.1, 2.0),
    "smooth_l1": (1.0,), "bce_logits": (), "nan_to_num": (0.0, 1.0, -1.0),
    "mean": ((1,),), "var": ((1,), 1), "std": ((1,), 1), "logsumexp": ((1,),),
}  # fmt: skip
SKIPPED = frozenset("polygamma zeta igamma igammac".split())
"""What is composed of more ops than a graph may have."""
OF_BITS = frozenset("copysign nextafter signbit".split())
"""What is composed of views of floats as integers, which no graph has."""


def pointwise_rows() -> list[str]:
    plain = [r.name for r in ROWS.values() if r.composite and r.form in ("unary", "binary")
             and len(r.arguments) == len(r.tensors) and r.domain not in ("complex", "integer",
             "integral")]  # fmt: skip
    return sorted({*plain, *PARAMETERS} - SKIPPED - OF_BITS)


@pytest.fixture
def kind() -> Kind:
    return kind_of(torch.device("cpu"), torch.float32)


def graph_of(kind: Kind, name: str, shapes: list[tuple[Any, ...]], *parameters: Any) -> Any:
    """The graph of a row's composition on arrays of shapes with symbols, and its size terms."""
    row = ROWS[name]
    symbols = sorted({n for shape in shapes for n in shape if isinstance(n, str)})

    def record_at(sizes: tuple[int, ...]) -> Any:
        here = recording_device(kind).kind(kind.dtype)
        at = dict(zip(symbols, sizes, strict=True))
        inputs = [Value(TensorType(kind.dtype, tuple(at.get(n, n) for n in s))) for s in shapes]
        compose = row.composite
        return record(lambda: compose(here, *map(array_of, inputs), *parameters), inputs)

    return generalised(record_at, len(symbols))


@pytest.mark.parametrize("name", pointwise_rows())
def test_each_row_becomes_a_graph_that_computes_the_same(kind: Kind, name: str) -> None:
    row = ROWS[name]
    operands = len(row.tensors)
    try:
        graph, terms = graph_of(kind, name, [("s0", "s1")] * operands, *PARAMETERS.get(name, ()))
    except Unrecordable as reason:
        pytest.fail(f"{name}: {reason}")
    verify(graph)
    text = printed(graph)
    assert printed(read(text)) == text
    verify(read(text))
    kernel = Interpreter(discovery.backend("cpu")).compile(read(text), 0)
    rng = np.random.default_rng(0)
    for shape in ((3, 5), (4, 4)):
        arrays = [rng.uniform(0.1, 0.9, shape).astype("float32") for _ in range(operands)]
        numbers = [term.at(shape) for term in terms]
        with np.errstate(all="ignore"):
            got = kernel(*arrays, *numbers)
            wanted = getattr(kind, name)(*arrays, *PARAMETERS.get(name, ()))
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=2e-6, atol=1e-6)


def test_a_size_among_the_numbers_becomes_an_input(kind: Kind) -> None:
    graph, (term,) = graph_of(kind, "mean", [("s0", "s1", 4)], (1, 2))
    assert str(term) == "4*s1" and term.at((3, 5)) == 20
    assert graph.inputs[-1].name == "4*s1"
    assert "float32[s0, s1, 4]" in printed(graph)


def test_a_size_that_no_input_has_is_a_number_of_its_name(kind: Kind) -> None:
    def record_at(sizes: tuple[int, ...]) -> Any:
        here = recording_device(kind).kind(kind.dtype)
        x = Value(TensorType(kind.dtype, (sizes[0], 1)), "x")
        return record(lambda: here.exp(here.expand(array_of(x), sizes)), [x])

    graph, terms = generalised(record_at, 2)
    verify(graph)
    text = printed(graph)
    assert "def graph(x: float32[s0, 1], s1: int64):" in text and "expand(x, (s0, s1))" in text
    again = read(text)
    assert printed(again) == text and again.nodes[0].args[1] == ("s0", "s1")
    assert [term.at((3, 5)) for term in terms] == [5]
    x = np.array([[1], [2], [3]], "float32")
    (got,) = Interpreter(discovery.backend("cpu")).run(again, [x, 5])
    np.testing.assert_array_equal(got, np.exp(np.repeat(x, 5, 1)))


def test_what_reads_values_or_writes_parts_is_refused(kind: Kind) -> None:
    x = Value(TensorType(torch.float32, (3,)))
    here = recording_device(kind).kind(torch.float32)
    for run in (
        lambda a: here.to_host(a),
        lambda a: here.copy_(here.slice(a, 0, 0, 1, 1), 1.0),
        lambda a: here.as_strided(a, (1,), (1,), 0),
        lambda a: 2.0,
        lambda a: here.empty((3,)),
        lambda a: [here.neg(a) for _ in range(1100)][-1],
    ):
        with pytest.raises(Unrecordable):
            record(lambda run=run: run(array_of(x)), [x])
    with pytest.raises(Unrecordable, match="sizes decide"):
        generalised(lambda sizes: _branching(here, sizes), 1)


def _branching(here: Any, sizes: tuple[int, ...]) -> Any:
    """A composition that goes another way for large sizes."""
    x = Value(TensorType(torch.float32, sizes))
    return record(lambda: here.exp(array_of(x)) if sizes[0] > 200 else array_of(x), [x])


def test_names_that_python_keeps_and_lone_results_are_read_as_they_were_printed() -> None:
    text = """def graph(x: float32[2], c: bool[()], n: int64):
    def b0(v0: float32[2]):
        v1: float32[2] = exp(v0)
        return v1
    v2: float32[2] = lambda_(x, body=b0)
    def b1():
        return v2
    def b2():
        return x
    v3: float32[2] = if_(c, blocks=(b1, b2))
    def b3(v4: int64, v5: float32[2]):
        v6: float32[2] = abs(v5)
        return c, v6
    v7: float32[2] = loop(n, None, v3, blocks=(b3,))
    return v7"""
    graph = read(text)
    verify(graph)
    assert [node.op for node in graph.nodes] == ["lambda", "if", "loop"]
    assert printed(graph) == text


def test_a_text_that_is_no_graph_is_refused_with_its_line() -> None:
    for text, reason in {
        "x = 1": "a function",
        "def graph(x): return x": "no type",
        "def graph(x: float33[2]):\n    return x": "float33",
        "def graph(x: float32[2]):\n    v0: float32[2] = exp(y)\n    return v0": "line 2.*y is not",
        "def graph(x: float32[2]):\n v: float32[2] = exp(x, f())\n return v": "no constant",
        "def graph(x: float32[2]):\n    print(x)\n    return x": "line 2",
        "def graph(": "no graph",
    }.items():
        with pytest.raises(ValueError, match=reason):
            read(text)


def _graph(text: str) -> Graph:
    return read(text)


@pytest.mark.parametrize(("text", "reason"), [
    ("def graph(x: float32[2], y: float32[3]):\n v: float32[2] = add(x, y)\n return v", "size"),
    ("def graph(x: float32[s0], y: float32[s1]):\n v: float32[s0] = add(x, y)\n return v", "size"),
    ("def graph(x: float32[2], y: int64[2]):\n v: float32[2] = add(x, y)\n return v", "int64"),
    ("def graph(x: float32[2]):\n v: float32[2] = gelu(x)\n return v", "no body"),
    ("def graph(x: float32[2]):\n v: float32[2] = exp(x, x)\n return v", "2 arguments"),
    ("def graph(x: float32[2]):\n v: int64[2] = exp(x)\n return v", "int64"),
    ("def graph(x: float32[2]):\n v: int64[2] = cast(x, int32)\n return v", "int32"),
    ("def graph(x: float32[2, 3]):\n v: float32[2, 1] = sum(x, (1,), float32)\n return v",
     "other sizes"),
])  # fmt: skip
def test_a_graph_that_breaks_a_rule_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        verify(_graph(text))


def test_numbers_are_compared_when_they_are_recorded(kind: Kind) -> None:
    """No node compares numbers alone: its dtype would be that of truth values."""
    x = Value(TensorType(kind.dtype, (3,)), "x")
    here = recording_device(kind).kind(kind.dtype)

    def run() -> Any:
        small = here.le(here.full((), 0.5), -1.0)
        return here.where(here.bool.bitwise_and(here.eq(array_of(x), 0.0), small), 0.0, array_of(x))

    block = record(run, [x])
    text = printed(Graph(block.inputs, block.nodes, block.outputs))
    assert "le(" not in text and "bitwise_and(v0, False)" in text
