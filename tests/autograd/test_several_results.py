"""Rows with several results and with sequences of operands: one node, its edges, what it keeps."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus as tb
from tensorbus.op_engine.cores import core
from tensorbus.rows.registry import ROWS, row

CALLS: list[str] = []


def _slope_of_x(F: Any, g: Any, y: Any, q: Any) -> Any:
    CALLS.append("x")
    parts = [
        F.mul(each, factor) for each, factor in zip(g, (y, q), strict=False) if each is not None
    ]
    return parts[0] if len(parts) == 1 else F.add(*parts)


def _slope_of_y(F: Any, g: Any, x: Any) -> Any:
    CALLS.append("y")
    return None if g[0] is None else F.mul(g[0], x)


def _weighted(F: Any, xs: Any, w: Any) -> Any:
    total = F.mul(xs[0], w)
    for x in xs[1:]:
        total = F.add(total, F.mul(x, w))
    return total


def _slope_of_w(F: Any, g: Any, xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = F.add(total, x)
    return F.mul(g, total)


@pytest.fixture(scope="module", autouse=True)
def rows() -> Iterator[None]:
    row(
        "product_and_exp_test", "x:T, y:T",
        doc="``x * y``, the exponential of *x*, and where *x* is largest.",
        results="p:same q:same i:int64", domain="float",
        composite=lambda F, x, y: (F.mul(x, y), F.exp(x), F.argmax(x, 0)),
        x=_slope_of_x, y=_slope_of_y,
    )  # fmt: skip
    row(
        "both_ways_test", "x:T", doc="*x* turned over, and its double.", results="a:same b:same",
        composite=lambda F, x: (F.transpose(x, 0, 1), F.add(x, x)),
    )  # fmt: skip
    row(
        "weighted_test", "xs:T*, w:T", doc="The sum of each of *xs* times *w*.", domain="float",
        composite=_weighted,
        xs=lambda F, g, w, xs_wanted: [F.mul(g, w) if wanted else None for wanted in xs_wanted],
        w=_slope_of_w,
    )  # fmt: skip
    yield
    for name in ("product_and_exp_test", "both_ways_test", "weighted_test"):
        del ROWS[name]


def leaf(*values: float) -> Any:
    return tb.tensor(values, dtype=tb.float64, requires_grad=True)


def both(x: Any, y: Any) -> Any:
    return core("product_and_exp_test")(x, y)


def test_each_result_has_its_value_and_its_dtype() -> None:
    p, q, i = both(tb.tensor([1.0, 2.0]), tb.tensor([3.0, 4.0]))
    assert p.tolist() == [3.0, 8.0] and p.dtype is tb.float32 and p.grad_fn is None
    assert q.tolist() == pytest.approx([2.718281828, 7.389056099])
    assert i.item() == 1 and i.dtype is tb.int64 and i.shape == ()


def test_integers_are_converted_in_all_results() -> None:
    p, q, i = both(tb.tensor([1, 2]), tb.tensor([3, 4]))
    assert (p.dtype, q.dtype, i.dtype) == (tb.float32, tb.float32, tb.int64)


def test_the_results_share_one_node() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    p, q, i = both(x, y)
    node = p.grad_fn
    assert node is q.grad_fn and node.name() == "ProductAndExpTestBackward0"
    assert type(node).__name__ == "ProductAndExpTestBackward0"
    assert i.grad_fn is None and not i.requires_grad
    (first, _), (second, _) = node.next_functions
    assert first.variable is x and second.variable is y
    assert (p * 2).grad_fn.next_functions[0] == (node, 0)
    assert (q * 2).grad_fn.next_functions[0] == (node, 1)


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_gradients_of_both_orders(used: tuple[int, ...]) -> None:
    def f(x: Any, y: Any) -> Any:
        results = both(x, y)
        return tuple(results[i] for i in used)

    given = (leaf(0.3, -0.7, 1.1), leaf(0.5, 1.5, -0.2))
    assert tb.autograd.gradcheck(f, given)
    assert tb.autograd.gradgradcheck(f, given)


def test_the_node_runs_once_for_all_results() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    p, q, _ = both(x, y)
    CALLS.clear()
    (p.sum() + (q * 2).sum()).backward()
    assert CALLS == ["x", "y"]
    assert x.grad.tolist() == pytest.approx([3 + 2 * 2.718281828459, 4 + 2 * 7.38905609893])
    assert y.grad.tolist() == [1.0, 2.0]


def test_a_rule_that_gives_none_leaves_its_operand_alone() -> None:
    x, y = leaf(1.0), leaf(3.0)
    both(x, y)[1].backward()
    assert y.grad is None and x.grad.tolist() == pytest.approx([2.718281828459])


def test_no_rule_runs_where_no_gradient_came() -> None:
    x, y = leaf(1.0), leaf(3.0)
    both(x, y)
    z = x * 2
    CALLS.clear()
    z.backward()
    assert CALLS == []


def test_a_kept_result_that_was_written_to_is_refused() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    p, q, _ = both(x, y)
    with tb.no_grad():
        q.mul_(2)
    text = r"Double\w+ \[2\]\], which is output 1 of ProductAndExpTestBackward0, is at version 1"
    for create_graph in (False, True):
        with pytest.raises(RuntimeError, match=text):
            p.sum().backward(retain_graph=True, create_graph=create_graph)


def test_a_result_that_nobody_keeps_may_be_written_to() -> None:
    x, y = leaf(1.0), leaf(3.0)
    p, _, _ = both(x, y)
    p.mul_(2)
    p.backward()
    assert y.grad.tolist() == [2.0]


def test_the_buffers_are_freed() -> None:
    x, y = leaf(1.0), leaf(3.0)
    p, q, _ = both(x, y)
    p.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        q.backward()


@pytest.mark.parametrize("alive", [True, False])
def test_the_gradient_of_a_gradient_reaches_the_kept_result(alive: bool) -> None:
    x, y = leaf(0.5), leaf(3.0)
    _, q, _ = both(x, y)
    (first,) = tb.autograd.grad(q, x, create_graph=True)
    assert first.item() == pytest.approx(1.6487212707)
    if alive:  # d(first)/dq is 1, for the rule reads q itself
        assert tb.autograd.grad(first, q, retain_graph=True)[0].tolist() == [1.0]
    else:
        del q
    (second,) = tb.autograd.grad(first, x, create_graph=True)
    (third,) = tb.autograd.grad(second, x)
    assert second.item() == pytest.approx(1.6487212707) == third.item()


def test_hooks_of_the_node_see_the_gradient_of_each_result() -> None:
    x, y = leaf(1.0), leaf(3.0)
    p, q, _ = both(x, y)
    seen: list[Any] = []
    q.grad_fn.register_prehook(lambda grads: seen.append(grads))
    q.grad_fn.register_hook(lambda made, given: seen.append((made, given)))
    q.register_hook(lambda g: g * 10)
    p.retain_grad()
    q.backward(retain_graph=True)
    (before, (made, given)) = seen
    for grads in (before, given):
        assert [g if g is None else g.item() for g in grads] == [None, 10.0, None]
    assert made[0].item() == pytest.approx(27.18281828) and made[1] is None
    p.backward()
    assert p.grad.tolist() == [1.0]


def test_a_prehook_changes_what_the_node_gets() -> None:
    x, y = leaf(1.0), leaf(3.0)
    p, q, _ = both(x, y)
    p.grad_fn.register_prehook(lambda grads: (grads[0] * 5, grads[1], grads[2]))
    (p + q * 0).backward()
    assert y.grad.tolist() == [5.0]
    x, y = leaf(1.0), leaf(3.0)
    p, q, _ = both(x, y)
    p.grad_fn.register_prehook(lambda grads: grads[:1])
    with pytest.raises(RuntimeError, match=r"incorrect number of values \(got 1, but expected 3\)"):
        p.backward()


def test_nothing_records_without_gradients() -> None:
    x, y = leaf(1.0), leaf(3.0)
    with tb.no_grad():
        assert all(r.grad_fn is None and not r.requires_grad for r in both(x, y))
    with tb.inference_mode():
        results = both(x, y)
    assert all(r.is_inference() and not r.requires_grad for r in results)


def test_reference_counts_free_the_graph() -> None:
    gc.collect()
    gc.disable()
    try:
        x, y = leaf(1.0), leaf(3.0)
        p, q, _ = both(x, y)
        node = weakref.ref(p.grad_fn)
        del p, q, _
        alive = node() is not None
    finally:
        gc.enable()
    assert not alive


def test_a_composition_without_rules_records_its_parts() -> None:
    x = tb.arange(6.0).reshape(2, 3).requires_grad_()
    a, b = core("both_ways_test")(x)
    assert a.grad_fn.name() == "TransposeBackward0" and b.grad_fn.name() == "AddBackward0"
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == [[3.0] * 3] * 2
    with tb.no_grad():
        a, b = core("both_ways_test")(x)
    assert a.tolist() == [[0, 3], [1, 4], [2, 5]] and a.is_contiguous()


def test_the_outputs_of_a_function_share_their_node() -> None:
    class Parts(tb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * 2 + h * 3

    x = leaf(1.0)
    a, b = Parts.apply(x)
    assert a.grad_fn is b.grad_fn and (b * 1).grad_fn.next_functions[0] == (a.grad_fn, 1)
    seen: list[Any] = []
    a.grad_fn.register_prehook(lambda grads: seen.append(grads))
    a.grad_fn.register_hook(lambda made, given: seen.append((*made, *given)))
    b.backward()
    assert [[g if g is None else g.item() for g in grads] for grads in seen] == [
        [None, 1],
        [3, None, 1],
    ]


class Hooked:
    """Hooks for saved tensors that keep a number for each, and count."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.opened: list[int] = []

    def __enter__(self) -> Hooked:
        self.hooks = tb.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
        self.hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.hooks.__exit__(*error)

    def pack(self, t: Any) -> int:
        self.kept.append(t.detach().clone())
        return len(self.kept) - 1

    def unpack(self, at: int) -> Any:
        self.opened.append(at)
        return self.kept[at]


def test_hooks_pack_results_and_sequences() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with Hooked() as h:
        p, q, _ = both(x, y)
    assert [t.tolist() for t in h.kept] == [
        [3.0, 4.0],
        pytest.approx([2.7182818, 7.389056]),
        [1, 2],
    ]
    with tb.no_grad():
        q.zero_()  # what the hook keeps is a copy
    (p.sum() + q.sum()).backward(retain_graph=True)
    assert sorted(h.opened) == [0, 1, 2]
    assert x.grad.tolist() == pytest.approx([3 + 2.718281828459, 4 + 7.38905609893])
    a, w = leaf(1.0), leaf(3.0)
    with Hooked() as h:
        z = weighted(a, a * 2, w)
    assert [t.item() for t in h.kept[-3:]] == [3.0, 1.0, 2.0]
    z.backward()
    assert a.grad.tolist() == [9.0] and w.grad.tolist() == [3.0]


def test_what_the_node_saved_has_names() -> None:
    x, y = leaf(1.0), leaf(3.0)
    p, q, _ = both(x, y)
    node = p.grad_fn
    assert node._saved_q.tolist() == q.tolist() and node._saved_self is x
    assert node._raw_saved_q.data.grad_fn is node
    node._raw_saved_q.register_hooks(lambda t: t * 0, lambda t: t + 5)
    p.backward(retain_graph=True)
    assert x.grad.tolist() == [3.0]
    q.backward()
    assert x.grad.tolist() == [8.0]
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node._saved_q  # noqa: B018 - reading it raises
    a, w = leaf(1.0), leaf(3.0)
    node = weighted(a, w, w).grad_fn
    assert [t is s for t, s in zip(node._saved_self, (a, w), strict=True)] == [True, True]
    assert "_saved_self" in dir(node) and not hasattr(node, "_raw_saved_self")
    assert node._raw_saved_w.data is w
    assert "_raw_saved_self" not in dir(node)


# -- sequences of operands -------------------------------------------------------------------
def weighted(*operands: Any) -> Any:
    return core("weighted_test")(list(operands[:-1]), operands[-1])


def test_gradients_of_a_sequence() -> None:
    given = (leaf(0.3, -0.7), leaf(1.3, 0.4), leaf(0.2, 0.9), leaf(2.0, -1.0))
    assert weighted(*given).tolist() == pytest.approx([3.6, -0.6])
    assert tb.autograd.gradcheck(weighted, given)
    assert tb.autograd.gradgradcheck(weighted, given)


def test_only_some_of_a_sequence_want_a_gradient() -> None:
    a, b, w = leaf(1.0), tb.tensor([5.0], dtype=tb.float64), leaf(3.0)
    z = weighted(a, b, w)
    assert [n is None for n, _ in z.grad_fn.next_functions] == [False, True, False]
    z.backward()
    assert a.grad.tolist() == [3.0] and w.grad.tolist() == [6.0] and b.grad is None
    z = weighted(b, b, w)
    z.backward()
    assert w.grad.tolist() == [16.0]
    z = weighted(a, b, w.detach())
    z.backward()
    assert a.grad.tolist() == [6.0]
    assert weighted(b, b, b).grad_fn is None


def test_views_and_one_tensor_twice_in_a_sequence() -> None:
    a, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    weighted(a, a, a.flip(0)[:2], w).sum().backward()
    assert a.grad.tolist() == [2 * 3 + 4, 2 * 4 + 3]


def test_a_write_to_one_of_a_sequence_is_refused() -> None:
    a, b, w = leaf(1.0), tb.tensor([5.0], dtype=tb.float64), leaf(3.0)
    z = weighted(a, b, w)
    b.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.DoubleTensor \[1\]\] is at version 1"):
        z.backward()


def test_what_a_sequence_kept_is_freed() -> None:
    a, w = leaf(1.0), leaf(3.0)
    z = weighted(a, a, w)
    z.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        z.backward()


def test_integers_in_a_sequence_are_converted() -> None:
    assert weighted(tb.tensor([1]), tb.tensor([2]), tb.tensor([3])).dtype is tb.float32


@pytest.mark.parametrize(
    ("text", "form", "fields"),
    [
        ("several results or sequences are for form general", "unary", {"results": "p:same"}),
        (r"\['half'\] are no dtypes of results", "general", {"results": "p:half"}),
        (r"\['r0'\] are names of the generated text", "general", {"results": "r0:same"}),
        ("column_major= is for names", "general", {"results": "p:same", "column_major": "p o"}),
    ],
)
def test_a_wrong_declaration_is_refused(text: str, form: str, fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=text):
        row("a", "x:T", form, doc="A.", **fields, x=lambda F, g: g[0])
    assert "a" not in ROWS
