"""Hooks for saved tensors: what they are called with, when, and that gradients stay the same."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest
from tests.autograd.test_rules import CASES, SAMPLES
from tests.autograd.test_rules import _arranged as arranged

import tensorbus as tb
from tensorbus.autograd.graph import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)


def leaf(*values: float) -> Any:
    return tb.tensor(values, dtype=tb.float64, requires_grad=True)


class Log:
    """Hooks that copy, and write down what they were called with.

    Copies have the strides of the saved tensor, since products sum in another order with others.
    """

    def __init__(self) -> None:
        self.packed: list[tuple[bool, bool, tuple[int, ...]]] = []
        self.unpacked: list[bool] = []

    def pack(self, t: Any) -> Any:
        self.packed.append((t.requires_grad, tb.is_grad_enabled(), tuple(t.shape)))
        return t.detach().numpy().copy(order="K")

    def unpack(self, kept: Any) -> Any:
        self.unpacked.append(tb.is_grad_enabled())
        return tb.from_numpy(kept)


def both_orders(f: Any, leaves: list[Any]) -> list[Any]:
    """Gradients of ``(f * c).sum()``, and of the sum of their squares."""
    out = f(*leaves)
    total: Any = 0.0
    for result in out if isinstance(out, tuple) else (out,):
        c = tb.tensor(np.cos(np.arange(result.numel())).reshape(tuple(result.shape)))
        part = (result * c).sum()
        total = total + (part.real if part.is_complex() else part)
    if not total.requires_grad:
        return []
    first = tb.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    there = [g for g in first if g is not None and g.requires_grad]
    second: Any = ()
    if there:
        total = sum((g * g.conj()).real.sum() if g.is_complex() else (g * g).sum() for g in there)
        second = tb.autograd.grad(total, leaves, allow_unused=True)
    return [None if g is None else g.detach().numpy().copy() for g in (*first, *second)]


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_rules_read_what_hooks_unpacked(name: str) -> None:
    for sample in SAMPLES[name]:
        leaves, _, function = arranged(sample)
        expected = both_orders(function(name), leaves)
        log = Log()
        with saved_tensors_hooks(log.pack, log.unpack):
            found = both_orders(function(name), leaves)
        assert len(log.unpacked) <= 2 * len(log.packed)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(a, b)


def test_each_is_unpacked_once_in_a_pass() -> None:
    x = leaf(2.0, 3.0)
    log = Log()
    with saved_tensors_hooks(log.pack, log.unpack):
        y = x / x.exp()  # exp keeps its result; both gradients of the division read the divisor
    assert log.packed == [(True, False, (2,))] * 3
    y.sum().backward()
    assert log.unpacked == [False] * 3
    np.testing.assert_allclose(x.grad.numpy(), (1 - np.array([2.0, 3])) * np.exp([-2.0, -3]))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_what_is_unpacked_is_read() -> None:
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        y = x * x
        z = x.exp()
    assert tb.autograd.grad(y, x)[0].item() == 40.0
    assert tb.autograd.grad(z, x)[0].item() == pytest.approx(10 * np.exp(2.0))


def test_history_comes_back_with_the_values() -> None:
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x * x) * (x * x)
    (g,) = tb.autograd.grad(y, x, create_graph=True)
    (gg,) = tb.autograd.grad(g, x, create_graph=True)
    (ggg,) = tb.autograd.grad(gg, x)
    assert (g.item(), gg.item(), ggg.item()) == (32.0, 48.0, 48.0)


def test_the_innermost_alone() -> None:
    outer, inner, x = Log(), Log(), leaf(1.0)
    with saved_tensors_hooks(outer.pack, outer.unpack):
        with saved_tensors_hooks(inner.pack, inner.unpack):
            x.exp()
        assert (len(outer.packed), len(inner.packed)) == (0, 1)
        x.exp()
    assert (len(outer.packed), len(inner.packed)) == (1, 1)
    x.exp()
    assert (len(outer.packed), len(inner.packed)) == (1, 1)


def test_an_error_leaves_none() -> None:
    x = leaf(1.0)

    def refuse(t: Any) -> Any:
        raise LookupError("no room")

    hooks = saved_tensors_hooks(refuse, refuse)
    for _ in range(2):
        with pytest.raises(LookupError), hooks:
            x.exp()
    assert tb.autograd.grad(x.exp(), x)[0].item() == pytest.approx(np.e)
    with saved_tensors_hooks(lambda t: t, refuse):
        y = x.exp()
    with pytest.raises(LookupError):
        y.backward()
    assert x.grad is None


def test_a_thread_has_its_own() -> None:
    log, x, made = Log(), leaf(1.0), []
    with saved_tensors_hooks(log.pack, log.unpack):
        thread = threading.Thread(target=lambda: made.append(x.exp() * 2))
        thread.start()
        thread.join(60)
    assert not log.packed
    assert tb.autograd.grad(made[0], x)[0].item() == pytest.approx(2 * np.e)


def test_threads_walk_one_graph() -> None:
    x, log = leaf(0.3, 0.7), Log()
    with saved_tensors_hooks(log.pack, log.unpack):
        y = (x.exp() * x).sin().sum()
    found: list[Any] = []

    def work() -> None:
        for _ in range(20):
            found.append(tb.autograd.grad(y, x, retain_graph=True)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    v = np.array([0.3, 0.7])
    expected = np.cos(np.exp(v) * v) * np.exp(v) * (1 + v)
    np.testing.assert_allclose(found, np.broadcast_to(expected, (80, 2)), rtol=1e-12)
    assert len(log.unpacked) == 80 * len(log.packed)


def test_in_place_forms_views_and_indices() -> None:
    x = leaf(0.5, 1.0, 1.5, 2.0)

    def f(x: Any) -> Any:
        y = x * 2
        y = y.sigmoid_() * 1
        y[1:3].mul_(y[:2].clone())
        y[tb.tensor([0, 3])] = x[tb.tensor([1, 2])].exp()
        y.masked_fill_(x > 1.9, 0.5)
        return tb.cat([y.view(2, 2).T, x.view(2, 2) @ x.view(2, 2)])

    expected, log = both_orders(f, [x]), Log()
    with saved_tensors_hooks(log.pack, log.unpack):
        found = both_orders(f, [x])
    assert log.packed
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


class Scaled(tb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        out = x.exp() * y
        ctx.save_for_backward(x, None, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, none, out = ctx.saved_tensors
        assert none is None
        return g * out, g * x.exp()


def test_functions_honour_them() -> None:
    x, y, log = leaf(0.5), leaf(3.0), Log()
    expected = both_orders(Scaled.apply, [x, y])
    with saved_tensors_hooks(log.pack, log.unpack):
        out = Scaled.apply(x, y)
    assert log.packed == [(True, False, (1,))] * 2
    assert [t is None or t.item() for t in out.grad_fn.saved_tensors] == [0.5, True, out.item()]
    with saved_tensors_hooks(log.pack, log.unpack):
        assert both_orders(Scaled.apply, [x, y]) == expected


@pytest.mark.parametrize(
    ("pack", "unpack", "error", "text"),
    [
        (lambda t: t, lambda t: 5, TypeError, "expected to be a Tensor but got .* type int"),
        (lambda t: t.detach().add_(1), lambda t: t, RuntimeError, "modifying its input in place"),
        (1, 2, TypeError, "pack_hook must be callable, not int"),
        (lambda t: t, None, TypeError, "unpack_hook must be callable, not NoneType"),
        (lambda t: t, lambda t: tb.ones(3), RuntimeError, "expanded size of the tensor .2. must"),
    ],
)
def test_refusals(pack: Any, unpack: Any, error: type, text: str) -> None:
    x = leaf(2.0, 3.0)
    with pytest.raises(error, match=text):
        with saved_tensors_hooks(pack, unpack):
            y = x * x
        y.sum().backward()


def test_values_of_another_dtype_are_converted() -> None:
    x = leaf(2.0, 3.0)
    with saved_tensors_hooks(lambda t: t.float(), lambda t: t):
        y = x * x
    (g,) = tb.autograd.grad(y.sum(), x)
    assert g.dtype is tb.float64
    assert g.tolist() == [4.0, 6.0]


def test_hooks_may_be_refused() -> None:
    x = leaf(1.0)
    with disable_saved_tensors_hooks("none here"):
        with pytest.raises(RuntimeError, match="none here"), save_on_cpu():
            pass
        assert x.exp().grad_fn is not None
    with save_on_cpu(), pytest.raises(RuntimeError, match="none here"):
        disable_saved_tensors_hooks("none here").__enter__()
    with save_on_cpu():
        y = x.exp()
    y.backward()
    assert x.grad.item() == pytest.approx(np.e)


def test_what_hooks_keep_is_freed_with_the_graph() -> None:
    kept: list[Any] = []

    def pack(t: Any) -> Any:
        copy = t.detach().clone()
        kept.append(weakref.ref(copy))
        return copy

    x = leaf(1.0)
    with saved_tensors_hooks(pack, lambda t: t):
        y = x.exp() * x
    y.backward()
    assert [t() for t in kept] == [None] * 3


def test_nothing_is_packed_where_nothing_records() -> None:
    log, x = Log(), leaf(1.0)
    with saved_tensors_hooks(log.pack, log.unpack):
        with tb.no_grad():
            x.exp()
        with tb.inference_mode():
            assert x.exp().is_inference()
        tb.ones(2).exp()
    assert not log.packed


# -- what nodes show ---------------------------------------------------------------------------
def test_nodes_show_what_they_saved() -> None:
    x, y = leaf(2.0), leaf(3.0)
    product, grown, total = x * y, x.exp(), (x * y).sum(0)
    assert product.grad_fn._saved_self is x
    assert product.grad_fn._saved_other is y
    assert grown.grad_fn._saved_result.tolist() == grown.tolist()
    assert grown.grad_fn._saved_result.grad_fn is grown.grad_fn
    assert "_saved_self" in dir(product.grad_fn)
    assert "_raw_saved_result" in dir(grown.grad_fn)
    with pytest.raises(AttributeError, match="has no attribute '_saved_self'"):
        _ = total.grad_fn._saved_self
    product.backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after"):
        _ = product.grad_fn._saved_self
    grown.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _ = grown.grad_fn._saved_result


def test_hooks_for_one_saved_tensor() -> None:
    x, y = leaf(2.0), leaf(3.0)
    out = x * y
    saved = out.grad_fn._raw_saved_self
    assert saved.unpack_hook is None
    assert saved.data is x
    saved.register_hooks(lambda t: t.item(), lambda n: tb.tensor([n * 10], dtype=tb.float64))
    assert saved.data == 2.0
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    assert out.grad_fn._saved_self.item() == 20.0
    assert [g.item() for g in tb.autograd.grad(out, [x, y])] == [3.0, 20.0]
    with pytest.raises(RuntimeError, match="after it has been freed"):
        saved.register_hooks(lambda t: t, lambda t: t)


def test_what_has_no_hooks_beside_one_that_has_is_checked() -> None:
    x, y = leaf(2.0), leaf(3.0)
    a, b = x * 1, y * 1
    out = a * b
    out.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t)
    a.add_(1)
    assert tb.autograd.grad(out, y, retain_graph=True)[0].item() == 2.0
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_nodes_find_their_attributes_as_fast_as_they_can() -> None:
    for cls in tb.autograd.graph.Node.__mro__[:-1]:
        assert not {"__getattr__", "__getattribute__", "__init__"} & set(vars(cls))
