"""``autograd.forward_ad``: which tensors have a tangent, and which; what PyTorch 2.13 says."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tensorbus as tb
import tensorbus.autograd.forward_ad as fw

X = [1.0, 2.0]
T = [10.0, 20.0]


def pair():
    return tb.tensor(X), tb.tensor(T)


def tangent(x):
    found = fw.unpack_dual(x).tangent
    return None if found is None else found.tolist()


TABLE = [
    (lambda d: d * 2, [20.0, 40.0]),
    (lambda d: 3 / d, [-30.0, -15.0]),
    (lambda d: d.clone(), T),
    (lambda d: d + 1, T),
    (lambda d: d.double(), T),
    (lambda d: d.view(2, 1), [[10.0], [20.0]]),
    (lambda d: d.expand(2, 2).t()[1], [20.0, 20.0]),
    (lambda d: d @ d, 100.0),
    (lambda d: tb.cat([d, tb.ones(1)]), [10.0, 20.0, 0.0]),
    (lambda d: d.floor(), [0.0, 0.0]),
    (lambda d: d.sort(descending=True).values, [20.0, 10.0]),
    (lambda d: (d + 1j * d).abs() ** 2, [40.0, 160.0]),
    (lambda d: d.detach(), None),
    (lambda d: d.data, None),
    (lambda d: d > 1, None),
    (lambda d: d.long(), None),
    (lambda d: fw.unpack_dual(d).primal, None),
    (lambda d: fw.unpack_dual(d).primal * 2, None),
    (lambda d: tb.zeros(2).add_(d), T),
    (lambda d: tb.zeros(2).copy_(d), T),
    (lambda d: d.clone().zero_(), [0.0, 0.0]),
    (lambda d: d.clone().fill_(3.0), [0.0, 0.0]),
    (lambda d: d.clone().normal_(), [0.0, 0.0]),
    (lambda d: d.clone().mul_(d), [20.0, 80.0]),
    (lambda d: d.repeat(2, 1).t_(), [[10.0, 10.0], [20.0, 20.0]]),
    (lambda d: d.clone().masked_fill_(tb.tensor([True, False]), 0.5), [0.0, 20.0]),
    (lambda d: d.clone().index_add_(0, tb.tensor([1]), d[:1]), [10.0, 30.0]),
]


@pytest.mark.parametrize("recording", [True, False], ids=["recording", "no_grad"])
@pytest.mark.parametrize(("f", "expected"), TABLE, ids=range(len(TABLE)))
def test_tangents_of_operations(f, expected, recording):
    x, t = pair()
    with fw.dual_level(), tb.set_grad_enabled(recording):
        found = tangent(f(fw.make_dual(x, t)))
        assert found is None if expected is None else np.allclose(found, expected)
    assert (x.tolist(), t.tolist()) == (X, T)


def test_a_write_to_a_view_reaches_the_tangents_of_its_base_and_of_other_views():
    x, t = pair()
    with fw.dual_level():
        d = fw.make_dual(x, t)
        base = tb.zeros(2, 3)
        before = base.t()[1]
        base[:, 1] = d
        assert tangent(base) == [[0.0, 10.0, 0.0], [0.0, 20.0, 0.0]]
        assert tangent(before) == [10.0, 20.0]
        assert tangent(base[0, 1:]) == [10.0, 0.0]
        base.t()[1, 0].mul_(3)
        assert tangent(base) == [[0.0, 30.0, 0.0], [0.0, 20.0, 0.0]]
        assert tangent(before) == [30.0, 20.0]
        base[0] = 7.0
        assert tangent(before) == [0.0, 20.0]


def test_a_write_to_a_result_leaves_the_tangents_of_the_operands():
    x, t = pair()
    with fw.dual_level():
        d = fw.make_dual(x, t)
        for f in (lambda d: d + 1, lambda d: d.clone(), lambda d: d.reshape(1, 2).sum(0)):
            y = f(d)
            y.mul_(2)
            assert tangent(y) == [20.0, 40.0]
            assert tangent(d) == T
    assert t.tolist() == T


@pytest.mark.parametrize("create_graph", [True, False])
def test_forward_over_reverse_is_a_product_with_the_hessian(create_graph):
    x = tb.tensor(X, dtype=tb.float64, requires_grad=True)
    t = tb.tensor(T, dtype=tb.float64)
    with fw.dual_level():
        d = fw.make_dual(x, t)
        y = (d.exp() * d).sum() + d.prod()
        (g,) = tb.autograd.grad(y, x, create_graph=create_graph)
        value, product = fw.unpack_dual(g)
    e = np.exp(X)
    np.testing.assert_allclose(value.detach().numpy(), e * (1 + np.array(X)) + X[::-1], rtol=1e-12)
    expected = e * (2 + np.array(X)) * T + np.array(T[::-1])
    np.testing.assert_allclose(product.detach().numpy(), expected, rtol=1e-12)
    assert product.requires_grad is create_graph


def test_backward_stores_gradients_with_tangents():
    x = tb.tensor(X, requires_grad=True)
    with fw.dual_level():
        (fw.make_dual(x, tb.tensor(T)) ** 3).sum().backward()
        assert x.grad.tolist() == [3.0, 12.0]
        assert tangent(x.grad) == [60.0, 240.0]
    assert not x.grad.requires_grad


def test_reverse_over_forward_differentiates_tangents():
    x = tb.tensor(X, dtype=tb.float64, requires_grad=True)
    t = tb.tensor(T, dtype=tb.float64, requires_grad=True)
    with fw.dual_level():
        y = fw.unpack_dual((fw.make_dual(x, t).softmax(0) ** 2).sum()).tangent
    gx, gt = tb.autograd.grad(y, (x, t))
    assert tb.autograd.gradcheck(lambda x: (x.softmax(0) ** 2).sum(), x)
    (slope,) = tb.autograd.grad((x.softmax(0) ** 2).sum(), x, create_graph=True)
    np.testing.assert_allclose(gt.numpy(), slope.detach().numpy(), rtol=1e-12)
    (product,) = tb.autograd.grad(slope, x, t)
    np.testing.assert_allclose(gx.numpy(), product.numpy(), rtol=1e-12)


def test_a_level_ends_with_its_block_also_after_an_error():
    x, t = pair()
    with pytest.raises(ZeroDivisionError), fw.dual_level():
        d = fw.make_dual(x, t)
        raise ZeroDivisionError
    assert fw.unpack_dual(d).tangent is None
    with fw.dual_level():
        assert fw.unpack_dual(d).tangent is None
        assert fw.unpack_dual(d * 2).tangent is None
    assert fw.enter_dual_level() == 0
    fw.exit_dual_level()
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, t)


def test_another_thread_is_in_no_level():
    x, t = pair()
    found = []
    with fw.dual_level():
        d = fw.make_dual(x, t)
        thread = threading.Thread(target=lambda: found.append(fw.unpack_dual(d * 2).tangent))
        thread.start()
        thread.join(60)
    assert found == [None]


ERRORS = [
    (lambda x, t, d: fw.make_dual(x, tb.ones(3)), RuntimeError, r"of size \[2\] while .* \[3\]"),
    (lambda x, t, d: fw.make_dual(x.long(), t), ValueError, "Expected primal to be .* torch.int64"),
    (lambda x, t, d: fw.make_dual(x, t.long()), ValueError, "Expected tangent to be floating"),
    (lambda x, t, d: fw.make_dual(d, t), RuntimeError, "already has a forward gradient at the"),
    (lambda x, t, d: fw.make_dual(x, d), RuntimeError, "grad that itself has a forward gradient"),
    (lambda x, t, d: fw.enter_dual_level(), RuntimeError, "Nested forward mode AD is not support"),
    (lambda x, t, d: fw.unpack_dual(5), TypeError, "must be Tensor, not int"),
    (lambda x, t, d: fw.exit_dual_level(level=3), RuntimeError, "was not the last one that was"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "error", "text"), ERRORS, ids=range(len(ERRORS)))
def test_refusals(f, error, text):
    x, t = pair()
    with fw.dual_level():
        with pytest.raises(error, match=text):
            f(x, t, fw.make_dual(x, t))
        assert tangent(fw.make_dual(x, t) * 2) == [20.0, 40.0]
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()


class Scale(tb.autograd.Function):
    """``n * x * y``, and ``x``: two results."""

    @staticmethod
    def forward(ctx, x, y, n):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.n = n
        return x * y * n, x + 0

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y * ctx.n + h, g * x * ctx.n, None

    @staticmethod
    def jvp(ctx, xt, yt, nt):
        assert nt is None
        x, y = ctx.saved_tensors
        return (xt * y + x * yt) * ctx.n, xt


def test_a_function_of_the_user_gives_its_tangents():
    x, t = pair()
    with fw.dual_level():
        d = fw.make_dual(x, t)
        a, b = Scale.apply(d, tb.tensor([3.0, 4.0]), 2)
        assert (tangent(a), tangent(b)) == ([60.0, 160.0], T)
        a, b = Scale.apply(d, d, 2)
        assert tangent(a) == [40.0, 160.0]
        y = tb.tensor([3.0, 4.0], requires_grad=True)
        a, b = Scale.apply(d, y, 2)
        assert tangent(a) == [60.0, 160.0]
        (g,) = tb.autograd.grad(a.sum(), y)
        assert (g.tolist(), tangent(g)) == ([2.0, 4.0], [20.0, 40.0])

        class Mute(Scale):
            @staticmethod
            def jvp(ctx, *tangents):
                return tangents[0]

        with pytest.raises(RuntimeError, match=r"invalid number of forward gradients \(expected 2"):
            Mute.apply(d, x, 2)

        class Plain(tb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            Plain.apply(d)
        assert tangent(Plain.apply(x)) is None
