"""The form in which graphs reach a plugin suffices: an overlay interprets some written by hand."""

from __future__ import annotations

import numpy as np
import pytest
from graph_interpreter import Interpreter

from tensorbus import discovery, plugin
from tensorbus.plugin import Block, Graph, Node, NumberType, TensorType, Value


@pytest.fixture
def overlay() -> Interpreter:
    return Interpreter(discovery.backend("cpu"))


def test_a_composed_op_a_number_and_a_write(overlay: Interpreter) -> None:
    rows = TensorType(plugin.float32, ("n", 4))
    x, kept, a, b, c, half, y = (Value(rows, name) for name in "x kept a b c half y".split())
    scale = Value(NumberType(plugin.float32), "scale")
    body = Block((a,), (Node("mul", (a, 0.5), (b,)), Node("tanh", (b,), (c,))), (c,))
    nodes = (Node("half_tanh", (x,), (half,), body=body), Node("mul", (half, scale), (y,)))
    graph = Graph((x, scale, kept), nodes, (y,), writes=((0, 2),))
    kernel = overlay.compile(graph, 0)
    for n in (2, 3):
        values = np.linspace(-2, 2, 4 * n, dtype=np.float32).reshape(n, 4)
        written = np.zeros_like(values)
        expected = 3 * np.tanh(values.astype(np.float64) / 2)
        np.testing.assert_allclose(kernel(values, 3.0, written), expected, rtol=1e-6)
        np.testing.assert_allclose(written, expected, rtol=1e-6)


def test_a_loop_and_a_branch(overlay: Interpreter) -> None:
    """``while x < 20 (at most *count* times): x = x + x``, and its negative where that is 16."""
    scalar, condition = TensorType(plugin.float32, ()), TensorType(plugin.bool, ())
    x, carried, twice, last, minus, same, y = (Value(scalar) for _ in range(7))
    count, done = (Value(NumberType(plugin.int64)) for _ in range(2))
    go, is_16 = Value(condition), Value(condition)
    step = Block(
        (done, carried),
        (Node("add", (carried, carried), (twice,)), Node("lt", (twice, 20.0), (go,))),
        (go, twice),
    )
    negative = Block((), (Node("mul", (last, -1.0), (minus,)),), (minus,))
    positive = Block((), (Node("abs", (last,), (same,)),), (same,))
    nodes = (
        Node("loop", (count, None, x), (last,), (step,)),
        Node("eq", (last, 16.0), (is_16,)),
        Node("if", (is_16,), (y,), (negative, positive)),
    )
    kernel = overlay.compile(Graph((x, count), nodes, (y,)), 0)
    assert [float(kernel(np.float32(1), n)) for n in (0, 1, 4, 9)] == [1, 2, -16, 32]


def test_a_graph_may_be_declined(overlay: Interpreter) -> None:
    image = Value(TensorType(plugin.float32, (1, "c", "h", "w")))
    graph = Graph((image,), (Node("conv2d", (image,), (image,)),), (image,))
    assert overlay.compile(graph, 0) is None
    assert discovery.offered(overlay.backend, "compile") is None
