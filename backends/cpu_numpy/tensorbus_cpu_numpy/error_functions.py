"""The error functions in float64, by passes over pieces; in float32 by SciPy where it is installed.

SciPy computes those of float32 in float64. In float64 it loses up to 500 units of the last place to
the rounding of squares whose exponential it takes; here each function errs by a few units, and
takes no more time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import scipy_special
from tensorbus_cpu_numpy.loops import Step, by_pieces

TABLE = Table()

_ROOT_2 = math.sqrt(2.0)
_UPPER_HALF = np.int64(-(1 << 27))
_SIGN, _ONE_BIT = np.uint64(1 << 63), np.uint64(1)


def _offer(row: str, step: Step, rows: int) -> None:
    """Offer *step* as *row* in float64, with *rows* of scratch."""
    kernel = by_pieces(step, rows)

    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        if dtype.name == "float64":
            return kernel
        return getattr(scipy_special.module(), row, None) if dtype.name == "float32" else None

    TABLE.add(row, (FLOAT,), maker)


def polynomial(x: Array, coefficients: tuple[float, ...], out: Array) -> None:
    """Write a polynomial in x into *out*; the highest power comes first."""
    np.multiply(x, coefficients[0], out=out)
    out += coefficients[1]
    _go_on(x, coefficients[2:], out)


def _go_on(x: Array, coefficients: tuple[float, ...], out: Array) -> None:
    """The polynomial whose first steps *out* has."""
    for coefficient in coefficients:
        out *= x
        out += coefficient


def _odd(x: Array, coefficients: tuple[float, ...], out: Array, square: Array) -> None:
    """Write x times a polynomial in ``x * x`` into *out*."""
    np.multiply(x, x, out=square)
    polynomial(square, coefficients, out)
    out *= x


def _squared(x: Array, lost: Array, low: Array, square: Array) -> None:
    """Write ``x * x`` into *square*, and what its rounding lost into *lost*. It writes over x.

    The halves of x have exact products.
    """
    np.multiply(x, x, out=square)
    np.bitwise_and(x.view(np.int64), _UPPER_HALF, out=lost.view(np.int64))
    np.subtract(x, lost, out=low)
    x += lost
    low *= x
    lost *= lost
    lost -= square
    lost += low


_NUMERATOR = (
    -5.760695559727746e-06, -9.970304069452261e-06, 0.00018157364475709787, 0.00011123479141747158,
    -0.004384686195766995, 0.008179879266936568, 0.07615524275432521, -0.6255933558016887,
    2.5961865084315114, -7.581690803047906, 17.171910728526942, -30.460957104805974,
    46.4864833805378, -45.393735268507086, 46.44539897970669,
)  # fmt: skip
_DENOMINATOR = (
    1.0, -0.6575720452475294, 14.010167085680191, -6.695828990366573, 43.24497233041206,
)  # fmt: skip
"""Of ``(x + 3) * erfcx(x)`` in ``(x - 3) / (x + 3)``, for x from 0 to 28.

Fitted with relative errors up to 7e-17. The change of variable is that of Shepherd and Laframboise,
"Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf" (Mathematics of Computation
36, 1981).
"""
_NUMERATORS = {unit: tuple(unit * c for c in _NUMERATOR) for unit in (1.0, _ROOT_2)}
_POWERS = {1.0: 1.0, _ROOT_2: 0.5}
"""Of each unit the square's reciprocal, no product with which is rounded."""
_FAR = 26.0
"""Beyond it there is the asymptotic series, of which eight terms are enough."""
_SERIES = (-135135.0, 10395.0, -945.0, 105.0, -15.0, 3.0, -1.0, 1.0)
_END = 28.0
"""From here on the exponential of the square is infinite, and its reciprocal 0."""


def _scaled(x: Array, unit: float, out: Array, size: Array, *rows: Array) -> None:
    """``erfcx(size / unit)``, where *size* becomes ``abs(x)`` up to *_END* units."""
    first, second, third = rows
    np.abs(x, out=size)
    np.minimum(size, _END * unit, out=size)
    center = 3.0 * unit
    np.subtract(size, center, out=first)
    np.add(size, center, out=second)
    first /= second
    polynomial(first, _NUMERATORS[unit], out)
    np.add(first, _DENOMINATOR[1], out=third)
    _go_on(first, _DENOMINATOR[2:], third)
    third *= second
    out /= third


def _far_scaled(x: Array) -> Array:
    """``erfcx`` of x beyond *_FAR*."""
    found = np.empty_like(x)
    polynomial(0.5 / (x * x), _SERIES, found)
    return found / (x * math.sqrt(math.pi))


def _fade(size: Array, unit: float, out: Array, *rows: Array) -> None:
    """Multiply *out* by the exponential of ``-(size / unit)**2``. It writes over *size*."""
    lost, low, square = rows
    _squared(size, lost, low, square)
    lost *= out
    if _POWERS[unit] != 1.0:
        lost *= _POWERS[unit]
    out -= lost
    square *= -_POWERS[unit]
    np.exp(square, out=square)
    out *= square


def _complement(x: Array, unit: float, out: Array, size: Array, *rows: Array) -> None:
    """``erfc(abs(x) / unit)``."""
    _scaled(x, unit, out, size, *rows)
    _fade(size, unit, out, *rows)


def _reflect(x: Array, out: Array, twice: Array, by: Array | None = None) -> None:
    """``2 - out``, or ``2 * by - out``, where the sign of x is -."""
    sign = np.bitwise_and(x.view(np.uint64), _SIGN, out=twice.view(np.uint64))
    bits = out.view(np.uint64)
    bits ^= sign
    sign >>= _ONE_BIT  # which makes the bits of 2
    if by is not None:
        twice *= by
    out += twice


def _by_parts(bound: float, inner: Step, outer: Step) -> Step:
    """*inner* where x is nearer to 0 than *bound*, and *outer* elsewhere."""

    def step(x: Array, out: Array, *rows: Array) -> None:
        near = np.abs(x, out=rows[0]) < bound
        count = np.count_nonzero(near)
        most_are_near = 2 * count > x.size
        (inner if most_are_near else outer)(x, out, *rows)
        places = (~near if most_are_near else near).nonzero()[0]
        if places.size:
            few, found = x.take(places), np.empty(places.size)
            (outer if most_are_near else inner)(few, found, *(r[: few.size] for r in rows))
            out[places] = found

    return step


_INNER_ERF = (
    -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07,
    1.6447424703317362e-06, -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692,
    0.0052239776071164225, -0.02686617064323777, 0.11283791670945006, -0.37612638903183543,
    0.12837916709551256,
)  # fmt: skip
"""``erf(x) / x - 1`` in ``x * x``, for x up to 1, fitted at Chebyshev's nodes."""


def _inner_erf(x: Array, out: Array, square: Array, *rows: Array) -> None:
    _odd(x, _INNER_ERF, out, square)
    out += x


def _outer_erf(x: Array, out: Array, size: Array, *rows: Array) -> None:
    _complement(x, 1.0, out, size, *rows)
    np.subtract(1.0, out, out=out)
    np.copysign(out, x, out=out)


_erf = _by_parts(1.0, _inner_erf, _outer_erf)


def _inner_erfc(x: Array, out: Array, square: Array, *rows: Array) -> None:
    """Of ``1 - erf(x)`` two halves, of which each difference keeps its digits."""
    _odd(x, _INNER_ERF, out, square)
    out += np.subtract(x, 0.5, out=square)
    np.subtract(0.5, out, out=out)


def _outer_erfc(x: Array, out: Array, size: Array, *rows: Array) -> None:
    _complement(x, 1.0, out, size, *rows)
    _reflect(x, out, size)


_erfc = _by_parts(1.0, _inner_erfc, _outer_erfc)


def _erfcx(x: Array, out: Array, size: Array, *rows: Array) -> None:
    """Below 0 ``2 * exp(x * x)``, less what there is above."""
    _scaled(x, 1.0, out, size, *rows)
    np.minimum(x, 0.0, out=size)
    np.maximum(size, -_END, out=size)
    lost, low, square = rows
    _squared(size, lost, low, square)
    lost += 1.0
    np.exp(square, out=square)
    square *= lost
    _reflect(x, out, size, by=square)
    far = (x > _FAR).nonzero()[0]
    if far.size:
        out[far] = _far_scaled(x.take(far))


_INNER_NDTR = (
    -1.345833233890983e-13, 4.737085292648261e-12, -1.1192508602593551e-10, 2.271501082181806e-09,
    -4.122415107289681e-08, 6.659672481574838e-07, -9.444655101548686e-06, 0.00011543468721120926,
    -0.0011873282153967736, 0.009973557010026873, -0.06649038006690507, 0.14894228040143268,
)  # fmt: skip
"""``(ndtr(x) - 0.5) / x - 0.25`` in ``x * x``, for it up to 2, fitted at Chebyshev's nodes."""


def _inner_ndtr(x: Array, out: Array, square: Array, *rows: Array) -> None:
    _odd(x, _INNER_NDTR, out, square)
    quarter = np.multiply(x, 0.25, out=square)
    quarter += 0.5
    out += quarter


def _outer_ndtr(x: Array, out: Array, size: Array, *rows: Array) -> None:
    _complement(x, _ROOT_2, out, size, *rows)
    _reflect(np.negative(x, out=rows[0]), out, size)
    out *= 0.5


_ndtr = _by_parts(_ROOT_2, _inner_ndtr, _outer_ndtr)


def _inner_tail(x: Array, out: Array, size: Array, *rows: Array) -> None:
    np.abs(x, out=size)
    _inner_ndtr(np.negative(size, out=size), out, *rows)


def _outer_tail(x: Array, out: Array, size: Array, *rows: Array) -> None:
    _complement(x, _ROOT_2, out, size, *rows)
    out *= 0.5


_tail = _by_parts(_ROOT_2, _inner_tail, _outer_tail)
"""``ndtr(-abs(x))``."""


def _log_ndtr(x: Array, out: Array, *rows: Array) -> None:
    """The logarithm of the tail, or of the rest to 1, whose rounding is put right."""
    _tail(x, out, *rows)
    rest, gap, low, other = rows
    np.subtract(1.0, out, out=rest)
    np.subtract(rest, 1.0, out=gap)
    gap += out
    mask, bits = low.view(np.int64), other.view(np.int64)
    np.right_shift(x.view(np.int64), 63, out=mask)  # all bits where the sign of x is -
    np.bitwise_and(out.view(np.int64), mask, out=bits)
    np.invert(mask, out=mask)
    for array in (rest, gap):
        kept = array.view(np.int64)
        kept &= mask
    rest += other  # of which one is 0
    np.log(rest, out=out)
    out -= gap
    far = (x < -_FAR * _ROOT_2).nonzero()[0]
    if far.size:
        few = x.take(far)
        out[far] = np.log(0.5 * _far_scaled(few * -math.sqrt(0.5))) - 0.5 * (few * few)


_offer("erf", _erf, rows=4)
_offer("erfc", _erfc, rows=4)
_offer("erfcx", _erfcx, rows=4)
_offer("ndtr", _ndtr, rows=4)
_offer("log_ndtr", _log_ndtr, rows=4)
