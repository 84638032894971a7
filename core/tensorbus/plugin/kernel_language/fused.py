"""Kernels beyond the primitives that take one launch instead of several."""

from __future__ import annotations

from collections.abc import Callable

from tensorbus._base import dtypes
from tensorbus._base.dtypes import FLOAT, dtype
from tensorbus.plugin.kernel_language.array import StridedArray
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.pointwise import Expression
from tensorbus.plugin.kernel_language.reduce import Reduction

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


def fold_kernel(device: Device, op: str, d: dtype) -> Callable[..., StridedArray] | None:
    """``mean(x, dims)``, ``any(x, dims)`` or ``all(x, dims)``."""
    if op == "mean" and d.category != FLOAT:
        return None
    return Reduction.of(device, op, d, d if op == "mean" else dtypes.bool)
