"""``softmax``, ``log_softmax`` and their derivatives: two launches each, for five or four."""

from __future__ import annotations

import functools
from typing import Any

import cupy

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus_cuda_cupy.texts import OPTIONS, PRELUDE, elementwise

# The largest element of a line and the sum of exp(x - largest), found together. What joins two
# parts scales the smaller one's sum; equal largest ones need no scale, also where both are -inf.
PEAK = """
template <class T> struct Peak {
    T most, sum;
    __device__ Peak() : most(-INFINITY), sum(0) {}
    __device__ Peak(T m, T s) : most(m), sum(s) {}
    // exp(inf - inf) is NaN, and so is the sum of its line.
    __device__ Peak(T x) : most(x), sum(x == INFINITY ? x - x : 1) {}
};
template <class T> FUNCTION Peak<T> joined(Peak<T> a, Peak<T> b) {
    T most = a.most > b.most || a.most != a.most ? a.most : b.most;
    T left = a.most == most ? a.sum : a.sum * exp(a.most - most);
    T right = b.most == most ? b.sum : b.sum * exp(b.most - most);
    return Peak<T>(most, left + right);
}
"""


def _wide(dtype: dtype) -> tuple[str, str, str]:
    """The C type that a dtype is computed in, and CuPy's names of it and of a pair of it."""
    if dtype.name == "float64":
        return "f64", "float64", "complex128"
    return "f32", "float32", "complex64"


@functools.cache
def _peaks(dtype: dtype) -> Any:
    t, _, pair = _wide(dtype)
    # A reduction has one result: the two numbers leave it as a complex one. With one operand alone
    # CuPy would build it from CUB's parts on a GPU, which no test without a GPU can run.
    return cupy.ReductionKernel(
        f"{dtype.name} x, bool unused", f"{pair} z", f"Peak<{t}>(({t})x)", "joined(a, b)",
        f"z = complex<{t}>(a.most, a.sum)", f"Peak<{t}>()", "tensorbus_peaks",
        reduce_type=f"Peak<{t}>", preamble=PRELUDE + PEAK, options=OPTIONS,
    )  # fmt: skip


@functools.cache
def _dots(dtype: dtype, terms: str) -> Any:
    t, wide, _ = _wide(dtype)
    return cupy.ReductionKernel(
        f"{dtype.name} g, {dtype.name} y", f"{wide} z", terms, "a + b", "z = a", "0",
        "tensorbus_dots", reduce_type=t, preamble=PRELUDE, options=OPTIONS,
    )  # fmt: skip


def _forward(dtype: dtype, result: str) -> Kernel:
    t, _, pair = _wide(dtype)
    body = f"const {t} rest = ({t})x - peak.real(), sum = peak.imag(); z = {result}"
    last = elementwise(f"{dtype.name} x, {pair} peak", f"{dtype.name} z", body, "tensorbus_softmax")

    def softmax(x: Array, dim: int) -> Array:
        return last(x, _peaks(dtype)(x, False, axis=dim, keepdims=True))

    return softmax


def _backward(dtype: dtype, terms: str, result: str) -> Kernel:
    t, wide, _ = _wide(dtype)
    own = dtype.name
    body = f"const {t} dg = g, out = y; z = {result}"
    last = elementwise(f"{own} g, {own} y, {wide} sum", f"{own} z", body, "tensorbus_softmax_back")
    total = _dots(dtype, terms.replace("T", t))

    def backward(g: Array, out: Array, dim: int) -> Array:
        return last(g, out, total(g, out, axis=dim, keepdims=True))

    return backward


def softmax_kernel(op: str, dtype: dtype) -> Kernel | None:
    """The kernel of one of the four ops on operands of *dtype*, or None."""
    if not dtype.is_floating_point:
        return None
    if op == "softmax":
        return _forward(dtype, "exp(rest) / sum")
    if op == "log_softmax":
        return _forward(dtype, "rest - log(sum)")
    if op == "softmax_backward":
        return _backward(dtype, "(T)g * (T)y", "out * (dg - sum)")
    if op == "log_softmax_backward":
        return _backward(dtype, "(T)g", "dg - exp(out) * sum")
    return None
