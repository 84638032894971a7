"""Kernels beyond the primitives that take one launch instead of several."""

from __future__ import annotations

from collections.abc import Callable

from tensorbus._base import dtypes
from tensorbus._base.dtypes import FLOAT, dtype
from tensorbus.plugin.kernel_language.array import StridedArray
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.pointwise import Expression
from tensorbus.plugin.kernel_language.reduce import Reduction
from tensorbus.plugin.kernel_language.types import compute_type, load, store

# A value that is NaN compares false, so it stays; a bound that is NaN gives NaN.
_RAISED = "(x < lo || lo != lo ? lo : x)"
_CLAMPS = {
    "clamp_min": (("lo",), _RAISED),
    "clamp_max": (("hi",), "x > hi || hi != hi ? hi : x"),
    "clamp": (("lo", "hi"), f"{_RAISED} > hi || hi != hi ? hi : {_RAISED}"),
}


def clamp_kernel(device: Device, op: str, d: dtype) -> Callable[..., StridedArray]:
    """``clamp_min(x, lo)``, ``clamp_max(x, hi)`` or ``clamp(x, lo, hi)``."""
    names, text = _CLAMPS[op]
    values = [("x", d), *[(name, d) for name in names]]
    return Expression(device, f"k_{op}", values, d, text).__call__


def softmax_kernel(device: Device, op: str, d: dtype) -> Callable[..., StridedArray] | None:
    """``softmax(x, dim)`` or ``log_softmax(x, dim)``: one work item per line."""
    if d.category != FLOAT:
        return None
    t = compute_type(d)
    value = load(d, "x", "x_i + r * kx")
    last = f"exp({value} - most) / total"
    if op == "log_softmax":
        last = f"{value} - most - log(total)"
    body = f"""
    {t} most = {load(d, "x", "x_i")}, total = 0, lost = 0;
    for (i64 r = 1; r < n; r++) {{ {t} v = {value}; most = v > most || v != v ? v : most; }}
    for (i64 r = 0; r < n; r++) {{
        {t} v = exp({value} - most) - lost, next = total + v;
        lost = (next - total) - v;
        total = next;
    }}
    for (i64 r = 0; r < n; r++) {{ {store(d, "out", "out_i + r * ko", last)} }}
    """
    nest = LoopNest(
        device,
        f"k_{op}",
        [Operand("out", d, written=True), Operand("x", d)],
        body,
        [("i64", "n"), ("i64", "ko"), ("i64", "kx")],
    )

    def softmax(x: StridedArray, dim: int, out: StridedArray | None = None) -> StridedArray:
        if out is None:
            out = device.new(x.shape, d)
        if 0 in x.shape:
            return out
        if not x.shape:
            plan = nest.plan((), ((), ()))
            along = (1, 0, 0)
        else:
            shape, so, sx = ((*s[:dim], *s[dim + 1 :]) for s in (x.shape, out.strides, x.strides))
            plan = nest.plan(shape, (so, sx))
            along = (x.shape[dim], out.strides[dim], x.strides[dim])
        plan.launch(plan.size, out.buffer, out.offset, x.buffer, x.offset, *plan.layout, *along)
        return out

    return softmax


def fold_kernel(device: Device, op: str, d: dtype) -> Callable[..., StridedArray] | None:
    """``mean(x, dims)``, ``any(x, dims)`` or ``all(x, dims)``."""
    if op == "mean" and d.category != FLOAT:
        return None
    return Reduction.of(device, op, d, d if op == "mean" else dtypes.bool)
