"""What graphs hold and let go."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus as tb


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Only reference counts free memory here."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _dies(make: Any) -> bool:
    return make()() is None


def test_graphs_hold_no_cycle(no_gc: None) -> None:
    x = tb.ones(3, requires_grad=True)

    def plain() -> Any:
        return weakref.ref((x.exp() * x).sum().grad_fn)

    def after_backward() -> Any:
        y = (x.exp().softmax(0) * x).sum()
        y.backward()
        return weakref.ref(y.grad_fn)

    def in_place() -> Any:
        y = x * 2
        y.mul_(x)
        y[0] = 1.0
        return weakref.ref(y.grad_fn)

    def view() -> Any:
        y = (x * 2).view(3, 1)
        y.add_(1)
        return weakref.ref(y.grad_fn)

    def hooked() -> Any:
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        y.sum().backward()
        return weakref.ref(y)

    def function() -> Any:
        class Keep(tb.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                y = x.exp()
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * ctx.saved_tensors[1]

        return weakref.ref(Keep.apply(x).grad_fn)

    def second_order() -> Any:
        (g,) = tb.autograd.grad((x**3).sum(), x, create_graph=True)
        return weakref.ref(g.grad_fn)

    for make in (plain, after_backward, in_place, view, hooked, function, second_order):
        assert _dies(make), make.__name__


def test_errors_hold_no_graph(no_gc: None) -> None:
    x = tb.ones(3, requires_grad=True)

    def shapes() -> Any:
        y = x * 2
        ref = weakref.ref(y.grad_fn)
        with pytest.raises(RuntimeError):
            y + tb.ones(4)
        with pytest.raises(RuntimeError):
            y @ tb.ones(4, 4)
        with pytest.raises(IndexError):
            y[7]
        return ref

    def version() -> Any:
        y = x.exp()
        ref = weakref.ref(y.grad_fn)
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        return ref

    assert _dies(shapes)
    assert _dies(version)


def test_a_training_loop_does_not_grow(no_gc: None) -> None:
    import tracemalloc

    tb.manual_seed(0)
    net = tb.nn.Sequential(tb.nn.Linear(20, 30), tb.nn.ReLU(), tb.nn.Linear(30, 3))
    optimizer = tb.optim.Adam(net.parameters())
    x, y = tb.rand(16, 20), tb.randint(0, 3, (16,))

    def step() -> None:
        optimizer.zero_grad()
        tb.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    def in_use() -> int:
        # Adam's factors change with each step, and some hundred constants of a kind are kept.
        x._k.consts.clear()
        return tracemalloc.get_traced_memory()[0]

    for _ in range(20):
        step()
    tracemalloc.start()
    step()
    before = in_use()
    for _ in range(400):
        step()
    after = in_use()
    tracemalloc.stop()
    # One small tensor kept in each step would be 100 kB and more.
    assert after - before < 20_000


def test_a_fresh_gradient_is_taken_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    kind = tb.ones(1)._k
    clone = kind.clone
    monkeypatch.setattr(kind, "clone", lambda x: copies.append(x.shape) or clone(x))
    w = tb.ones(3, 4, requires_grad=True)
    (tb.ones(2, 3) @ w).sum().backward()
    assert w.grad.tolist() == [[2.0] * 4] * 3
    assert (3, 4) not in copies
    x, y = tb.ones(3, 4, requires_grad=True), tb.ones(3, 4, requires_grad=True)
    (x + y).backward(tb.full((3, 4), 5.0))
    assert copies.count((3, 4)) == 2, "the array that both edges and the caller hold is copied"
