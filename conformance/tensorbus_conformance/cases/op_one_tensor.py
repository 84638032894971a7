"""Levels 2 and 4: one tensor as every operand of an op, as in ``x + x``."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, fits
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.op_values import level, needed, scale_of
from tensorbus_conformance.op import Op, Sample, T
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial


def cases() -> Iterator[Case]:
    for op in all_ops():
        found = _sample(op)
        if found is None:
            continue
        sample, d = found
        for layout in ("contiguous", "transposed"):
            if fits(layout, _largest(sample.operands())):
                yield Case(
                    f"{level(op)}/{op.name}/{d.name}/one-tensor-{layout}",
                    op.family or "ops",
                    functools.partial(_check, op, sample, d, layout),
                    needed(op, d),
                )


def _sample(op: Op) -> tuple[Sample, Dtype] | None:
    """The first sample of several operands that one tensor can stand for, and its dtype."""
    for d in (formats.FLOAT32, formats.INT64, formats.BOOL):
        for sample in op.samples if d in op.dtypes else ():
            operands = sample.operands()
            drawn = all(t.data is None and t.dtype in (None, d) for t in operands)
            if len(operands) < 2 or not drawn or not sample.takes(d):
                continue
            shapes = {t.shape for t in operands}
            alike = len(shapes) == 1 or op.keeps_order
            if alike and fits("contiguous", _largest(operands)):
                return sample, d
    return None


def _largest(operands: list[T]) -> tuple[int, ...]:
    return max((tuple(t.shape) for t in operands), key=math.prod)


def _check(op: Op, sample: Sample, d: Dtype, layout: str, t: Trial) -> None:
    bench = Bench(t)
    operands = sample.operands()
    # The last operand's domain is the narrower one: a divisor's, an exponent's.
    one = T(*_largest(operands), of=operands[-1].of)
    host = one.make(d, op.name, "one", sample.variant)
    placed = bench.place(host, d, layout)
    args, kwargs = sample.replace(lambda _: placed.tensor, dtype=d, device=bench.device)
    hosts = [placed] * len(operands)
    want = bench.expected(op, sample, hosts)
    bench.check(op.function()(*args, **kwargs), want, op, d, scale_of(op, sample, hosts))
    bench.untouched([placed])
