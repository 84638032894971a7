"""Modes, nested two deep, that an exception leaves: nothing of them stays."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tensorbus as tb
from tensorbus.autograd import forward_ad, graph
from tensorbus.overrides import TorchFunctionMode
from tensorbus.utils._python_dispatch import TorchDispatchMode

SEEN: list[str] = []


class Functions(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append("function")
        return func(*args, **(kwargs or {}))


class Rows(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append("row")
        return func(*args, **(kwargs or {}))


def packed(x: Any) -> Any:
    SEEN.append("packed")
    return x


MODES: dict[str, Any] = {
    "no_grad": tb.no_grad,
    "enable_grad": tb.enable_grad,
    "set_grad_enabled": lambda: tb.set_grad_enabled(False),
    "inference_mode": tb.inference_mode,
    "autocast": lambda: tb.autocast("cpu", tb.bfloat16),
    "device": lambda: tb.device("meta"),
    "detect_anomaly": tb.autograd.detect_anomaly,
    "functions": Functions,
    "rows": Rows,
    "dual_level": forward_ad.dual_level,
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(packed, lambda x: x),
    "fork_rng": tb.random.fork_rng,
    "profile": tb.profiler.profile,
}


def state() -> list[Any]:
    SEEN.clear()
    x = tb.ones(2, 2, requires_grad=True)
    y = x.exp() @ x
    return [
        tb.is_grad_enabled(), tb.is_inference_mode_enabled(), tb.is_autocast_enabled("cpu"),
        tb.is_anomaly_enabled(), y.requires_grad, y.is_inference(), y.dtype, y.device,
        type(y.grad_fn), tb.empty(0).device, list(SEEN),
    ]  # fmt: skip


@pytest.mark.parametrize("outer", MODES)
def test_nothing_of_nested_modes_is_left(outer: str) -> None:
    before = state()
    assert before[-1] == []
    for inner in MODES.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # dual_level and profile refuse to be nested in themselves.
            refused = inner is MODES[outer] and outer in ("dual_level", "profile")
            with (
                pytest.raises(RuntimeError if refused else ZeroDivisionError),
                MODES[outer](),
                inner(),
            ):
                tb.ones(2).exp()
                raise ZeroDivisionError
        assert state() == before


@pytest.mark.parametrize("transform", ["vmap", "grad", "jacrev", "jacfwd", "hessian"])
def test_nothing_of_a_transform_is_left(transform: str) -> None:
    def fails(x: Any) -> Any:
        raise ZeroDivisionError

    before = state()
    for function in (fails, tb.func.grad(fails), tb.func.vmap(fails)):
        with pytest.raises(ZeroDivisionError):
            getattr(tb.func, transform)(function)(tb.ones(2, 2))
        assert state() == before
