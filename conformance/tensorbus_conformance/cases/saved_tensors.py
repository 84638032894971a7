"""Level 3: tensors that a graph saves: packed by hooks, computed again, watched for NaNs."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import nn
from tensorbus.autograd import graph
from tensorbus.utils.checkpoint import checkpoint
from tensorbus_conformance import formats
from tensorbus_conformance.bench import expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import same
from tensorbus_conformance.trial import Trial

FAMILY = "backward"


def cases() -> Iterator[Case]:
    for name, check in _CHECKS.items():
        op, variant = name.split("/")
        yield Case(
            f"L3/{op}/float32/{variant}",
            FAMILY,
            functools.partial(_run, check),
            (formats.FLOAT32,),
        )


def _run(check: Callable[[Any], None], t: Trial) -> None:
    check(tensorbus.tensor([[1.0, -2.0], [3.0, 0.5]], device=t.device.type, requires_grad=True))


def _function(x: Any) -> Any:
    """A function whose rules read operands, results, indices and views."""
    y = (x.T @ x / 4).tanh()
    y = y * y[:, [1, 0]] + nn.functional.softmax(x, 1).exp()
    return tensorbus.cat([y, x.amax(1, keepdim=True)], 1).square()


def _gradients(x: Any, made: Any) -> list[Any]:
    """Of the sum, and of the sum of the gradient's squares."""
    (g,) = tensorbus.autograd.grad(made.sum(), x, create_graph=True)
    (gg,) = tensorbus.autograd.grad((g * g).sum(), x)
    return [g.tolist(), gg.tolist()]


def _on_the_host(x: Any) -> None:
    devices: list[Any] = []

    def pack(t: Any) -> Any:
        devices.append(t.device)
        return t.detach().cpu().numpy().copy()

    want = _gradients(x, _function(x))
    with graph.saved_tensors_hooks(pack, lambda kept: tensorbus.tensor(kept, device=x.device)):
        got = _gradients(x, _function(x))
    same("gradients", got, want)
    same("where the tensors were", set(devices), {x.device})
    with graph.save_on_cpu():
        got = _gradients(x, _function(x))
    same("gradients of what waited on the CPU", got, want)


def _other_device(x: Any) -> None:
    with graph.saved_tensors_hooks(lambda t: t.detach().cpu(), lambda kept: kept):
        y = x * x
    if x.device.type == "cpu":
        y.sum().backward()
        same("gradient", x.grad.tolist(), [[2.0, -4.0], [6.0, 1.0]])
        return
    error = expect_raises(lambda: y.sum().backward(), RuntimeError)
    same("the message", "Expected all tensors to be on the same device" in str(error), True)


def _again(reentrant: bool, x: Any) -> None:
    calls: list[Any] = []

    def f(x: Any) -> Any:
        calls.append(x.device)
        return _function(nn.functional.dropout(x, 0.5))

    tensorbus.manual_seed(5)
    want = np.asarray(tensorbus.autograd.grad(f(x).sum(), x)[0].tolist())
    tensorbus.manual_seed(5)
    made = checkpoint(f, x, use_reentrant=reentrant)
    tensorbus.manual_seed(6)
    made.sum().backward()
    same("gradients", x.grad.tolist(), want.tolist())
    same("calls", calls, [x.device] * 3)


def _anomaly(x: Any) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with tensorbus.autograd.detect_anomaly():
            y = (x.clamp(min=0) * 0).sqrt() * 0
            error = expect_raises(lambda: y.sum().backward(), RuntimeError)
    text = "Function 'SqrtBackward0' returned nan values in its 0th output."
    same("the message", str(error), text)
    same("the call", str(told[-1].message).rstrip().endswith(".sqrt() * 0"), True)


_CHECKS: dict[str, Callable[[Any], None]] = {
    "saved_tensors_hooks/on-the-host": _on_the_host,
    "saved_tensors_hooks/unpacked-elsewhere": _other_device,
    "checkpoint/recomputed": functools.partial(_again, False),
    "checkpoint/reentrant": functools.partial(_again, True),
    "detect_anomaly/nan": _anomaly,
}
