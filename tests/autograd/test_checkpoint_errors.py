"""``utils.checkpoint``: what is refused, and what it says of functions that change."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
from tensorbus.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    detach_variable,
    get_device_states,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
    set_device_states,
)


def leaf(*values: float) -> Any:
    return tb.tensor(values, dtype=tb.float64, requires_grad=True)


class Changing:
    """Another function at the second call."""

    def __init__(self, first: Any, second: Any) -> None:
        self.functions = [first, second]

    def __call__(self, x: Any) -> Any:
        return self.functions.pop(0)(x)


def other_shape(x: Any) -> Any:
    return tb.cat([x, x]).exp()[:2]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (
            tb.exp,
            other_shape,
            r"different metadata.*\ntensor at position 0:\nsaved metadata: {'shape': "
            r"torch.Size\(\[2\]\).*\nrecomputed metadata: {'shape': torch.Size\(\[4\]\)",
        ),
        (
            lambda x: x.exp() * x,
            tb.exp,
            "during forward: 3\nNumber of tensors saved during recomputation: 1",
        ),
    ],
)
def test_another_function_again(first: Any, second: Any, text: str) -> None:
    y = checkpoint(Changing(first, second), leaf(1.0, 2.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match=text):
        y.sum().backward()


def test_too_many_tensors_again() -> None:
    functions = tb.exp, lambda x: x.exp() * x
    with set_checkpoint_early_stop(False):
        y = checkpoint(Changing(*functions), leaf(1.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation"):
        y.backward()
    checkpoint(Changing(*functions), leaf(1.0), use_reentrant=False).backward()


def test_the_operations_are_told() -> None:
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(Changing(tb.exp, other_shape), leaf(1.0, 2.0), use_reentrant=False)
    text = r"original forward:\nexp -> \(2,\), (.|\n)*recomputation:\nconcatenate -> \(4,\), .*py:"
    with pytest.raises(CheckpointError, match=text):
        y.sum().backward()


def test_the_check_may_be_left_out() -> None:
    functions = (lambda x: x.double().exp().float(), lambda x: x.exp())
    x = tb.tensor([1.0], requires_grad=True)
    y = checkpoint(Changing(*functions), x, use_reentrant=False, determinism_check="none")
    y.backward()
    assert x.grad.item() == pytest.approx(np.e)


def test_a_written_argument_is_noticed() -> None:
    x = leaf(1.0) * 1
    y = checkpoint(tb.exp, x, use_reentrant=False)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_an_error_while_computing_again_leaves_nothing() -> None:
    def fail(x: Any) -> Any:
        raise LookupError("gone")

    state = tb.get_rng_state().tolist()
    for reentrant in (False, True):
        y = checkpoint(Changing(tb.exp, fail), leaf(1.0), use_reentrant=reentrant)
        with pytest.raises(LookupError):
            y.backward()
    assert tb.get_rng_state().tolist() == state
    assert tb.is_grad_enabled()
    x = leaf(1.0)
    checkpoint(tb.exp, x, use_reentrant=False).backward()
    assert x.grad.item() == pytest.approx(np.e)


def test_saved_tensors_twice_in_one_backward() -> None:
    class Reads(tb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert len(ctx.saved_tensors) == 1
            assert len(ctx.saved_tensors) == 1
            return g * 2

    y = checkpoint(lambda x: Reads.apply(x * 1), leaf(1.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match="already unpacked once"):
        y.backward()


def test_a_pass_for_some_leaves_is_refused_within() -> None:
    x = leaf(1.0)
    y = checkpoint(tb.exp, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="is incompatible with .grad.. or passing an `inputs`"):
        tb.autograd.grad(y, x, retain_graph=True)
    with pytest.raises(RuntimeError, match="is incompatible with .grad.. or passing an `inputs`"):
        y.backward(inputs=[x], retain_graph=True)
    y = checkpoint(lambda x: x.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"use_reentrant": True, "power": 2}, "Unexpected keyword arguments: power"),
        ({"use_reentrant": True, "debug": True}, "only supported when use_reentrant=False"),
        ({"use_reentrant": False, "determinism_check": "some"}, "one of .'default', 'none'., but"),
        (
            {"use_reentrant": False, "debug": True, "context_fn": tuple},
            "debug=True is incompatible with non-default context_fn",
        ),
    ],
)
def test_refused_arguments(kwargs: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        checkpoint(tb.exp, leaf(1.0), **kwargs)


def test_warnings() -> None:
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(tb.exp, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(tb.exp, x.detach(), use_reentrant=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint(tb.exp, x.detach(), use_reentrant=False)


def test_what_programs_build_their_own_on() -> None:
    x = leaf(1.0)
    made, three = detach_variable((x * 1, 3))
    assert (made.is_leaf, made.requires_grad, three) == (True, True, 3)
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        detach_variable([x])
    set_device_states(*get_device_states(x))
    with pytest.raises(ValueError, match="no random states of their own"):
        set_device_states([0], [tb.get_rng_state()])
