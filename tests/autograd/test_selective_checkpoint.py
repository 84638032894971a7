"""Selective checkpointing: which ops run again, the gradients, and what is refused."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest

import tensorbus
from tensorbus.op_engine.row_handlers import handling
from tensorbus.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
)


def function(torch: Any, writing: bool, x: Any, w: Any) -> Any:
    """Products, views, a reduction of several results, writes, random numbers."""
    y = torch.sigmoid(x @ w) @ w
    y = y + torch.nn.functional.dropout(y, 0.0)
    if writing:
        y.mul_(2.0)
        y[0] = y[1].exp()
    values, _ = y.t().reshape(2, -1).max(1)
    return (y * y).sum() + (values * values).sum()


def gradients(torch: Any, contexts: Any, writing: bool) -> list[Any]:
    x = torch.tensor([[0.5, -1.0], [0.25, 2.0]], requires_grad=True)
    w = torch.tensor([[1.5, 0.5], [-0.5, 1.0]], requires_grad=True)
    again = torch.utils.checkpoint.checkpoint
    given = {} if contexts is None else {"context_fn": contexts}
    y = again(functools.partial(function, torch, writing), x, w, use_reentrant=False, **given)
    y.backward()
    return [y.detach().tolist(), x.grad.tolist(), w.grad.tolist()]


def by(torch: Any, policy: Any) -> Any:
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    return functools.partial(make, policy)


POLICIES: dict[str, Any] = {
    "products": lambda torch: [torch.ops.aten.mm.default],
    "all": lambda torch: lambda context, op, *args, **kwargs: True,
    "none": lambda torch: lambda context, op, *args, **kwargs: False,
    "preferred": lambda torch: (
        lambda context, op, *args, **kwargs: (
            torch.utils.checkpoint.CheckpointPolicy.PREFER_SAVE
            if context.op_output is not None and not context.is_recompute and "max" in str(op)
            else torch.utils.checkpoint.CheckpointPolicy.MUST_RECOMPUTE
        )
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_are_those_without_checkpoints(policy: str, oracle: Any) -> None:
    writing = policy != "all"  # what is kept must not be written to
    found = gradients(tensorbus, by(tensorbus, POLICIES[policy](tensorbus)), writing)
    want = oracle(lambda torch: gradients(torch, None, writing))
    for ours, theirs in zip(found, want, strict=True):
        assert tensorbus.allclose(tensorbus.tensor(ours), tensorbus.tensor(theirs), rtol=1e-5)


def ran(run: Any) -> list[str]:
    """The ops of the function that are run, in order."""
    found = []

    def note(row: Any, arguments: Any, proceed: Any) -> Any:
        if row.name in ("matmul", "tanh", "exp", "sin"):
            found.append(row.name)
        return proceed(row, arguments)

    with handling(note):
        run()
    return found


def test_what_was_saved_does_not_run_again() -> None:
    x = tensorbus.tensor([[0.5, -1.0], [0.25, 2.0]], requires_grad=True)
    saved = [tensorbus.ops.aten.mm.default, tensorbus.ops.aten.tanh.default]

    def f(x: Any) -> Any:
        return ((x @ x).tanh() @ x).exp().sin()

    def again(contexts: Any) -> list[str]:
        y = checkpoint(f, x, use_reentrant=False, early_stop=False, **contexts).sum()
        return ran(y.backward)

    assert again({}) == ["matmul", "tanh", "matmul", "exp", "sin"]
    before = x.grad
    x.grad = None
    assert again({"context_fn": by(tensorbus, saved)}) == ["exp", "sin"]
    assert before is not None and x.grad is not None and x.grad.tolist() == before.tolist()
    every = by(tensorbus, lambda context, op, *args: CheckpointPolicy.MUST_SAVE)
    assert again({"context_fn": every}) == []
    offloaded = by(tensorbus, lambda context, op, *args: CheckpointPolicy.MUST_CPU_OFFLOAD)
    assert len(again({"context_fn": offloaded})) == 5


def test_a_policy_sees_the_ops_with_their_arguments_and_results() -> None:
    seen: list[Any] = []

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
        assert type(context) is SelectiveCheckpointContext
        seen.append((str(op), args[0].tolist(), context.op_output.tolist(), context.is_recompute))
        return False

    x = tensorbus.tensor([1.0], requires_grad=True)
    y = checkpoint(
        lambda x: (x * 3).detach() + x.square(), x, use_reentrant=False,
        context_fn=by(tensorbus, policy),
    )  # fmt: skip
    y.backward()
    assert seen == [
        ("aten.mul.Tensor", [1.0], [3.0], False),
        ("aten.square.default", [1.0], [1.0], False),
        ("aten.add.Tensor", [3.0], [4.0], False),
    ]
    assert x.grad is not None and x.grad.tolist() == [2.0]


def test_operands_that_are_converted_first_are_computed_again() -> None:
    """The node keeps the converted operand, which is neither an operand nor a result."""
    x = tensorbus.tensor([0.5], requires_grad=True)
    wide = tensorbus.tensor([3.0], dtype=tensorbus.float64)
    for policy in (True, False):
        x.grad = None
        y = checkpoint(
            lambda x: (x * wide).sin(), x, use_reentrant=False,
            context_fn=by(tensorbus, lambda context, op, *a, policy=policy: policy),
        )  # fmt: skip
        y.backward()
        assert x.grad is not None
        assert abs(x.grad.item() - 3 * tensorbus.cos(tensorbus.tensor(1.5)).item()) < 1e-6


def test_views_are_taken_again() -> None:
    """A view that was kept would be one of other memory than what is written."""

    def f(x: Any) -> Any:
        y = x.clone()
        part = y[0]
        y.mul_(2)
        return part.sin()

    x = tensorbus.tensor([0.5, 1.0], requires_grad=True)
    seen: list[str] = []

    def policy(context: Any, op: Any, *args: Any) -> bool:
        seen.append(str(op))
        return "select" in seen[-1]

    checkpoint(f, x, use_reentrant=False, context_fn=by(tensorbus, policy)).backward()
    assert "aten.select.default" in seen
    assert x.grad is not None and x.grad[1] == 0
    assert abs(x.grad[0].item() - 2 * math.cos(1.0)) < 1e-6


def test_a_gradient_inside_the_function_needs_what_made_it() -> None:
    def run(policy: bool) -> Any:
        x = tensorbus.tensor([0.5], requires_grad=True)

        def f(x: Any) -> Any:
            (g,) = tensorbus.autograd.grad((x + x).sum(), x, allow_unused=True)
            return (g * x.exp()).sum()

        checkpoint(
            f, x, use_reentrant=False, early_stop=False,
            context_fn=by(tensorbus, lambda context, op, *a: policy and "add" in str(op)),
        ).backward()  # fmt: skip
        return x.grad

    assert abs(run(False).item() - 2 * math.exp(0.5)) < 1e-6
    with pytest.raises(RuntimeError, match="while it is computed again, through an op whose"):
        run(True)


def no_ops(torch: Any) -> Any:
    by(torch, [1])()


def a_packet(torch: Any) -> Any:
    by(torch, [torch.ops.aten.mm])()


def no_policy(torch: Any) -> Any:
    by(torch, 3)()


def twice(torch: Any) -> Any:
    x = torch.ones(2, 2, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(
        lambda x: (x @ x).exp().sum(), x, use_reentrant=False,
        context_fn=by(torch, [torch.ops.aten.mm.default]),
    )  # fmt: skip
    y.backward(retain_graph=True)
    y.backward()


def written(torch: Any, mutable: bool = False) -> Any:
    x = torch.ones(2, 2, requires_grad=True)
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    policy = lambda context, op, *args, **kwargs: "exp" in str(op)  # noqa: E731
    y = torch.utils.checkpoint.checkpoint(
        lambda x: x.exp().mul_(2).sin().sum(), x, use_reentrant=False,
        context_fn=lambda: make(policy, allow_cache_entry_mutation=mutable),
    )  # fmt: skip
    y.backward()


def other_ops(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return (x.exp() if len(calls) == 1 else x.tanh()).sin().sum()

    torch.utils.checkpoint.checkpoint(
        f, x, use_reentrant=False, context_fn=by(torch, [torch.ops.aten.sin.default])
    ).backward()


def more_calls(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return (x.exp() if len(calls) == 1 else x.exp().exp()).sin().sum()

    torch.utils.checkpoint.checkpoint(
        f, x, use_reentrant=False, context_fn=by(torch, [torch.ops.aten.sin.default])
    ).backward()


REFUSED = (no_ops, a_packet, no_policy, twice, written, other_ops, more_calls)


def refusal(torch: Any, program: Any) -> str:
    try:
        program(torch)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).replace('torch._ops', 'tensorbus')}"
    return "no error"


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_refusals_are_pytorchs(program: Any, oracle: Any) -> None:
    ours, theirs = refusal(tensorbus, program), oracle(lambda torch: refusal(torch, program))
    assert ours.split(" of type")[0] == theirs.split(" of type")[0]


def test_a_write_to_what_was_kept_may_be_allowed() -> None:
    written(tensorbus, mutable=True)
