"""Pointwise compositions that need more than a line."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes


def remainder(F: Any, x: Any, y: Any) -> Any:
    r = F.fmod(x, y)
    if F.dtype.category and not F.dtype.is_signed:
        return r
    negative = F.lt(y if hasattr(y, "shape") else F.number(y), 0)
    wrong = F.bool.bitwise_and(F.ne(r, 0), F.bool.ne(F.lt(r, 0), negative))
    return F.where(wrong, F.add(r, y), r)


def pow_base(F: Any, g: Any, x: Any, y: Any, number: Any) -> Any:
    if number == 0:
        return F.zeros(tuple(g.shape))
    if number == 2:
        return F.mul(g, F.mul(x, 2.0))
    if number == 0.5:  # the power is a root, so it is none of -inf either
        return F.mul(g, F.mul(F.rsqrt(x), 0.5))
    if number is not None:
        return F.mul(g, F.mul(F.pow(x, number - 1), number))
    lower = F.pow(x, F.sub(y, 1.0))
    return F.where(F.eq(y, 0.0), F.number(0), F.mul(g, F.mul(y, lower)))


def pow_exponent(F: Any, g: Any, x: Any, y: Any, out: Any) -> Any:
    flat = F.bool.bitwise_and(F.eq(x, 0.0), _not_negative(F, y))
    return F.mul(g, F.where(flat, F.number(0), F.mul(out, F.log(x))))


def _not_negative(F: Any, x: Any) -> Any:
    if not F.is_complex:
        return F.ge(x, 0.0)
    real, imag = parts(F, x)
    return F.bool.bitwise_and(F.real.ge(real, 0.0), F.real.eq(imag, 0.0))


def parts(F: Any, x: Any) -> tuple[Any, Any]:
    """The real and the imaginary parts of complex numbers."""
    both, last = F.view_as_real(x), len(x.shape)
    return F.real.select(both, last, 0), F.real.select(both, last, 1)


def sigmoid_in_rule(F: Any, x: Any) -> Any:
    """``sigmoid(x)``, for rules: what is recorded keeps its derivative's digits near 1, too."""
    if not F.records:
        return F.sigmoid(x)
    near_0 = F.lt(x, 0.0) if not F.is_complex else F.real.lt(parts(F, x)[0], 0.0)
    s = F.sigmoid(F.where(near_0, x, F.neg(x)))
    return F.where(near_0, s, F.sub(F.number(1), s))


def share(F: Any, g: Any, loses: Any, x: Any, y: Any) -> Any:
    """The gradient but where this operand loses, half of it where both are equal."""
    return F.where(loses, F.number(0), F.where(F.eq(x, y), F.mul(g, 0.5), g))


def in_single(F: Any, function: Any, *operands: Any) -> Any:
    """The function of several steps, computed in float32 where the dtype has fewer digits."""
    if F.dtype.category != dtypes.FLOAT or F.dtype.itemsize > 2:
        return function(F, *operands)
    wide = F.of(dtypes.float32)
    return F.cast(function(wide, *(wide.cast(x, F) for x in operands)), wide)


def hypot(F: Any, x: Any, y: Any) -> Any:
    a, b = F.abs(x), F.abs(y)
    large, small = F.maximum(a, b), F.minimum(a, b)
    ratio = F.div(small, F.where(F.eq(large, 0.0), F.number(1), large))
    found = F.mul(large, F.sqrt(F.add(F.mul(ratio, ratio), 1.0)))
    endless = F.bool.bitwise_or(F.eq(a, math.inf), F.eq(b, math.inf))  # beside a NaN too
    return F.where(endless, F.number(math.inf), found)


def over_square(F: Any, x: Any, length: Any) -> Any:
    """``x / length**2``, 0 where the length is 0."""
    length = F.where(F.eq(length, 0.0), F.number(math.inf), length)
    return F.div(F.div(x, length), length)


def logaddexp(F: Any, x: Any, y: Any) -> Any:
    if F.dtype.is_complex:
        behind = F.real.lt(*(F.real.select(F.view_as_real(z), len(z.shape), 0) for z in (x, y)))
        large, small = F.where(behind, y, x), F.where(behind, x, y)
        return F.add(large, F.log1p(F.exp(F.sub(small, large))))
    rest = F.log1p(F.exp(F.neg(F.abs(F.sub(x, y)))))
    return F.where(F.eq(x, y), F.add(x, math.log(2.0)), F.add(F.maximum(x, y), rest))


def sign(F: Any, x: Any) -> Any:
    up, down = F.lt(F.number(0), x), F.lt(x, 0)
    return F.sub(F.cast(up, F.bool), F.cast(down, F.bool)) if F.dtype.category else up


def one_minus_square(F: Any, x: Any) -> Any:
    return F.mul(F.sub(F.number(1), x), F.add(x, 1.0))


def sinh(F: Any, x: Any) -> Any:
    a = F.abs(x)
    e = F.expm1(a)
    small = F.mul(F.add(e, F.div(e, F.add(e, 1.0))), 0.5)
    value = F.where(F.lt(a, 20.0), small, _half_exp(F, a))
    return F.where(F.lt(x, 0.0), F.neg(value), value)


def cosh(F: Any, x: Any) -> Any:
    a = F.abs(x)
    return F.add(_half_exp(F, a), F.mul(F.exp(F.neg(a)), 0.5))


def _half_exp(F: Any, a: Any) -> Any:
    """``exp(a) / 2``, also where ``exp(a)`` overflows: as the square of a root."""
    root = F.exp(F.mul(a, 0.5))
    return F.mul(F.mul(root, 0.5), root)


def asinh(F: Any, x: Any) -> Any:
    a = F.abs(x)
    square = F.mul(a, a)
    value = F.log1p(F.add(a, F.div(square, F.add(F.sqrt(F.add(square, 1.0)), 1.0))))
    value = F.where(F.lt(a, _LARGE), value, F.add(F.log(a), math.log(2.0)))
    return F.where(F.lt(x, 0.0), F.neg(value), value)


def acosh(F: Any, x: Any) -> Any:
    if F.dtype.is_complex:
        return F.log(F.add(x, F.mul(F.sqrt(F.sub(x, 1.0)), F.sqrt(F.add(x, 1.0)))))
    above = F.sub(x, 1.0)
    value = F.log1p(F.add(above, F.mul(F.sqrt(above), F.sqrt(F.add(above, 2.0)))))
    return F.where(F.lt(x, _LARGE), value, F.add(F.log(x), math.log(2.0)))


_LARGE = 1e9
"""From here on the terms left out are below the last digit; below it squares do not overflow."""


def atanh(F: Any, x: Any) -> Any:
    a = F.abs(x)
    value = F.mul(F.log1p(F.div(F.mul(a, 2.0), F.sub(F.number(1), a))), 0.5)
    return F.where(F.lt(x, 0.0), F.neg(value), value)


def sigmoid(F: Any, x: Any) -> Any:
    found = F.reciprocal(F.add(F.exp(F.neg(x)), 1.0))
    if F.dtype.is_complex:
        return found
    # Far below zero exp(-x) overflows while the result is subnormal still: it is exp(x) there.
    return F.where(F.lt(x, -80.0), F.exp(x), found)


def log2(F: Any, x: Any) -> Any:
    return _exact_at_powers(F, x, 2.0)


def log10(F: Any, x: Any) -> Any:
    return _exact_at_powers(F, x, 10.0)


def _exact_at_powers(F: Any, x: Any, base: float) -> Any:
    found = F.mul(F.log(x), 1.0 / math.log(base))
    if F.dtype.is_complex:
        return found
    whole = F.round(found)
    return F.where(F.eq(F.pow(base, whole), x), whole, found)


def isinf(F: Any, x: Any) -> Any:
    if F.dtype.is_complex:  # either part
        return F.bool.amax(F.real.isinf(F.view_as_real(x)), (len(x.shape),))
    return F.eq(F.abs(x), math.inf) if F.is_float else F.ne(x, x)


def isfinite(F: Any, x: Any) -> Any:
    if F.dtype.is_complex:  # both parts
        return F.bool.amin(F.real.isfinite(F.view_as_real(x)), (len(x.shape),))
    return F.lt(F.abs(x), math.inf) if F.is_float else F.eq(x, x)
