"""Levels 2 and 4: operands on two devices are refused by name, or brought together rightly.

Each operand in turn lies on another device: the CPU, or ``strict`` where the CPU itself is tested.
A kernel that is handed memory of another device reads what it likes, so no call may get that far.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import discovery
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, flatten
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import op_values
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.op import Op, Sample, T
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "devices"
_REFUSAL = re.compile("the same device|type .* should be the same|different from other tensors")
_LACKS = re.compile("^device .* has no (float64|complex)")
"""The other device may lack the dtype of the result, and says so."""


def cases() -> Iterator[Case]:
    for op in all_ops():
        dtype = next((d for d in (formats.FLOAT32, formats.INT64) if d in op.dtypes), None)
        sample = next((s for s in op.samples if _mixes(s)), None)
        if dtype is not None and sample is not None:
            yield Case(
                f"{op_values.level(op)}/{op.name}/{dtype.name}/other-device",
                FAMILY,
                functools.partial(_mixed, op, sample, dtype),
                op_values.needed(op, dtype),
            )


def _mixes(sample: Sample) -> bool:
    operands = sample.operands()
    return len(operands) > 1 and all(t.shape and 0 not in t.shape for t in operands)


def _mixed(op: Op, sample: Sample, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    elsewhere = "cpu" if tensorbus.device(bench.device).type != "cpu" else "strict"
    if elsewhere not in discovery.backend_names():
        raise Unsupported(f"there is no second device: {elsewhere!r} is left out of the plugins")
    for position in range(len(sample.operands())):
        hosts: list[np.ndarray] = []

        def make(operand: T, moved: int = position, hosts: list[np.ndarray] = hosts) -> Any:
            host = operand.make(dtype, op.name, sample.variant, len(hosts))
            here = len(hosts) != moved
            hosts.append(host)
            sent = bench.send(host, operand.dtype or dtype)
            return sent if here else sent.to(elsewhere)

        args, kwargs = sample.replace(make, dtype=dtype, device=bench.device)
        try:
            found = [bench.read(x) for x in flatten(op.function()(*args, **kwargs)) if _is(x)]
        except (RuntimeError, TypeError) as error:
            if _REFUSAL.search(str(error)) or _LACKS.search(str(error)):
                continue
            raise Mismatch(f"operand {position} on {elsewhere}: {error}") from error
        wide = [h.astype(np.float64) if h.dtype.kind == "f" else h for h in hosts]
        wanted = flatten(bench.reference(op, sample, wide))
        for got, want in zip(found, (w for w in wanted if isinstance(w, np.ndarray)), strict=False):
            if got.shape != want.shape or not np.allclose(got, want, 1e-4, 1e-5, equal_nan=True):
                raise Mismatch(f"operand {position} on {elsewhere}: got {got}, expected {want}")


def _is(x: Any) -> bool:
    return isinstance(x, tensorbus.Tensor)
