"""Pointwise compositions that need more than a line."""

from __future__ import annotations

import math
from typing import Any


def remainder(F: Any, x: Any, y: Any) -> Any:
    r = F.fmod(x, y)
    if F.dtype.category and not F.dtype.is_signed:
        return r
    negative = F.lt(y if hasattr(y, "shape") else F.number(y), 0)
    wrong = F.bool.bitwise_and(F.ne(r, 0), F.bool.ne(F.lt(r, 0), negative))
    return F.where(wrong, F.add(r, y), r)


def pow_base(F: Any, g: Any, x: Any, y: Any, number: Any) -> Any:
    if number == 0:
        return F.mul(g, 0.0)
    if number == 2:
        return F.mul(g, F.mul(x, 2.0))
    if number is not None:
        return F.mul(g, F.mul(F.pow(x, number - 1), number))
    lower = F.pow(x, F.sub(y, 1.0))
    return F.mul(g, F.where(F.eq(y, 0.0), F.number(0), F.mul(y, lower)))


def share(F: Any, g: Any, wins: Any, x: Any, y: Any) -> Any:
    """All of the gradient where this operand wins, half of it where both are equal."""
    half = F.mul(g, F.cast(F.eq(x, y), F.bool))
    return F.add(F.mul(g, F.cast(wins, F.bool)), F.mul(half, 0.5))


def hypot(F: Any, x: Any, y: Any) -> Any:
    a, b = F.abs(x), F.abs(y)
    large, small = F.maximum(a, b), F.minimum(a, b)
    ratio = F.div(small, F.where(F.eq(large, 0.0), F.number(1), large))
    found = F.mul(large, F.sqrt(F.add(F.mul(ratio, ratio), 1.0)))
    return F.where(F.eq(large, math.inf), large, found)


def sign(F: Any, x: Any) -> Any:
    up, down = F.lt(F.number(0), x), F.lt(x, 0)
    return F.sub(F.cast(up, F.bool), F.cast(down, F.bool)) if F.dtype.category else up


def one_minus_square(F: Any, x: Any) -> Any:
    return F.mul(F.sub(F.number(1), x), F.add(x, 1.0))


def sinh(F: Any, x: Any) -> Any:
    a = F.abs(x)
    e = F.expm1(a)
    small = F.mul(F.add(e, F.div(e, F.add(e, 1.0))), 0.5)
    big = F.exp(F.sub(a, math.log(2.0)))
    value = F.where(F.lt(a, 20.0), small, big)
    return F.where(F.lt(x, 0.0), F.neg(value), value)


def asinh(F: Any, x: Any) -> Any:
    a = F.abs(x)
    square = F.mul(a, a)
    value = F.log1p(F.add(a, F.div(square, F.add(F.sqrt(F.add(square, 1.0)), 1.0))))
    value = F.where(F.lt(a, 1e7), value, F.add(F.log(a), math.log(2.0)))
    return F.where(F.lt(x, 0.0), F.neg(value), value)


def atanh(F: Any, x: Any) -> Any:
    a = F.abs(x)
    value = F.mul(F.log1p(F.div(F.mul(a, 2.0), F.sub(F.number(1), a))), 0.5)
    return F.where(F.lt(x, 0.0), F.neg(value), value)
