"""Bessel functions of the first and second kind, of orders 0 and 1: ``torch.special``.

Up to 8 a polynomial in the square, with the first two zeros as factors; beyond 8 the amplitude
and the phase of a wave, as polynomials in the inverse square.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus.ops.pointwise import bessel_tables as tables
from tensorbus.ops.pointwise.declaring import unary
from tensorbus.ops.pointwise.error_function import polynomial
from tensorbus.ops.pointwise.special import widened
from tensorbus.ops.pointwise.split import sees_values, split

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
_EXACT = 8e5
"""Below it the quarters of a turn have 20 bits."""
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


def _wave(F: Any, a: Any, order: int, second: bool) -> Any:
    """A function of the first or the second kind from 8 on."""
    a = F.maximum(a, _SPLIT)
    inverse = F.div(F.number(_SPLIT), a)
    square = F.mul(inverse, inverse)
    phase = F.div(polynomial(F, square, tables.PHASES[order]), a)
    if F.dtype is dtypes.float64 and sees_values(F):
        # By a third of the time that the functions of the library take.
        sine = split(
            F,
            F.lt(a, _EXACT),
            lambda F, a, phase: _near_zero(F, a, phase, order, second),
            lambda F, a, phase: _turned(F, a, phase, order, second),
            a,
            phase,
        )
    else:
        sine = _turned(F, a, phase, order, second)
    amplitude = polynomial(F, square, tables.AMPLITUDES[order])
    value = F.mul(F.div(amplitude, F.sqrt(F.mul(a, 0.5 * math.pi))), sine)
    # The sine of infinity is no number, but the amplitude is 0.
    return F.where(F.eq(a, math.inf), F.number(0.0), value)


def _turned(F: Any, a: Any, phase: Any, order: int, second: bool) -> Any:
    """The cosine, or the sine, of a and the phase, less a quarter of pi or three of them."""
    sine, cosine = F.sin(a), F.cos(a)
    real, imaginary = F.add(cosine, sine), F.sub(sine, cosine)
    if order:
        real, imaginary = imaginary, F.neg(real)
    if second:
        real, imaginary = imaginary, F.neg(real)
    value = F.sub(F.mul(real, F.cos(phase)), F.mul(imaginary, F.sin(phase)))
    return F.mul(value, math.sqrt(0.5))


def _near_zero(F: Any, a: Any, phase: Any, order: int, second: bool) -> Any:
    """The same, by the sine of the distance from the nearest zero, which keeps its digits."""
    first = (1 if second else 3) + 2 * order
    turns = F.round(F.sub(F.mul(a, 1.0 / math.pi), 0.25 * first))
    quarters = F.add(F.mul(turns, 4.0), float(first))
    for part in tables.QUARTER_TURN:
        a = F.sub(a, F.mul(quarters, part))
    a = F.add(a, phase)
    square = F.mul(a, a)
    sine = F.add(a, F.mul(a, F.mul(square, polynomial(F, square, tables.SINE))))
    half = F.mul(turns, 0.5)
    odd = F.sub(half, F.floor(half))
    return F.mul(sine, F.sub(F.mul(odd, -4.0), -1.0) if second else F.sub(F.mul(odd, 4.0), 1.0))


def _j0(F: Any, x: Any) -> Any:
    def inner(F: Any, a: Any) -> Any:
        return _inner_j0(F, *_square(F, a))

    a = F.abs(x)
    return split(F, F.lt(a, _SPLIT), inner, lambda F, a: _wave(F, a, 0, False), a)


def _j1(F: Any, x: Any) -> Any:
    def inner(F: Any, a: Any) -> Any:
        return _inner_j1(F, *_square(F, a))

    a = F.abs(x)
    value = split(F, F.lt(a, _SPLIT), inner, lambda F, a: _wave(F, a, 1, False), a)
    return F.where(F.lt(x, 0.0), F.neg(value), F.where(F.eq(x, 0.0), x, value))


def _second_kind(F: Any, x: Any, inner: Any, order: int) -> Any:
    """Below 0 there is none, and a pole at 0."""
    value = split(F, F.lt(x, _SPLIT), inner, lambda F, x: _wave(F, x, order, True), x)
    value = F.where(F.eq(x, 0.0), F.number(-math.inf), value)
    return F.where(F.lt(x, 0.0), F.number(math.nan), value)


def _y0(F: Any, x: Any) -> Any:
    def inner(F: Any, x: Any) -> Any:
        small, t = _square(F, x)
        log = F.mul(F.log(small), _TWO_OVER_PI)
        return F.add(F.mul(log, _inner_j0(F, small, t)), polynomial(F, t, tables.Y0))

    return _second_kind(F, x, inner, 0)


def _y1(F: Any, x: Any) -> Any:
    def inner(F: Any, x: Any) -> Any:
        small, t = _square(F, x)
        log = F.mul(F.log(small), _inner_j1(F, small, t))
        regular = F.mul(small, polynomial(F, t, tables.Y1))
        value = F.add(F.mul(log, _TWO_OVER_PI), regular)
        return F.sub(value, F.div(F.number(_TWO_OVER_PI), small))

    return _second_kind(F, x, inner, 1)


def _spherical_j0(F: Any, x: Any) -> Any:
    value = F.div(F.sin(x), x)
    value = F.where(F.eq(F.abs(x), math.inf), F.number(0.0), value)
    return F.where(F.eq(x, 0.0), F.number(1.0), value)
