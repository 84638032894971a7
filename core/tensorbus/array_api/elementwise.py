"""The standard's element-wise functions."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus import Tensor
from tensorbus.array_api._operands import binary, both, unary


def _rounded(x: Tensor) -> Tensor:
    if not x.is_complex():
        return x.round()
    return tensorbus.complex(x.real.round(), x.imag.round())


def _expm1(x: Tensor) -> Tensor:
    made = tensorbus.expm1(x)
    # NumPy and PyTorch give NaN for parts of infinite complex numbers that the standard states.
    return tensorbus.where(tensorbus.isfinite(x), made, x.exp() - 1) if x.is_complex() else made


def _sign(x: Tensor) -> Tensor:
    made = tensorbus.sgn(x)
    return tensorbus.where(tensorbus.isnan(x), x, made) if x.is_floating_point() else made


abs = unary("abs", tensorbus.abs, "The absolute value")
acos = unary("acos", tensorbus.acos, "The inverse cosine")
acosh = unary("acosh", tensorbus.acosh, "The inverse hyperbolic cosine")
asin = unary("asin", tensorbus.asin, "The inverse sine")
asinh = unary("asinh", tensorbus.asinh, "The inverse hyperbolic sine")
atan = unary("atan", tensorbus.atan, "The inverse tangent")
atanh = unary("atanh", tensorbus.atanh, "The inverse hyperbolic tangent")
bitwise_invert = unary("bitwise_invert", tensorbus.bitwise_not, "All bits inverted")
ceil = unary("ceil", tensorbus.ceil, "The least integer that is not less")
conj = unary("conj", tensorbus.conj_physical, "The complex conjugate")
cos = unary("cos", tensorbus.cos, "The cosine")
cosh = unary("cosh", tensorbus.cosh, "The hyperbolic cosine")
exp = unary("exp", tensorbus.exp, "e to the power of the value")
expm1 = unary("expm1", _expm1, "e to the power of the value, less one")
floor = unary("floor", tensorbus.floor, "The greatest integer that is not greater")
imag = unary("imag", tensorbus.imag, "The imaginary part")
isfinite = unary("isfinite", tensorbus.isfinite, "Whether the value is finite")
isinf = unary("isinf", tensorbus.isinf, "Whether the value is infinite")
isnan = unary("isnan", tensorbus.isnan, "Whether the value is NaN")
log = unary("log", tensorbus.log, "The natural logarithm")
log10 = unary("log10", tensorbus.log10, "The logarithm to base 10")
log1p = unary("log1p", tensorbus.log1p, "The natural logarithm of one more than the value")
log2 = unary("log2", tensorbus.log2, "The logarithm to base 2")
logical_not = unary("logical_not", tensorbus.logical_not, "Whether the value is false")
negative = unary("negative", tensorbus.neg, "The negated value")
positive = unary("positive", tensorbus.positive, "The value itself")
real = unary("real", tensorbus.real, "The real part")
reciprocal = unary("reciprocal", tensorbus.reciprocal, "One divided by the value")
round = unary("round", _rounded, "The nearest integer, the even one of two")
sign = unary("sign", _sign, "The sign")
signbit = unary("signbit", tensorbus.signbit, "Whether the sign bit is set")
sin = unary("sin", tensorbus.sin, "The sine")
sinh = unary("sinh", tensorbus.sinh, "The hyperbolic sine")
sqrt = unary("sqrt", tensorbus.sqrt, "The square root")
square = unary("square", tensorbus.square, "The square")
tan = unary("tan", tensorbus.tan, "The tangent")
tanh = unary("tanh", tensorbus.tanh, "The hyperbolic tangent")
trunc = unary("trunc", tensorbus.trunc, "The value without its fraction")

add = binary("add", tensorbus.add, "The sum")
atan2 = binary("atan2", tensorbus.atan2, "The angle of the point (x2, x1)")
bitwise_and = binary("bitwise_and", tensorbus.bitwise_and, "AND of the bits")
bitwise_left_shift = binary(
    "bitwise_left_shift", tensorbus.bitwise_left_shift, "The bits moved to the left"
)
bitwise_or = binary("bitwise_or", tensorbus.bitwise_or, "OR of the bits")
bitwise_right_shift = binary(
    "bitwise_right_shift", tensorbus.bitwise_right_shift, "The bits moved to the right"
)
bitwise_xor = binary("bitwise_xor", tensorbus.bitwise_xor, "Exclusive OR of the bits")
copysign = binary("copysign", tensorbus.copysign, "x1 with the sign of x2")
divide = binary("divide", tensorbus.true_divide, "The quotient")
equal = binary("equal", tensorbus.eq, "Whether x1 is equal to x2")
floor_divide = binary("floor_divide", tensorbus.floor_divide, "The quotient, rounded down")
greater = binary("greater", tensorbus.gt, "Whether x1 is greater than x2")
greater_equal = binary("greater_equal", tensorbus.ge, "Whether x1 is not less than x2")
hypot = binary("hypot", tensorbus.hypot, "The square root of the sum of the squares")
less = binary("less", tensorbus.lt, "Whether x1 is less than x2")
less_equal = binary("less_equal", tensorbus.le, "Whether x1 is not greater than x2")
logaddexp = binary("logaddexp", tensorbus.logaddexp, "The logarithm of exp(x1) + exp(x2)")
logical_and = binary("logical_and", tensorbus.logical_and, "Whether both values are true")
logical_or = binary("logical_or", tensorbus.logical_or, "Whether one of the values is true")
logical_xor = binary("logical_xor", tensorbus.logical_xor, "Whether just one value is true")
maximum = binary("maximum", tensorbus.maximum, "The greater value")
minimum = binary("minimum", tensorbus.minimum, "The lesser value")
multiply = binary("multiply", tensorbus.mul, "The product")
nextafter = binary("nextafter", tensorbus.nextafter, "The number next to x1 towards x2")
not_equal = binary("not_equal", tensorbus.ne, "Whether x1 is not equal to x2")
pow = binary("pow", tensorbus.pow, "x1 to the power of x2")
remainder = binary("remainder", tensorbus.remainder, "The remainder, with the sign of x2")
subtract = binary("subtract", tensorbus.sub, "The difference")


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """The values of x where they lie between min and max, else the bound; x's dtype."""
    d = x.dtype
    if min is not None:
        x = tensorbus.maximum(*both(x, min))
    if max is not None:
        x = tensorbus.minimum(*both(x, max))
    return x.clone() if min is None and max is None else x.to(d)


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip
