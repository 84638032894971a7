"""Levels 3 and 4 again, composed of primitives and through no kernel of the device's own.

An op that a backend or an overlay has a fused kernel for has to give the same when it is composed
of primitives. The other cases take the way that programs take, through the fused kernel; where
these pass and those fail, the kernel is wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus_conformance import formats
from tensorbus_conformance.bench import require
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import op_gradients, op_values
from tensorbus_conformance.op import Op
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial


def cases() -> Iterator[Case]:
    for op in all_ops():
        if op_values.level(op) == "L4":
            yield from _cases_of(op)


def _cases_of(op: Op) -> Iterator[Case]:
    dtype = formats.FLOAT32 if formats.FLOAT32 in op.dtypes else op.dtypes[0]
    family = op.family or "ops"
    needed = op_values.needed(op, dtype)
    for sample in (s for s in op.samples if s.takes(dtype)):
        stem = f"{op.name}/{dtype.name}/{sample.variant}"
        values = functools.partial(op_values.values, op, sample, dtype, "contiguous")
        yield Case(f"L4/{stem}/composed", family, functools.partial(_composed, values), needed)
        if not (op.gradient and dtype in formats.FLOATS and op_gradients.differentiable(sample)):
            continue
        for order in (1, 2) if op.second else (1,):
            slopes = functools.partial(
                op_gradients.gradient, op, sample, dtype, "contiguous", order
            )
            check = functools.partial(_composed, slopes)
            yield Case(f"L3/{stem}/composed-grad{order}", family, check, needed)


def _composed(check: Callable[[Trial], Any], t: Trial) -> None:
    device = t.device.composed()
    require(device is not None, "the device has no kernels beyond the primitives")
    assert device is not None
    trial = Trial(device)
    check(trial)
    t.ulp, t.notes = trial.ulp, trial.notes
