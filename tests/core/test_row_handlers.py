"""Handlers of rows: each call of a row on tensors is seen once, and nothing stays set behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.autograd.test_rules import CASES, SAMPLES
from tests.autograd.test_rules import _arranged as arranged

import tensorbus as tb
from tensorbus._base.modes import RARE, this_thread
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.row_handlers import handling


class Seen:
    """A handler that writes down what it sees."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, row: Any, arguments: tuple[Any, ...], proceed: Any) -> Any:
        self.names.append(row.name)
        self.calls.append(arguments)
        return proceed(row, arguments)


def seen(f: Callable[[], Any]) -> list[str]:
    """What a handler sees of a function's calls; nothing is left set."""
    handler = Seen()
    with handling(handler):
        f()
    assert not this_thread.handlers
    assert not RARE.on
    return handler.names


def values(result: Any) -> list[Any]:
    return [t.detach().numpy().copy() for t in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize(("name", "n"), CASES, ids=[f"{name}-{n}" for name, n in CASES])
def test_each_row_is_seen_once_with_its_arguments(name: str, n: int) -> None:
    leaves, operands, function = arranged(SAMPLES[name][n])
    with tb.no_grad():
        plain = values(function(name)(*leaves))
    for recording in (True, False):
        handler = Seen()
        with handling(handler), tb.set_grad_enabled(recording):
            given = operands(leaves)
            result = core(name)(*given)
        assert handler.names == [name]
        assert all(a is b for a, b in zip(handler.calls[0], given, strict=True))
        for a, b in zip(values(result), plain, strict=True):
            np.testing.assert_array_equal(a, b)


x = tb.arange(6.0).reshape(2, 3)
whole = tb.arange(6).reshape(2, 3)


def _in_place(name: str, *arguments: Any) -> Callable[[], Any]:
    return lambda: getattr(tb.ones(2, 3), name)(*arguments)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: x + x, ["add"]),
        (lambda: x + 1, ["add"]),
        (lambda: 1 - x, ["sub"]),
        (lambda: x * whole, ["mul"]),
        (lambda: whole / 2, ["div"]),
        (lambda: whole.exp(), ["exp"]),
        (lambda: x[0], ["select"]),
        (lambda: x[:, 1], ["select"]),
        (lambda: x[1:], ["leading"]),
        (lambda: x[1, 1:], ["select", "slice"]),
        (lambda: x[None], ["unsqueeze"]),
        (lambda: x.T, ["permute"]),
        (lambda: x.view(3, 2), ["view"]),
        (lambda: x.double(), ["to"]),
        (lambda: x.detach(), ["detach"]),
        (lambda: tb.cat([x, x]), ["concatenate"]),
        (lambda: tb.linalg.qr(x), ["linalg_qr"]),
        (lambda: tb.ones(2, 3), []),
        (_in_place("add_", x), ["add", "copy_"]),
        (_in_place("mul_", 2), ["mul", "copy_"]),
        (_in_place("relu_"), ["relu", "copy_"]),
        (_in_place("zero_"), ["copy_"]),
        (_in_place("copy_", x), ["copy_"]),
        (_in_place("fill_", 2), ["copy_"]),
        (_in_place("normal_"), ["draw"]),
        (_in_place("t_"), ["permute", "become"]),
        (_in_place("index_fill_", 0, tb.tensor([1]), 2.0), ["put"]),
        (
            _in_place("scatter_", 0, tb.tensor([[1]]), 2.0),
            ["unsqueeze"] * 2 + ["scatter_set", "copy_"],
        ),
        (_in_place("__setitem__", 0, 7), ["select", "copy_"]),
        (_in_place("__setitem__", 0, x[1]), ["select", "copy_"]),
        (_in_place("__iadd__", whole), ["add", "copy_"]),
        (lambda: tb.add(x, x, out=tb.empty(2, 3)), ["add", "copy_"]),
    ],
)
def test_what_programs_write_is_seen(call: Callable[[], Any], names: list[str]) -> None:
    assert [n for n in seen(call) if n != "expand"] == names


def test_a_recorded_write_keeps_what_backward_needs() -> None:
    a = tb.tensor([2.0, 3.0], requires_grad=True)

    def f() -> None:
        b = a * 1
        c = b.exp()
        b.sin_()
        (g,) = tb.autograd.grad((b + c).sum(), a)
        np.testing.assert_allclose(g.numpy(), np.cos([2, 3]) + np.exp([2, 3]), rtol=1e-6)

    names = seen(f)
    assert names == ["mul", "exp", "clone", "sin", "copy_", "add", "sum"]


def test_rules_are_seen_where_they_run_on_tensors() -> None:
    a = tb.tensor([2.0, 3.0], requires_grad=True)

    def f(create_graph: bool) -> Callable[[], Any]:
        return lambda: tb.autograd.grad((a * a).sum(), a, create_graph=create_graph)

    assert seen(f(False)) == ["mul", "sum"]
    beside = seen(f(True))
    assert beside[:2] == ["mul", "sum"]
    assert beside.count("mul") == 3, beside


def test_handlers_go_from_the_innermost_to_the_op() -> None:
    log: list[Any] = []

    def handler(name: str) -> Any:
        def handle(row: Any, arguments: Any, proceed: Any) -> Any:
            log.append((name, row.name, len(this_thread.handlers)))
            tb.neg(arguments[0])  # seen by the handlers around this one
            result = proceed(row, arguments)
            log.append((name, "done", len(this_thread.handlers)))
            return result

        return handle

    with handling(handler("outer")), handling(handler("inner")):
        y = x.exp()
        assert len(this_thread.handlers) == 2
    np.testing.assert_array_equal(y.numpy(), np.exp(np.arange(6, dtype=np.float32).reshape(2, 3)))
    assert log == [
        ("inner", "exp", 1),
        ("outer", "neg", 0),
        ("outer", "done", 0),
        ("outer", "exp", 0),
        ("outer", "done", 0),
        ("inner", "done", 1),
    ]


def test_a_handler_answers_for_the_op_or_changes_it() -> None:
    def handle(row: Any, arguments: Any, proceed: Any) -> Any:
        if row.name == "exp":
            return "answer"
        return proceed(core("mul").__globals__["ROW"], arguments)

    with handling(handle):
        assert x.exp() == "answer"
        y = x + 3
    assert y.tolist() == (x * 3).tolist()


def test_a_handler_that_raises_leaves_all_as_it_was() -> None:
    def handle(row: Any, arguments: Any, proceed: Any) -> Any:
        raise KeyError(row.name)

    outer = Seen()
    with handling(outer):
        with handling(handle):
            before = this_thread.handlers
            with pytest.raises(KeyError, match="exp"):
                x.exp()
            assert this_thread.handlers is before
            with pytest.raises(KeyError, match="add"):
                x + 1
        assert this_thread.handlers == (outer,)
        with pytest.raises(RuntimeError, match="The size of tensor"):
            x + tb.ones(4)
        assert this_thread.handlers == (outer,)
    assert not RARE.on
    assert outer.names == ["add"]


def test_a_block_left_after_its_handler_returned_counts_right() -> None:
    kept: list[Any] = []

    def handle(row: Any, arguments: Any, proceed: Any) -> Any:
        block = handling(Seen())
        block.__enter__()
        kept.append(block)
        return proceed(row, arguments)

    with handling(handle):
        x.exp()
        kept.pop().__exit__(None, None, None)
    assert not RARE.on
    assert RARE.active == 0


def test_other_threads_are_not_seen() -> None:
    names: list[str] = []

    def run() -> None:
        names.extend(seen_here(lambda: x * 2))

    def seen_here(f: Callable[[], Any]) -> list[str]:
        handler = Seen()
        with handling(handler):
            f()
        return handler.names

    handler = Seen()
    with handling(handler):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(60)
        assert RARE.on
        x.exp()
    assert handler.names == ["exp"]
    assert names == ["mul"]
    assert not RARE.on


def test_beside_inference_mode_and_hooks() -> None:
    handler = Seen()
    with tb.inference_mode(), handling(handler):
        y = x * 2
        z = x.view(3, 2)
    assert y.is_inference()
    assert handler.names == ["mul", "view"]
    assert z._is_view()
    with tb.inference_mode():
        assert (1 - y).tolist() == [[1.0, -1.0, -3.0], [-5.0, -7.0, -9.0]]
    packed: list[Any] = []
    a = tb.ones(2, requires_grad=True)
    with (
        tb.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t),
        handling(handler),
    ):
        b = a * a
    b.sum().backward()
    assert a.grad is not None
    assert a.grad.tolist() == [2.0, 2.0]
    assert len(packed) == 2
