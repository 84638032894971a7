"""Levels 2 and 4: what an op may keep between calls: nothing, whichever kernel serves it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, flatten
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.op_values import level, needed, scale_of
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.interleaving import in_rounds
from tensorbus_conformance.op import Op, Sample
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial

CALLS = 7


def cases() -> Iterator[Case]:
    for op in all_ops():
        found = _sample(op)
        if found is None:
            continue
        sample, d = found
        stem = f"{level(op)}/{op.name}/{d.name}"
        needs = needed(op, d)
        part = functools.partial
        yield Case(f"{stem}/steady", op.family or "ops", part(_steady, op, sample, d), needs)
        if op.name in THREADED:
            yield Case(f"{stem}/threads", op.family or "ops", part(_threads, op, sample, d), needs)


_F = "nn.functional."
THREADED = frozenset(
    "relu sigmoid clamp softmax mean any all erf sign remainder exp2 logsumexp nonzero cat".split()
) | {
    _F + name
    for name in "softmax log_softmax conv2d max_pool2d avg_pool2d layer_norm gelu linear "
    "cross_entropy batch_norm group_norm rms_norm".split()
}
"""Ops that backends have kernels of their own for."""


def _sample(op: Op) -> tuple[Sample, Dtype] | None:
    """The first sample with an operand that is drawn, in the first of the usual dtypes."""
    for d in (formats.FLOAT32, formats.INT64, formats.BOOL):
        if d not in op.dtypes:
            continue
        for sample in op.samples:
            drawn = [t for t in sample.operands() if t.data is None and 0 not in t.shape]
            if drawn and sample.takes(d):
                return sample, d
    return None


class _Call:
    """An op with operands of its own."""

    def __init__(self, bench: Bench, op: Op, sample: Sample, d: Dtype, which: int):
        self.bench, self.op, self.sample, self.dtype = bench, op, sample, d
        self.args, self.kwargs, self.placed = bench.operands(
            sample, d, "contiguous", op.name, "steady", which
        )

    def run(self) -> Any:
        return self.op.function()(*self.args, **self.kwargs)

    def check(self, got: Any) -> None:
        want = self.bench.expected(self.op, self.sample, self.placed)
        scale = scale_of(self.op, self.sample, self.placed)
        self.bench.check(got, want, self.op, self.dtype, scale)
        self.bench.untouched(self.placed)


def _steady(op: Op, sample: Sample, d: Dtype, t: Trial) -> None:
    """Calls in turn over two sets of operands, all results kept; then one of them is written to."""
    bench = Bench(t)
    held = []
    for call in range(CALLS):
        made = _Call(bench, op, sample, d, call % 3 % 2)
        held.append((made, made.run()))
    for made, got in held:
        made.check(got)
    if op.view or not op.fresh:
        return
    first, got = held[0]
    before = [bench.read(r).copy() for r in flatten(held[1][1]) if isinstance(r, tensorbus.Tensor)]
    for leaf in flatten(got):
        if isinstance(leaf, tensorbus.Tensor) and leaf.numel():
            leaf.detach().zero_()
    bench.untouched(first.placed)
    after = [bench.read(r) for r in flatten(held[1][1]) if isinstance(r, tensorbus.Tensor)]
    for a, b in zip(after, before, strict=True):
        if not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            raise Mismatch("a write to one result changed that of another call")
    again = _Call(bench, op, sample, d, 0)
    again.check(again.run())


def _threads(op: Op, sample: Sample, d: Dtype, t: Trial) -> None:
    """Two threads call the op in turn, each with operands of its own."""
    bench = Bench(t)
    work = [[_Call(bench, op, sample, d, who) for _ in range(3)] for who in range(2)]
    results: list[list[Any]] = [[], []]
    work[0][0].run()  # what is made once for an op is made

    def body(who: int, call: int) -> None:
        results[who].append(work[who][call].run())

    in_rounds(3, body)
    for calls, found in zip(work, results, strict=True):
        for made, got in zip(calls, found, strict=True):
            made.check(got)
