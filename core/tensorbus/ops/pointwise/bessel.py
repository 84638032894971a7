"""Bessel functions of the first and second kind, of orders 0 and 1: ``torch.special``.

Up to 8 a polynomial in the square, with the first two zeros as factors; beyond 8 the amplitude
and the phase of Hankel's form, as polynomials in the inverse square.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus.ops.pointwise import bessel_tables as tables
from tensorbus.ops.pointwise.declaring import unary
from tensorbus.ops.pointwise.error_function import polynomial
from tensorbus.ops.pointwise.special import widened

# fmt: off
unary("bessel_j0", doc="The Bessel function of the first kind of order 0",
      domain="ordered float", special=True, composite=lambda F, x: widened(F, x, _j0))
unary("bessel_j1", doc="The Bessel function of the first kind of order 1",
      domain="ordered float", special=True, composite=lambda F, x: widened(F, x, _j1))
unary("bessel_y0", doc="The Bessel function of the second kind of order 0: NaN below 0",
      domain="ordered float", special=True, composite=lambda F, x: widened(F, x, _y0))
unary("bessel_y1", doc="The Bessel function of the second kind of order 1: NaN below 0",
      domain="ordered float", special=True, composite=lambda F, x: widened(F, x, _y1))
unary("spherical_bessel_j0", doc="``sin(x) / x``, 1 at 0",
      domain="ordered float", special=True, argument="x",
      composite=lambda F, x: widened(F, x, _spherical_j0))
# fmt: on

_SPLIT = 8.0
_TWO_OVER_PI = 2.0 / math.pi


def _square(F: Any, a: Any) -> tuple[Any, Any]:
    """The argument cut to the inner range, and where its square lies there: -1 to 1."""
    small = F.minimum(a, _SPLIT)
    return small, F.sub(F.mul(F.mul(small, small), 1.0 / 32.0), 1.0)


def _from_zeros(F: Any, a: Any, zeros: tuple[tuple[float, float], ...]) -> Any:
    """The product of ``a**2 - zero**2``; a zero is the sum of two numbers, which keeps digits."""
    product: Any = None
    for high, low in zeros:
        factor = F.mul(F.sub(F.sub(a, high), low), F.add(a, high))
        product = factor if product is None else F.mul(product, factor)
    return product


def _inner_j0(F: Any, a: Any, t: Any) -> Any:
    return F.mul(_from_zeros(F, a, tables.J0_ZEROS), polynomial(F, t, tables.J0))


def _inner_j1(F: Any, a: Any, t: Any) -> Any:
    return F.mul(F.mul(a, _from_zeros(F, a, tables.J1_ZEROS)), polynomial(F, t, tables.J1))


def _wave(F: Any, a: Any, order: int) -> tuple[Any, Any]:
    """The functions of the first and the second kind from 8 on."""
    a = F.maximum(a, _SPLIT)
    inverse = F.div(F.number(_SPLIT), a)
    square = F.mul(inverse, inverse)
    amplitude = polynomial(F, square, tables.AMPLITUDES[order])
    shift = F.div(polynomial(F, square, tables.SHIFTS[order]), a)
    sine, cosine = F.sin(a), F.cos(a)
    # The phase is a - pi / 4, or a - 3 * pi / 4; both parts lack a factor 1 / sqrt(2).
    real, imaginary = F.add(cosine, sine), F.sub(sine, cosine)
    if order:
        real, imaginary = imaginary, F.neg(real)
    scale = F.reciprocal(F.sqrt(F.mul(a, math.pi)))
    first = F.sub(F.mul(amplitude, real), F.mul(shift, imaginary))
    second = F.add(F.mul(amplitude, imaginary), F.mul(shift, real))
    # The sine of infinity is no number, but the amplitude is 0.
    end = F.eq(a, math.inf)
    zero = F.number(0.0)
    return F.where(end, zero, F.mul(first, scale)), F.where(end, zero, F.mul(second, scale))


def _j0(F: Any, x: Any) -> Any:
    a = F.abs(x)
    small, t = _square(F, a)
    return F.where(F.lt(a, _SPLIT), _inner_j0(F, small, t), _wave(F, a, 0)[0])


def _j1(F: Any, x: Any) -> Any:
    a = F.abs(x)
    small, t = _square(F, a)
    value = F.where(F.lt(a, _SPLIT), _inner_j1(F, small, t), _wave(F, a, 1)[0])
    return F.where(F.lt(x, 0.0), F.neg(value), F.where(F.eq(x, 0.0), x, value))


def _second_kind(F: Any, x: Any, inner: Any, outer: Any) -> Any:
    """Below 0 there is none, and a pole at 0."""
    value = F.where(F.lt(x, _SPLIT), inner, outer)
    value = F.where(F.eq(x, 0.0), F.number(-math.inf), value)
    return F.where(F.lt(x, 0.0), F.number(math.nan), value)


def _y0(F: Any, x: Any) -> Any:
    small, t = _square(F, x)
    log = F.mul(F.log(small), _TWO_OVER_PI)
    inner = F.add(F.mul(log, _inner_j0(F, small, t)), polynomial(F, t, tables.Y0))
    return _second_kind(F, x, inner, _wave(F, x, 0)[1])


def _y1(F: Any, x: Any) -> Any:
    small, t = _square(F, x)
    log = F.mul(F.log(small), _inner_j1(F, small, t))
    regular = F.mul(small, polynomial(F, t, tables.Y1))
    inner = F.add(F.mul(log, _TWO_OVER_PI), regular)
    inner = F.sub(inner, F.div(F.number(_TWO_OVER_PI), small))
    return _second_kind(F, x, inner, _wave(F, x, 1)[1])


def _spherical_j0(F: Any, x: Any) -> Any:
    value = F.div(F.sin(x), x)
    value = F.where(F.eq(F.abs(x), math.inf), F.number(0.0), value)
    return F.where(F.eq(x, 0.0), F.number(1.0), value)
