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
from tensorbus.ops.pointwise.split import over, sees_values, split

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
    small = a if _are_apart(F, a) else F.minimum(a, _SPLIT)
    t = F.mul(small, small)
    t = F.mul(t, 1.0 / 32.0, out=over(F, t))
    return small, F.sub(t, 1.0, out=over(F, t))


def _are_apart(F: Any, a: Any) -> bool:
    """Whether each formula is computed for its own elements alone."""
    return sees_values(F) and len(a.shape) > 0


def _from_zeros(F: Any, a: Any, zeros: tuple[tuple[float, float], ...]) -> Any:
    """The product of ``a**2 - zero**2``; a zero is the sum of two numbers, which keeps digits."""
    product: Any = None
    for high, low in zeros:
        factor = F.sub(a, high)
        factor = F.sub(factor, low, out=over(F, factor))
        factor = F.mul(factor, F.add(a, high), out=over(F, factor))
        product = factor if product is None else F.mul(product, factor, out=over(F, product))
    return product


def _inner_j0(F: Any, a: Any, t: Any) -> Any:
    product = _from_zeros(F, a, tables.J0_ZEROS)
    return F.mul(product, polynomial(F, t, tables.J0), out=over(F, product))


def _inner_j1(F: Any, a: Any, t: Any) -> Any:
    product = _from_zeros(F, a, tables.J1_ZEROS)
    product = F.mul(a, product, out=over(F, product))
    return F.mul(product, polynomial(F, t, tables.J1), out=over(F, product))


def _wave(F: Any, a: Any, order: int, second: bool) -> Any:
    """A function of the first or the second kind from 8 on."""
    if not _are_apart(F, a):
        a = F.maximum(a, _SPLIT)
    inverse = F.div(F.number(_SPLIT), a)
    square = F.mul(inverse, inverse, out=over(F, inverse))
    phase = polynomial(F, square, tables.PHASES[order])
    phase = F.div(phase, a, out=over(F, phase))
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
    root = F.mul(a, 0.5 * math.pi)
    root = F.sqrt(root, out=over(F, root))
    amplitude = F.div(amplitude, root, out=over(F, amplitude))
    return F.mul(amplitude, sine, out=over(F, amplitude))


def _turned(F: Any, a: Any, phase: Any, order: int, second: bool) -> Any:
    """The cosine, or the sine, of a and the phase, less a quarter of pi or three of them."""
    a = F.where(F.eq(a, math.inf), F.number(0.0), a)  # whose sine is no number; the amplitude is 0
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
    turns = F.mul(a, 1.0 / math.pi)
    turns = F.sub(turns, 0.25 * first, out=over(F, turns))
    turns = F.round(turns, out=over(F, turns))
    quarters = F.mul(turns, 4.0)
    quarters = F.add(quarters, float(first), out=over(F, quarters))
    for i, part in enumerate(tables.QUARTER_TURN):
        a = F.sub(a, F.mul(quarters, part), out=over(F, a) if i else None)
    a = F.add(a, phase, out=over(F, a))
    square = F.mul(a, a, out=over(F, quarters))
    sine = polynomial(F, square, tables.SINE)
    sine = F.mul(sine, square, out=over(F, sine))
    sine = F.mul(sine, a, out=over(F, sine))
    sine = F.add(sine, a, out=over(F, sine))
    half = F.mul(turns, 0.5, out=over(F, turns))
    odd = F.sub(half, F.floor(half, out=over(F, square)), out=over(F, half))
    odd = F.mul(odd, -4.0 if second else 4.0, out=over(F, odd))
    odd = F.sub(odd, -1.0 if second else 1.0, out=over(F, odd))
    return F.mul(sine, odd, out=over(F, sine))


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

    def from_0(F: Any, x: Any) -> Any:
        value = F.where(F.eq(x, 0.0), F.number(-math.inf), inner(F, x))
        return F.where(F.lt(x, 0.0), F.number(math.nan), value)

    return split(F, F.lt(x, _SPLIT), from_0, lambda F, x: _wave(F, x, order, True), x)


def _y0(F: Any, x: Any) -> Any:
    def inner(F: Any, x: Any) -> Any:
        small, t = _square(F, x)
        log = F.log(small)
        log = F.mul(log, _TWO_OVER_PI, out=over(F, log))
        log = F.mul(log, _inner_j0(F, small, t), out=over(F, log))
        return F.add(log, polynomial(F, t, tables.Y0), out=over(F, log))

    return _second_kind(F, x, inner, 0)


def _y1(F: Any, x: Any) -> Any:
    def inner(F: Any, x: Any) -> Any:
        small, t = _square(F, x)
        log = F.log(small)
        log = F.mul(log, _inner_j1(F, small, t), out=over(F, log))
        log = F.mul(log, _TWO_OVER_PI, out=over(F, log))
        regular = polynomial(F, t, tables.Y1)
        regular = F.mul(regular, small, out=over(F, regular))
        value = F.add(log, regular, out=over(F, log))
        return F.sub(value, F.div(F.number(_TWO_OVER_PI), small), out=over(F, value))

    return _second_kind(F, x, inner, 1)


def _spherical_j0(F: Any, x: Any) -> Any:
    value = F.div(F.sin(x), x)
    value = F.where(F.eq(F.abs(x), math.inf), F.number(0.0), value)
    return F.where(F.eq(x, 0.0), F.number(1.0), value)
