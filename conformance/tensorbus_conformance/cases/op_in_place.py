"""Level 3 of the in-place forms: their derivatives are those of the op that makes a new tensor.

Each is tried on a copy of the operand, on a view into a larger copy, and on a constant where
another operand has a derivative: then what is overwritten may be needed again.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import op_gradients, op_values
from tensorbus_conformance.op import Op, Sample
from tensorbus_conformance.samples import all_ops


def cases() -> Iterator[Case]:
    dtype = formats.FLOAT32
    for op in all_ops():
        sample = _sample(op)
        if sample is None:
            continue
        tried = [
            ("in-place", _on_copy(op.name), sample),
            ("in-place-view", _on_view(op.name), sample),
            ("in-place-constant", _on_copy(op.name), _with_constant(sample)),
        ]
        for variant, call, given in tried[:1] if op.view else tried:
            if op_gradients.differentiable(given):
                check = functools.partial(
                    op_gradients.gradient, replace(op, call=call), given, dtype, "contiguous", 1
                )
                yield Case(
                    f"L3/{op.name}/{dtype.name}/{sample.variant}/{variant}-grad1",
                    op.family or "ops",
                    check,
                    op_values.needed(op, dtype),
                )


def _sample(op: Op) -> Sample | None:
    """The sample that the in-place form is tried with, None where there is no such form."""
    if "." in op.name or op.call is not None or not (op.gradient and op.inplace):
        return None
    if formats.FLOAT32 not in op.dtypes or not hasattr(tensorbus.Tensor, f"{op.name}_"):
        return None
    found = (s for s in op.samples if s.args and s.takes(formats.FLOAT32))
    sample = next((s for s in found if op_gradients.differentiable(s)), None)
    if sample is None or sample.args[0] not in sample.operands():
        return None
    return sample


def _on_copy(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x.clone(), f"{name}_")(*args, **kwargs)


def _on_view(name: str) -> Callable[..., Any]:
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        base = tensorbus.stack([x, x.detach()], -1)
        getattr(base.select(-1, 0), f"{name}_")(*args, **kwargs)
        return base.unbind(-1)[0]

    return call


def _with_constant(sample: Sample) -> Sample:
    first = copy.copy(sample.args[0])
    first.grad = False
    return replace(sample, args=(first, *sample.args[1:]))
