"""Hooks that run as soon as a leaf's gradient is complete, and callbacks at the end."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus as tb
from tensorbus.autograd import early


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    assert not early.CALLBACKS


def leaf(*values: float) -> Any:
    return tb.tensor(values, requires_grad=True)


def test_a_hook_runs_before_older_nodes_do() -> None:
    old, new = leaf(2.0), leaf(3.0)
    log: list[Any] = []
    new.register_post_accumulate_grad_hook(lambda t: log.append(("new", t.grad.item())))
    middle = old * 5
    middle.register_hook(lambda g: log.append(("middle", g.item())))
    (middle * new).sum().backward()
    assert log == [("new", 10.0), ("middle", 3.0)]
    assert old.grad.item() == 15.0


def test_a_hook_waits_for_the_last_use() -> None:
    x = leaf(2.0)
    log: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.item()))
    y = x * x
    z = (y * x + y).exp().log() * 3 + x
    z.sum().backward()
    assert log == [pytest.approx(3 * (3 * 4 + 2 * 2) + 1)]


def test_branches_that_no_gradient_reaches_do_not_keep_the_hook_from_running() -> None:
    class Half(tb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    x = leaf(1.0)
    log: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.item()))
    Half.apply(x * 2, x * 100).sum().backward()
    assert log == [2.0]


def test_the_leaf_gets_the_array_itself_where_nobody_else_holds_it() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))
    (x + w).sum().backward()  # one array for both: neither may write into the other's
    seen[0].mul_(7.0)
    assert w.grad.tolist() == [1.0, 1.0]


def test_grad_and_create_graph_give_the_same_as_ever() -> None:
    x = leaf(2.0)
    log: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.item()))
    (g,) = tb.autograd.grad((x**3).sum(), x)
    assert (g.item(), log) == (12.0, [])
    (x**3).sum().backward(create_graph=True)
    assert log == [12.0]
    assert x.grad.requires_grad


def test_dead_leaves_are_forgotten() -> None:
    x = leaf(1.0)
    gc.collect()
    before = len(early.EARLY)
    x.register_post_accumulate_grad_hook(lambda t: None)
    assert len(early.EARLY) == before + 1
    del x
    gc.collect()
    assert len(early.EARLY) == before


def test_callbacks_run_once_when_everything_is_stored() -> None:
    x, y = leaf(1.0), leaf(2.0)
    log: list[Any] = []
    y.register_post_accumulate_grad_hook(
        lambda t: early.queue_callback(lambda: log.append(x.grad.item()))
    )
    (x * 4 * y).sum().backward()
    (x * 4 * y).sum().backward()
    assert log == [8.0, 16.0]


def test_a_callback_may_queue_another() -> None:
    x = leaf(1.0)
    log: list[str] = []

    def first() -> None:
        log.append("first")
        early.queue_callback(lambda: log.append("second"))

    x.register_post_accumulate_grad_hook(lambda t: early.queue_callback(first))
    x.sum().backward()
    assert log == ["first", "second"]


def test_callbacks_of_a_failed_pass_are_dropped_and_threads_have_their_own() -> None:
    x = leaf(1.0)
    log: list[str] = []
    early.queue_callback(lambda: log.append("never"))

    def other() -> None:
        y = leaf(1.0)
        early.queue_callback(lambda: log.append("other"))
        y.sum().backward()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    z = x * 2

    def fail(g: Any) -> None:
        raise OSError("no")

    z.register_hook(fail)
    with pytest.raises(OSError, match="no"):
        z.sum().backward()
    x.sum().backward()
    assert log == ["other"]


def test_a_hook_may_step_its_parameter_and_drop_the_gradient() -> None:
    """Each parameter is updated while backward goes on; no gradient outlives it."""
    tb.manual_seed(0)
    net = tb.nn.Sequential(tb.nn.Linear(3, 4), tb.nn.Tanh(), tb.nn.Linear(4, 4), tb.nn.Linear(4, 1))
    x = tb.randn(5, 3)
    want = [p.detach().clone() for p in net.parameters()]
    held = 0
    for _ in range(3):  # by hand
        with tb.no_grad():
            for p, w in zip(net.parameters(), want, strict=True):
                p.copy_(w)
        net.zero_grad()
        (net(x) ** 2).mean().backward()
        want = [(p - 0.1 * p.grad).detach() for p in net.parameters()]
    tb.manual_seed(0)
    twin = tb.nn.Sequential(
        tb.nn.Linear(3, 4), tb.nn.Tanh(), tb.nn.Linear(4, 4), tb.nn.Linear(4, 1)
    )

    def step(p: Any) -> None:
        nonlocal held
        held = max(held, sum(q.grad is not None for q in twin.parameters()))
        p.sub_(0.1 * p.grad)  # recording is off
        p.grad = None

    for p in twin.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        (twin(x) ** 2).mean().backward()
    assert held == 1
    for p, w in zip(twin.parameters(), want, strict=True):
        assert bool((p == w).all())
