"""Modified Bessel functions of orders 0 and 1, plain and scaled: ``torch.special`` and ``i0``.

Those of the first kind are a series in the square up to 8, and beyond it a polynomial in 1 / x
beside ``exp(x) / sqrt(x)``; those of the second kind split at 2.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus.ops.pointwise import modified_bessel_tables as tables
from tensorbus.ops.pointwise.declaring import unary
from tensorbus.ops.pointwise.error_function import polynomial, ratio
from tensorbus.ops.pointwise.special import widened
from tensorbus.ops.pointwise.split import split

_OF_FIRST_KIND = "The modified Bessel function of the first kind of order"
_OF_SECOND_KIND = "The modified Bessel function of the second kind of order"

# fmt: off
unary("i0", doc=f"{_OF_FIRST_KIND} 0", domain="ordered float",
      composite=lambda F, x: widened(F, x, _first_kind, 0, False),
      x=lambda F, g, x: F.mul(g, F.i1(x)))
unary("i0e", doc="``exp(-abs(input)) * i0(input)``", domain="ordered float", special=True,
      node_name="SpecialI0EBackward0",
      composite=lambda F, x: widened(F, x, _first_kind, 0, True),
      x=lambda F, g, x, out: F.mul(g, F.sub(F.i1e(x), F.mul(F.sign(x), out))))
unary("i1", doc=f"{_OF_FIRST_KIND} 1", domain="ordered float", special=True,
      node_name="SpecialI1Backward0",
      composite=lambda F, x: widened(F, x, _first_kind, 1, False),
      x=lambda F, g, x, out: F.mul(g, _slope(F, x, F.i0(x), out, False)))
unary("i1e", doc="``exp(-abs(input)) * i1(input)``", domain="ordered float", special=True,
      node_name="SpecialI1EBackward0",
      composite=lambda F, x: widened(F, x, _first_kind, 1, True),
      x=lambda F, g, x, out: F.mul(g, _slope(F, x, F.i0e(x), out, True)))
unary("modified_bessel_i0", doc="``i0(input)``, but without a gradient",
      domain="ordered float", special=True,
      composite=lambda F, x: F.i0(x))
unary("modified_bessel_i1", doc="``i1(input)``, but without a gradient",
      domain="ordered float", special=True,
      composite=lambda F, x: F.i1(x))
unary("modified_bessel_k0", doc=f"{_OF_SECOND_KIND} 0: NaN below 0",
      domain="ordered float", special=True,
      composite=lambda F, x: widened(F, x, _second_kind, 0, False))
unary("modified_bessel_k1", doc=f"{_OF_SECOND_KIND} 1: NaN below 0",
      domain="ordered float", special=True,
      composite=lambda F, x: widened(F, x, _second_kind, 1, False))
unary("scaled_modified_bessel_k0", doc="``exp(x) * modified_bessel_k0(x)``",
      domain="ordered float", special=True, argument="x",
      composite=lambda F, x: widened(F, x, _second_kind, 0, True))
unary("scaled_modified_bessel_k1", doc="``exp(x) * modified_bessel_k1(x)``",
      domain="ordered float", special=True, argument="x",
      composite=lambda F, x: widened(F, x, _second_kind, 1, True))
# fmt: on

_FIRST_SPLIT = 8.0
_SECOND_SPLIT = 2.0
_UNDERFLOW = 800.0
"""From here on ``exp(-x)`` is 0 in every dtype."""


def _series(F: Any, a: Any, order: int) -> Any:
    """The functions of the first kind up to 8."""
    half = F.mul(a, 0.5)
    value = polynomial(F, F.mul(half, half), tables.FIRST_INNER[order])
    return F.mul(half, value) if order else value


def _first_kind(F: Any, x: Any, order: int, scaled: bool) -> Any:
    def inner(F: Any, a: Any) -> Any:
        small = F.minimum(a, _FIRST_SPLIT)
        value = _series(F, small, order)
        return F.mul(value, F.exp(F.neg(small))) if scaled else value

    def outer(F: Any, a: Any) -> Any:
        large = F.maximum(a, _FIRST_SPLIT)
        place = F.sub(F.div(F.number(2.0 * _FIRST_SPLIT), large), 1.0)
        value = F.div(polynomial(F, place, tables.FIRST_OUTER[order]), F.sqrt(large))
        if scaled:
            return value
        # In two factors: the exponential overflows before the product does.
        half = F.exp(F.mul(F.minimum(large, _UNDERFLOW), 0.5))
        return F.mul(F.mul(value, half), half)

    a = F.abs(x)
    value = split(F, F.lt(a, _FIRST_SPLIT), inner, outer, a)
    if not scaled:
        value = F.where(F.eq(a, math.inf), a, value)
    if order:
        value = F.where(F.lt(x, 0.0), F.neg(value), value)
    return F.where(F.ne(x, x), x, value)


def _slope(F: Any, x: Any, zeroth: Any, first: Any, scaled: bool) -> Any:
    """``i0(x) - i1(x) / x``, which is 1/2 at 0; less ``sign(x) * i1e(x)`` of the scaled form."""
    zero = F.eq(x, 0.0)
    value = F.sub(zeroth, F.div(first, F.where(zero, F.number(1.0), x)))
    if scaled:
        value = F.sub(value, F.mul(F.sign(x), first))
    return F.where(zero, F.number(0.5), value)


def _second_kind(F: Any, x: Any, order: int, scaled: bool) -> Any:
    def inner(F: Any, x: Any) -> Any:
        small = F.minimum(x, _SECOND_SPLIT)
        half = F.mul(small, 0.5)
        log = F.mul(F.log(half), _series(F, small, order))
        regular = polynomial(F, F.mul(half, half), tables.SECOND_INNER[order])
        if order:
            value = F.add(F.add(F.mul(regular, small), log), F.reciprocal(small))
        else:
            value = F.sub(regular, log)
        return F.mul(value, F.exp(small)) if scaled else value

    def outer(F: Any, x: Any) -> Any:
        large = F.maximum(x, _SECOND_SPLIT)
        inverse = F.div(F.number(_SECOND_SPLIT), large)
        value = F.div(ratio(F, inverse, tables.SECOND_OUTER[order]), F.sqrt(large))
        return value if scaled else F.mul(value, F.exp(F.neg(large)))

    value = split(F, F.lt(x, _SECOND_SPLIT), inner, outer, x)
    value = F.where(F.eq(x, 0.0), F.number(math.inf), value)
    return F.where(F.lt(x, 0.0), F.number(math.nan), value)
