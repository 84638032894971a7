"""How long one call of an op takes on a device, beside the same call on the CPU."""

from __future__ import annotations

import time
from typing import Any

import tensorbus
from tensorbus import discovery
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance.bench import Bench, needs_of_cpu
from tensorbus_conformance.op import Op, Sample
from tensorbus_conformance.trial import Device, Trial, Unsupported

ROUNDS = 5


def relative_to_cpu(op: Op, sample: Sample, dtype: Dtype, t: Trial) -> float | None:
    """The time of a warm call with a sample's operands over the CPU's.

    None on the CPU, and where that lacks a dtype.
    """
    if t.device.type.startswith("cpu:"):
        return None
    try:
        needs_of_cpu(dtype, *op.result_dtypes(dtype, 1))
    except Unsupported:
        return None
    here, there = Bench(t), Bench(Trial(Device(discovery.backend("cpu"))))
    return _seconds(op, sample, dtype, here) / _seconds(op, sample, dtype, there)


def _seconds(op: Op, sample: Sample, dtype: Dtype, bench: Bench) -> float:
    args, kwargs, _ = bench.operands(sample, dtype, "contiguous", op.name)
    function: Any = op.function()
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        function(*args, **kwargs)
        tensorbus.accelerator.synchronize(bench.device)
        best = min(best, time.perf_counter() - begin)
    return best
