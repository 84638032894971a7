"""``utils.checkpoint``: gradients as without it, memory and calls as promised."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
from tensorbus import nn
from tensorbus.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

BOTH = pytest.mark.parametrize("reentrant", [False, True])


def leaf(*values: float) -> Any:
    return tb.tensor(values, dtype=tb.float64, requires_grad=True)


class Counted:
    """A function that counts its calls, and keeps weak references to what it computed."""

    def __init__(self) -> None:
        self.calls = 0
        self.made: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        y = x.exp()
        z = y.sin()
        self.made = [weakref.ref(y), weakref.ref(z)]
        return (y * z).cos()


def slope(x: float) -> float:
    """The derivative of cos(exp(x) * sin(exp(x))), by hand."""
    e = np.exp(x)
    return float(-np.sin(e * np.sin(e)) * (np.sin(e) + e * np.cos(e)) * e)


@BOTH
def test_gradients_by_a_second_call(reentrant: bool) -> None:
    f, x = Counted(), leaf(0.3, 0.7)
    y = checkpoint(f, x, use_reentrant=reentrant)
    gc.collect()
    assert f.calls == 1
    assert [t() for t in f.made] == [None, None]
    y.sum().backward()
    assert f.calls == 2
    np.testing.assert_allclose(x.grad.numpy(), [slope(0.3), slope(0.7)], rtol=1e-12)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


@BOTH
def test_each_pass_computes_again(reentrant: bool) -> None:
    f, x = Counted(), leaf(0.3)
    y = checkpoint(f, x, use_reentrant=reentrant)
    y.backward(retain_graph=True)
    y.backward()
    assert f.calls == 3
    np.testing.assert_allclose(x.grad.numpy(), [2 * slope(0.3)], rtol=1e-12)


@BOTH
def test_random_numbers_are_drawn_again(reentrant: bool) -> None:
    x = tb.ones(1000, requires_grad=True)
    tb.manual_seed(3)
    y = checkpoint(lambda x: nn.functional.dropout(x * 2, 0.5), x, use_reentrant=reentrant)
    after = tb.rand(3).tolist()
    tb.manual_seed(4)
    expected = tb.rand(3).tolist()
    tb.manual_seed(4)
    y.sum().backward()
    assert tb.rand(3).tolist() == expected
    assert x.grad.tolist() == y.detach().tolist()
    tb.manual_seed(3)
    nn.functional.dropout(x * 2, 0.5)
    assert tb.rand(3).tolist() == after


@BOTH
def test_the_state_of_the_generator_may_go(reentrant: bool) -> None:
    x = tb.ones(1000, requires_grad=True)
    y = checkpoint(
        lambda x: nn.functional.dropout(x, 0.5),
        x,
        use_reentrant=reentrant,
        preserve_rng_state=False,
    )
    y.sum().backward()
    assert x.grad.tolist() != y.detach().tolist()


@BOTH
def test_modules_arguments_and_several_results(reentrant: bool) -> None:
    tb.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    x = tb.rand(5, 3, requires_grad=True)

    def f(scale: float, x: Any, name: str, other: Any) -> Any:
        assert name == "name"
        y = net(x)
        return y * scale, other + 1, "text", (x * 3).sum()

    def gradients(run: Any) -> list[Any]:
        net.zero_grad()
        x.grad = None
        a, b, text, c = run(2.0, x, "name", tb.ones(2))
        assert (text, b.tolist()) == ("text", [2.0, 2.0])
        (a.square().sum() + c).backward()
        return [p.grad.tolist() for p in (*net.parameters(), x)]

    expected = gradients(f)
    assert gradients(lambda *args: checkpoint(f, *args, use_reentrant=reentrant)) == expected


def test_what_the_recommended_variant_can() -> None:
    w = leaf(2.0)

    def f(pair: Any, *, power: int) -> Any:
        return {"made": (pair[0] * w).exp() ** power}

    made = checkpoint(f, [tb.ones(1), 3], use_reentrant=False, power=3)["made"]
    (g,) = tb.autograd.grad(made, w, create_graph=True)  # no argument requires gradients
    assert g.item() == pytest.approx(3 * np.exp(6.0))
    assert tb.autograd.grad(g, w)[0].item() == pytest.approx(9 * np.exp(6.0))
    x = leaf(0.5)
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=False)
    y.backward(inputs=[x])
    assert x.grad.item() == pytest.approx(np.exp(0.5))
    with tb.no_grad():
        assert not checkpoint(Counted(), x, use_reentrant=False).requires_grad
    assert checkpoint(lambda x: x is None, None, use_reentrant=False) is True


@pytest.mark.parametrize("stop", [True, False])
def test_early_stop(stop: bool) -> None:
    ended = []

    def f(x: Any) -> Any:
        y = x.exp()
        z = y + 1  # saves nothing
        ended.append(True)
        return z

    with set_checkpoint_early_stop(stop):
        y = checkpoint(f, leaf(1.0), use_reentrant=False)
    y.backward()
    assert len(ended) == (1 if stop else 2)
    y = checkpoint(f, leaf(1.0), use_reentrant=False, early_stop=stop)
    y.backward()
    assert len(ended) == (2 if stop else 4)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_nested(inner: bool, outer: bool) -> None:
    calls: list[str] = []

    def within(x: Any) -> Any:
        calls.append("inner")
        return x.exp().sin()

    def around(x: Any) -> Any:
        calls.append("outer")
        return checkpoint(within, x.exp(), use_reentrant=inner).exp() * x

    x, plain = leaf(0.4), leaf(0.4)
    (plain.exp().exp().sin().exp() * plain).backward()
    checkpoint(around, x, use_reentrant=outer).backward()
    np.testing.assert_allclose(x.grad.numpy(), plain.grad.numpy(), rtol=1e-14)
    assert calls.count("outer") == 2
    assert calls.count("inner") in (2, 3)


def test_nested_deeper_keeps_the_inputs_of_the_outermost_alone() -> None:
    made: list[Any] = []

    def level(n: int, x: Any) -> Any:
        y = x * 1.5
        made.append(weakref.ref(y))
        return checkpoint(level, n - 1, y, use_reentrant=False) if n else y.exp()

    x = leaf(0.1)
    out = checkpoint(level, 3, x, use_reentrant=False)
    assert [t() for t in made] == [None] * 4
    out.backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.5**4 * np.exp(0.1 * 1.5**4)], rtol=1e-12)


def test_threads() -> None:
    f, made = Counted(), []
    leaves = [leaf(0.1 * i) for i in range(4)]

    def work(x: Any) -> None:
        checkpoint(f, x, use_reentrant=False).backward()
        made.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in leaves]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(made) == 4
    for i, x in enumerate(leaves):
        assert x.grad.item() == pytest.approx(slope(0.1 * i))


def test_contexts() -> None:
    log: list[str] = []

    class Named:
        def __init__(self, name: str):
            self.name = name

        def __enter__(self) -> None:
            log.append(f"+{self.name}")

        def __exit__(self, *_: Any) -> None:
            log.append(f"-{self.name}")

    f = Counted()
    y = checkpoint(
        f, leaf(1.0), use_reentrant=False, context_fn=lambda: (Named("first"), Named("again"))
    )
    assert log == ["+first", "-first"]
    y.backward()
    assert log[2:] == ["+again", "-again"]


# -- the rest ----------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_in_a_row(segments: int, reentrant: bool) -> None:
    functions = [tb.exp, tb.sin, tb.exp, tb.cos, tb.tanh]
    x, plain = leaf(0.4, 0.8), leaf(0.4, 0.8)
    y = plain
    for f in functions:
        y = f(y)
    y.sum().backward()
    found = checkpoint_sequential(functions, segments, x, use_reentrant=reentrant)
    found.sum().backward()
    assert found.tolist() == y.tolist()
    np.testing.assert_allclose(x.grad.numpy(), plain.grad.numpy(), rtol=1e-14)


def test_layers_in_a_row() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = tb.ones(1, 2, requires_grad=True)
    (expected,) = tb.autograd.grad(net(x).sum(), x)
    y = checkpoint_sequential(net, 3, x, use_reentrant=False)
    assert tb.autograd.grad(y.sum(), x)[0].tolist() == expected.tolist()
    for segments in (0, 4):
        with pytest.raises(ValueError, match="3 functions make at most 3 segments"):
            checkpoint_sequential(net, segments, x, use_reentrant=False)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint_sequential(net, 1, x, use_reentrant=False, foo=1)
