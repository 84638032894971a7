"""``cond`` and ``while_loop``: values, gradients, batches, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus
from tensorbus import vmap


def tenfold(x: Any) -> Any:
    return x * 10


def negative(x: Any) -> Any:
    return -x


@pytest.mark.parametrize("pred", [True, 0, 2.5, "more", "less"])
def test_one_branch_runs(pred: Any) -> None:
    x = tensorbus.tensor([1.0, 2.0], requires_grad=True)
    truth = {"more": x.sum() > 2, "less": (x.sum() < 2).reshape(1)}.get(pred, pred)
    y = tensorbus.cond(truth, tenfold, negative, (x,))
    y.sum().backward()
    factor = -1.0 if pred in (0, "less") else 10.0
    assert y.tolist() == [factor, 2 * factor]
    assert x.grad is not None and x.grad.tolist() == [factor, factor]


def test_each_element_of_a_batch_has_its_branch() -> None:
    x = tensorbus.tensor([[1.0, 2.0], [-3.0, 1.0]], requires_grad=True)

    def f(row: Any) -> Any:
        return tensorbus.cond(
            row.sum() > 0, lambda t: {"a": t[0] * t[1]}, lambda t: {"a": t.sum()}, (row,)
        )

    made = vmap(f)(x)["a"]
    made.sum().backward()
    assert made.tolist() == [2.0, -2.0]
    assert x.grad is not None and x.grad.tolist() == [[2.0, 1.0], [1.0, 1.0]]
    with pytest.raises(RuntimeError, match="branches must return the same structure"):
        vmap(lambda t: tensorbus.cond(t > 0, lambda t: (t,), lambda t: [t], (t,)))(x[0])


def test_a_loop_runs_until_its_condition_fails() -> None:
    x = tensorbus.tensor([0.5], requires_grad=True)
    carried = [tensorbus.zeros(1), {"x": x}]
    i, nested = tensorbus.while_loop(
        lambda i, n: i.sum() < 3, lambda i, n: (i + 1, {"x": n["x"] * 3}), carried
    )
    nested["x"].backward()
    assert i.tolist() == [3.0] and nested["x"].tolist() == [13.5]
    assert x.grad is not None and x.grad.tolist() == [27.0]
    assert tensorbus.while_loop(lambda n: n < 0, lambda n: n + 1, (4,)) == (4,)


REFUSED = {
    "text": lambda torch: torch.cond("yes", tenfold, negative, (torch.ones(1),)),
    "several": lambda torch: torch.cond(torch.ones(2) > 0, tenfold, negative, (torch.ones(1),)),
    "not-callable": lambda torch: torch.cond(torch.tensor(True), 1, negative, (torch.ones(1),)),
    "operands": lambda torch: torch.cond(torch.tensor(True), tenfold, negative, (1,)),
    "loop-not-callable": lambda torch: torch.while_loop(tenfold, 1, (torch.ones(1),)),
}


def refusal(torch: Any, name: str) -> str:
    try:
        REFUSED[name](torch)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(name: str, oracle: Any) -> None:
    assert refusal(tensorbus, name) == oracle(lambda torch: refusal(torch, name))


def test_a_loop_keeps_its_structure() -> None:
    with pytest.raises(RuntimeError, match="must return the structure of carried_inputs"):
        tensorbus.while_loop(lambda n: n < 1, lambda n: (n + 1, n), (0,))
    with pytest.raises(RuntimeError, match="tensor or int leaves, but got"):
        tensorbus.while_loop(lambda n: n < 1, lambda n: n + 1, (0.5,))
