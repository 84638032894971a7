"""``autograd.graph``: edges instead of tensors, hooks of several, saved tensors written to."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import tensorbus as tb
from tensorbus.autograd import graph
from tensorbus.autograd.graph import GradientEdge, get_gradient_edge, register_multi_grad_hook


def leaf(*values: float) -> Any:
    return tb.tensor(values, requires_grad=True)


def values(gradients: Any) -> list[Any]:
    return [None if g is None else g.tolist() for g in gradients]


def test_nodes_are_of_one_class() -> None:
    x = leaf(1.0)
    node = (x * 2).grad_fn
    assert isinstance(node, graph.Node)
    assert (node.name(), node.metadata) == ("MulBackward0", {})
    (accumulate, number), _ = node.next_functions
    assert isinstance(accumulate, graph.Node)
    assert (accumulate.variable is x, number) == (True, 0)


# -- edges -------------------------------------------------------------------------------------
def test_edges_stand_for_tensors() -> None:
    x = leaf(2.0, 3.0)
    y = x * x
    z = y.sum()
    ex, ey, ez = (get_gradient_edge(t) for t in (x, y, z))
    assert isinstance(ex, GradientEdge)
    assert ex.node is y.grad_fn.next_functions[0][0]
    assert ey.node is y.grad_fn
    keep = {"retain_graph": True}
    assert values(tb.autograd.grad(ez, ex, **keep)) == [[4.0, 6.0]]
    assert values(tb.autograd.grad([ez], [ey, x], **keep)) == [[1.0, 1.0], [4.0, 6.0]]
    assert values(tb.autograd.grad(ey, x, tb.tensor([1.0, 10.0]), **keep)) == [[4.0, 60.0]]
    (g,) = tb.autograd.grad(ez, ex, create_graph=True)
    assert values(tb.autograd.grad(g.sum(), ex)) == [[2.0, 2.0]]
    tb.autograd.backward(ez, inputs=[ex], **keep)
    assert x.grad.tolist() == [4.0, 6.0]
    tb.autograd.backward(ez, inputs=[ey], **keep)
    assert x.grad.tolist() == [4.0, 6.0]
    rows = tb.tensor([[1.0, 0.0], [0.0, 1.0]])
    batch = tb.autograd.grad(ey, ex, rows, is_grads_batched=True, **keep)
    assert values(batch) == [[[4.0, 0.0], [0.0, 6.0]]]
    plain = GradientEdge(y.grad_fn, 0)
    assert values(tb.autograd.grad(plain, x, tb.ones(2), **keep)) == [[4.0, 6.0]]


def test_an_edge_needs_no_tensor() -> None:
    x = leaf(2.0)
    y = x.exp()
    edge = get_gradient_edge(y)
    there = weakref.ref(y)
    del y
    gc.collect()
    assert there() is None
    assert tb.autograd.grad(edge, x)[0].item() == pytest.approx(7.389056)


class Twofold(tb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1, x * 2

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return g + 10 * h


def test_edges_of_several_results() -> None:
    x = leaf(1.0, 2.0)
    a, b = Twofold.apply(x)
    ea, eb = get_gradient_edge(a), get_gradient_edge(b)
    assert (ea.node, ea.output_nr, eb.node, eb.output_nr) == (a.grad_fn, 0, a.grad_fn, 1)
    plain = GradientEdge(b.grad_fn, 1)
    g, keep = tb.tensor([1.0, 3.0]), {"retain_graph": True}
    for edge in (b, eb, plain):
        assert values(tb.autograd.grad(edge, x, g, **keep)) == [[10.0, 30.0]]
        assert values(tb.autograd.grad((a * b * b).sum(), edge, **keep)) == [[4.0, 16.0]]
    assert values(tb.autograd.grad([ea, plain], x, [g, g], **keep)) == [[11.0, 33.0]]
    with pytest.raises(RuntimeError, match="TwofoldBackward has 2 outputs, but output_nr is 2"):
        tb.autograd.grad(GradientEdge(b.grad_fn, 2), x, g)


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        (lambda x, y: get_gradient_edge(tb.ones(2)), RuntimeError, "does not require gradients"),
        (lambda x, y: tb.autograd.grad(get_gradient_edge(y), x), RuntimeError, "scalar outputs"),
        (
            lambda x, y: tb.autograd.grad(GradientEdge(y.grad_fn, 0), x),
            RuntimeError,
            "scalar outputs",
        ),
        (
            lambda x, y: tb.autograd.grad(get_gradient_edge(y), x, tb.ones(3)),
            RuntimeError,
            r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[3\]\)",
        ),
        (
            lambda x, y: tb.autograd.grad(
                y.sum(), get_gradient_edge(leaf(1.0)), materialize_grads=True
            ),
            RuntimeError,
            "materialize_grads cannot be used when the given input is a GradientEdge",
        ),
        (
            lambda x, y: tb.autograd.grad(y.sum(), get_gradient_edge(leaf(1.0))),
            RuntimeError,
            "appears to not have been used",
        ),
        (
            lambda x, y: tb.autograd.grad(GradientEdge(y.grad_fn, 1), x, tb.ones(2)),
            RuntimeError,
            "MulBackward0 has 1 outputs, but output_nr is 1",
        ),
    ],
)
def test_refused_edges(program: Any, error: type, text: str) -> None:
    x = leaf(2.0, 3.0)
    with pytest.raises(error, match=text):
        program(x, x * x)


# -- hooks of several tensors ------------------------------------------------------------------
def test_a_hook_waits_for_all_that_come() -> None:
    heard: list[Any] = []
    x, y, other = leaf(2.0), leaf(3.0), leaf(1.0)
    product = x * y
    z = product.exp().log().sum()
    handle = register_multi_grad_hook(
        [x, product, other], lambda grads: heard.append(values(grads))
    )
    z.backward(retain_graph=True)
    assert heard == [[[3.0], [1.0], None]]
    tb.autograd.grad(z, product, retain_graph=True)
    assert heard[1:] == [[None, [1.0], None]]
    tb.autograd.grad(z, [y], retain_graph=True, create_graph=True)
    assert heard[2:] == [[None, [1.0], None]]
    z.backward(inputs=[x], retain_graph=True)
    assert heard[3:] == [[[3.0], [1.0], None]]
    handle.remove()
    z.backward()
    assert len(heard) == 4


def test_a_hook_hears_the_first() -> None:
    heard: list[Any] = []
    x, y = leaf(2.0), leaf(3.0)
    z = (x * y).sum()
    with register_multi_grad_hook([x, z], lambda g: heard.append(g.tolist()), mode="any"):
        z.backward(retain_graph=True)
        z.backward(retain_graph=True)
    z.backward()
    assert heard == [1.0, 1.0]


def test_a_pass_within_a_pass_has_hooks_of_its_own() -> None:
    heard: list[Any] = []
    x, y = leaf(2.0), leaf(3.0)

    class Nested(tb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with tb.enable_grad():
                (y * 5).backward()
            return g

    register_multi_grad_hook([x, y], lambda grads: heard.append(values(grads)))
    Nested.apply(x).backward()
    assert heard == [[None, [5.0]], [[1.0], None]]


def test_refused_hooks() -> None:
    with pytest.raises(ValueError, match="mode to be one of .'all', 'any'. but got some"):
        register_multi_grad_hook([leaf(1.0)], print, mode="some")
    with pytest.raises(AssertionError, match="doesn't require gradient"):
        register_multi_grad_hook([leaf(1.0), tb.ones(1)], print)


# -- writes ------------------------------------------------------------------------------------
def test_saved_tensors_may_be_written() -> None:
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z = (y**2).sum()
        y.sin_()
        z.backward(retain_graph=True)
        assert x.grad.tolist() == [2.0, 4.0]
        grown = y.exp()
        other = grown.sum()
        grown.zero_()
        other.backward()
        with (
            pytest.raises(RuntimeError, match="cannot be nested"),
            graph.allow_mutation_on_saved_tensors(),
        ):
            pass
        context.clear()
        with pytest.raises(AssertionError, match="outside of the 'allow_mutation"):
            z.backward(retain_graph=True)
        later = (x * x).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation"):
        later.backward()


def test_told_writes_count() -> None:
    x = leaf(1.0)
    y = x * 1
    z = y * y
    graph.increment_version([y.detach(), tb.ones(2)])
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with pytest.raises(RuntimeError, match="a tensor or an iterable of tensors, not int"):
        graph.increment_version(3)
    with pytest.raises(RuntimeError, match="each element of the iterable to be a tensor"):
        graph.increment_version([y, 3])
    assert y._version == 1


def test_settings_without_effect() -> None:
    graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    with pytest.raises(RuntimeError, match="enabled must be a bool, but got int"):
        graph.set_warn_on_accumulate_grad_stream_mismatch(1)
    x = leaf(1.0)
    with tb.autograd.set_multithreading_enabled(False):
        (x * 2).backward()
    assert x.grad.tolist() == [2.0]
    with pytest.raises(TypeError, match="must be bool, not int"):
        tb.autograd.set_multithreading_enabled(1)


def test_blocks_for_gradients_are_decorators() -> None:
    @tb.autograd.set_multithreading_enabled(False)
    def doubled(x: Any) -> Any:
        return x * 2

    @tb.autograd.forward_ad.dual_level()
    def slope(x: Any) -> Any:
        dual = tb.autograd.forward_ad.make_dual(x, tb.ones_like(x))
        return tb.autograd.forward_ad.unpack_dual(doubled(dual)).tangent

    @tb.autograd.forward_ad.dual_level()
    def slopes(x: Any) -> Any:
        yield slope.__wrapped__(x)

    x = tb.ones(2)
    assert slope(x).tolist() == slope(x).tolist() == [2.0, 2.0]
    assert [y.tolist() for y in slopes(x)] == [[2.0, 2.0]]
