"""Pointwise kernels, one launch each, from the expressions of the generator.

CuPy's own functions send integer remainders through double, round quotients that float ``//`` must
not, and leave shifts beyond the width to the hardware. Complex numbers are left to them, but for
quotients, which come out NaN where a divisor is infinite.
"""

from __future__ import annotations

from typing import Any

import cupy

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.kernel_language.scalars import TO_BOOL, UNARY, expression
from tensorbus.plugin.kernel_language.types import compute_type
from tensorbus.plugin.kernel_language.vector_maths import vector_maths
from tensorbus_cuda_cupy.texts import elementwise

# Pointwise rows of the frontend that would be several launches each. The tail of erfc keeps its
# digits, where 1 + erf has none left.
ACTIVATIONS = {
    "gelu": "x * (({T})0.5 * erfc(-x * ({T})0.7071067811865476))",
    "gelu_tanh": "x * ({T})0.5 * (({T})1 + tanh((x + x * (x * x) * ({T})0.044715)"
    " * ({T})0.7978845608028654))",
    "silu": "x * (({T})1 / (({T})1 + exp(-x)))",
}


def pointwise_kernel(op: str, dtype: dtype) -> Kernel | None:
    """The kernel of *op* on operands of *dtype*, or None where there is no expression for it."""
    if op == "where":
        return _where(dtype)
    if dtype.is_complex:
        return _complex_div(dtype) if op == "div" else None
    found = expression(op, dtype)
    if found is None and op in ACTIVATIONS and dtype.is_floating_point:
        found = ACTIVATIONS[op].replace("{T}", compute_type(dtype)), ""
    if found is None:
        return None
    text, helpers = found
    helpers += vector_maths(text, frozenset())  # CUDA's own functions are branch-free
    own, result = dtype.name, "bool" if op in TO_BOOL else dtype.name
    # float16 is computed in float32; the operands' names are the expression's.
    unary = op in UNARY or op in ACTIVATIONS
    names = "x" if unary else "xy"
    given = ", ".join(f"{own} {name}_given" for name in names)
    body = "".join(f"const {compute_type(dtype)} {n} = {n}_given; " for n in names)
    kernel = elementwise(given, f"{result} z", f"{body}z = {text}", f"tensorbus_{op}", helpers)
    return _unary(kernel, own) if unary else _binary(kernel, own)


def _unary(kernel: Any, own: str) -> Kernel:
    def unary(x: Array, out: Array | None = None) -> Array:
        if not isinstance(x, cupy.ndarray):
            x = cupy.full((), x, own)
        return kernel(x) if out is None else kernel(x, out)

    return unary


def _binary(kernel: Any, own: str) -> Kernel:
    def binary(x: Array, y: Array, out: Array | None = None) -> Array:
        if not isinstance(x, cupy.ndarray) and not isinstance(y, cupy.ndarray):
            x = cupy.full((), x, own)  # a kernel of numbers alone has no size
        return kernel(x, y) if out is None else kernel(x, y, out)

    return binary


def _where(dtype: dtype) -> Kernel:
    own = dtype.name
    kernel = elementwise(
        f"bool c, {own} x, {own} y", f"{own} z", "if (c) z = x; else z = y", "tensorbus_where"
    )

    def where(c: Array, x: Array, y: Array, out: Array | None = None) -> Array:
        return kernel(c, x, y) if out is None else kernel(c, x, y, out)

    return where


# By the ratio of the divisor's parts, as NumPy and PyTorch divide: no square can overflow.
QUOTIENT = """
template <class T, class Z> FUNCTION Z quotient(Z x, Z y) {
    T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    if (fabs(c) >= fabs(d)) {
        if (c == 0 && d == 0) return Z(a / fabs(c), b / fabs(c));
        T ratio = d / c, scale = (T)1 / (c + d * ratio);
        return Z((a + b * ratio) * scale, (b - a * ratio) * scale);
    }
    T ratio = c / d, scale = (T)1 / (d + c * ratio);
    return Z((a * ratio + b) * scale, (b * ratio - a) * scale);
}
"""


def _complex_div(dtype: dtype) -> Kernel:
    own, part = dtype.name, "f32" if dtype.name == "complex64" else "f64"
    return _binary(
        elementwise(
            f"{own} x, {own} y", f"{own} z", f"z = quotient<{part}>(x, y)", "tensorbus_div",
            QUOTIENT,
        ),
        own,
    )  # fmt: skip
