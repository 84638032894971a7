"""The backward pass: order, sums, hooks, modes, memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus as tb


def leaf(*values: float) -> Any:
    return tb.tensor(values, requires_grad=True)


def test_shared_subgraphs_sum() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * y + y  # x^4 + x^2
    z.backward()
    assert x.grad.tolist() == [36.0]


def test_gradients_add_up_over_calls_and_keep_their_memory() -> None:
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    before = x.grad
    (x * 4).sum().backward()
    assert x.grad is before
    assert x.grad.tolist() == [7.0, 7.0]


def test_grad_of_one_leaf_is_not_the_memory_of_another() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward()
    x.grad.add_(1)
    assert y.grad.tolist() == [1.0, 1.0]


def test_a_chain_of_100_000_ops_goes_back_without_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y  # and is released without recursion too


def test_second_backward_needs_retain_graph() -> None:
    x = leaf(1.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_errors_name_what_is_missing() -> None:
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        tb.ones(1).backward()
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        (leaf(1.0, 2.0) * 2).backward()
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of"):
        (leaf(1.0, 2.0) * 2).backward(tb.ones(3))
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        tb.autograd.grad(x.sum(), leaf(2.0))


def test_grad_leaves_dot_grad_alone() -> None:
    x, y = leaf(2.0), leaf(3.0)
    found = tb.autograd.grad((x * y).sum(), [y, x])
    assert [g.tolist() for g in found] == [[2.0], [3.0]]
    assert x.grad is None and y.grad is None


def test_grad_of_an_inner_value_runs_no_further() -> None:
    calls = []
    x = leaf(2.0)
    inner = x * 3
    inner.register_hook(lambda g: calls.append("inner"))
    first = x.exp()
    first.register_hook(lambda g: calls.append("first"))
    out = (inner * inner * first).sum()
    (g,) = tb.autograd.grad(out, inner)
    assert g.item() == pytest.approx(2 * 6 * 7.3890561)
    assert "first" not in calls


def test_backward_to_chosen_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [3.0]
    assert y.grad is None


def test_orders_beyond_the_second() -> None:
    x = tb.tensor(0.7, dtype=tb.float64, requires_grad=True)
    g = x.sin() * x
    import math

    expected = [
        math.sin(0.7) + 0.7 * math.cos(0.7),
        2 * math.cos(0.7) - 0.7 * math.sin(0.7),
        -3 * math.sin(0.7) - 0.7 * math.cos(0.7),
        -4 * math.cos(0.7) + 0.7 * math.sin(0.7),
    ]
    for value in expected:
        (g,) = tb.autograd.grad(g, x, create_graph=True)
        assert g.item() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_empties_have_a_second_derivative(op: str) -> None:
    x = tb.ones(2, 3, requires_grad=True)
    y = getattr(x[:0], op)(0)
    (g,) = tb.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = tb.autograd.grad(g.sum(), x)
    assert second.tolist() == [[0.0] * 3] * 2


def test_create_graph_puts_history_into_dot_grad() -> None:
    x = leaf(3.0)
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    (second,) = tb.autograd.grad(x.grad.sum(), x)
    assert second.tolist() == [18.0]


def test_branches_without_gradient_cost_no_kernel_in_backward() -> None:
    x, frozen = leaf(1.0, 2.0), tb.ones(2)
    y = (frozen * frozen * frozen + x).sum()
    nodes = []
    stack = [y.grad_fn]
    while stack:
        node = stack.pop()
        nodes.append(type(node).__name__)
        stack += [edge for edge, _ in node.next_functions if edge is not None]
    assert nodes == ["SumBackward0", "AddBackward0", "AccumulateGrad"]


# -- hooks -----------------------------------------------------------------------------------
def test_tensor_hooks_see_and_replace_the_whole_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    handle = y.register_hook(lambda g: g * 10)
    (y + y).sum().backward()
    assert seen == [[2.0, 2.0]]
    assert x.grad.tolist() == [40.0, 40.0]
    handle.remove()
    handle.remove()


def test_leaf_and_post_accumulate_hooks() -> None:
    x = leaf(1.0)
    order = []
    x.register_hook(lambda g: order.append(("tensor", g.item())))
    x.register_post_accumulate_grad_hook(lambda t: order.append(("post", t.grad.item())))
    (x * 3).sum().backward()
    (x * 4).sum().backward()
    assert order == [("tensor", 3.0), ("post", 3.0), ("tensor", 4.0), ("post", 7.0)]
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_node_hooks() -> None:
    x = leaf(1.0)
    y = (x * 3).sum()
    log = []
    y.grad_fn.register_prehook(lambda grads: log.append(("pre", grads[0].item())))
    y.grad_fn.register_hook(lambda ins, outs: log.append(("post", ins[0].tolist(), outs[0].item())))
    y.backward()
    assert log == [("pre", 1.0), ("post", [1.0], 1.0)]


def test_retain_grad() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0]
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        tb.ones(1).retain_grad()


# -- modes -----------------------------------------------------------------------------------
def test_modes_nest_decorate_and_survive_errors() -> None:
    x = leaf(1.0)
    with tb.no_grad():
        assert not (x * 2).requires_grad
        with tb.enable_grad():
            assert (x * 2).requires_grad
        assert not tb.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), tb.no_grad():
        raise ZeroDivisionError
    assert tb.is_grad_enabled()

    @tb.no_grad()
    def frozen() -> Any:
        return x * 2

    assert not frozen().requires_grad
    tb.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    tb.set_grad_enabled(True)
    with tb.set_grad_enabled(False):
        assert not tb.is_grad_enabled()
    with tb.inference_mode():
        assert not (x * 2).requires_grad
    assert tb.is_grad_enabled()


def test_an_inference_tensor_as_gradient_is_not_added_to() -> None:
    x = tb.ones(2, requires_grad=True)
    with tb.inference_mode():
        given = tb.ones(2)
    x.grad = given
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        (x * 2).sum().backward()
    assert given.tolist() == [1.0, 1.0]


def test_a_decorated_generator_leaves_the_mode_between_its_steps() -> None:
    @tb.no_grad()
    def steps() -> Iterator[bool]:
        yield tb.is_grad_enabled()
        yield tb.is_grad_enabled()

    inside, outside = [], []
    for state in steps():
        inside.append(state)
        outside.append(tb.is_grad_enabled())
    assert inside == [False, False] and outside == [True, True]


def test_modes_belong_to_their_thread() -> None:
    x = leaf(1.0)
    entered, leave = threading.Event(), threading.Event()
    inside: list[bool] = []

    def other() -> None:
        with tb.no_grad():
            entered.set()
            leave.wait(60)
            inside.append((x * 2).requires_grad)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(60)
    assert (x * 2).requires_grad  # while another thread is in no_grad
    leave.set()
    thread.join()
    assert inside == [False]


def test_threads_run_their_own_graphs_over_shared_leaves() -> None:
    x = leaf(*[1.0] * 50)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                (g,) = tb.autograd.grad((x * x * 3).sum(), x)
                assert g.tolist() == [6.0] * 50
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize("op", ["floor_divide", "heaviside"])
def test_ops_without_a_derivative_say_so_in_backward(op: str) -> None:
    x = leaf(3.0)
    y = getattr(tb, op)(x, tb.tensor([2.0]))
    with pytest.raises(RuntimeError, match=f"derivative for aten::{op} is not implemented"):
        y.sum().backward()


def test_rows_refuse_names_of_the_generated_text() -> None:
    from tensorbus.rows.registry import ROWS, row

    with pytest.raises(ValueError, match=r"\['k'\] are names of the generated text"):
        row("with_a_bad_name", "x:T, k", doc="*x*.", x=lambda F, g: g)
    assert "with_a_bad_name" not in ROWS


def test_arguments_stand_in_pytorchs_order() -> None:
    x = tb.tensor([2.0], requires_grad=True)
    y = tb.tensor([2.0], requires_grad=True)
    found = tb.autograd.grad((x * 3).sum(), (x, y), None, None, False, True, True)
    assert found[0].tolist() == [3.0] and found[1] is None
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        tb.autograd.grad((x * 3).sum(), x, only_inputs=False)
    with pytest.warns(FutureWarning, match="grad_variables"):
        tb.autograd.backward(x * 3, None, None, False, tb.tensor([2.0]), y)
    assert x.grad is None
    with pytest.raises(RuntimeError, match="both passed"), pytest.warns(FutureWarning):
        tb.autograd.backward(x * 3, tb.ones(1), grad_variables=tb.ones(1))
