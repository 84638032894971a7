"""What makes a compiler leave vectors is written another way, or not compiled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tensorbus.graph.reading import read
from tensorbus.plugin import dtype, float32, float64
from tensorbus.plugin.kernel_language import Dialect, graphs
from tensorbus.plugin.kernel_language.expressions import Expressions
from tensorbus.plugin.nest import Apply, Number

LOG1P_OF = """def graph(x: {0}[s0]):
    v0: {0}[s0] = {1}(x)
    v1: {0}[s0] = log1p(v0)
    return v1"""


@pytest.mark.parametrize(
    ("d", "op", "scalar", "compiled"),
    [
        ("float64", "exp", ["log1p"], False),
        ("float32", "exp", ["log1p"], True),  # there are polynomials of float32
        ("float64", "abs", ["log1p"], True),
        ("float64", "exp", ["log1p", "exp"], True),  # neither has vectors
        ("float64", "exp", [], True),
    ],
)
def test_a_function_with_vectors_shares_no_loop_with_one_without(
    d: str, op: str, scalar: list[str], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SimpleNamespace(picks=False)
    monkeypatch.setattr(graphs, "_made", lambda *_, **__: made)
    device: Any = SimpleNamespace(dialect=Dialect("", polynomials=frozenset(scalar)))
    kernel = graphs.compile_graph(device, read(LOG1P_OF.format(d, op)))
    assert (kernel is not None) is compiled


@pytest.mark.parametrize(("d", "text"), [(float32, "SELECT32(c, x, y)"), (float64, "c ? x : y")])
def test_a_choice_between_floats_is_no_branch(d: dtype, text: str) -> None:
    c, x, y = (Number(n, d) for n in range(3))
    expressions = Expressions()
    assert expressions.of(Apply("where", (c, x, y), d), {c: "c", x: "x", y: "y"}) == text
    # Where the language has no better way, it is the choice itself.
    defined = "#define SELECT32(c, x, y) ((c) ? (x) : (y))" in expressions.helpers
    assert defined is (d is float32)
