"""The error function, what is missing to 1, and its inverse, composed of simpler ops."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.ops.pointwise.split import split

ROOT_PI = math.sqrt(math.pi)


def polynomial(F: Any, x: Any, coefficients: tuple[float, ...]) -> Any:
    """Horner's rule, the highest power first, in one array where no step is recorded."""
    total = F.mul(x, coefficients[0])
    if F.records or not len(x.shape):
        for c in coefficients[1:-1]:
            total = F.mul(F.add(total, c), x)
        return F.add(total, coefficients[-1])
    for c in coefficients[1:-1]:
        F.add(total, c, out=total)
        F.mul(total, x, out=total)
    return F.add(total, coefficients[-1], out=total)


# W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969):
# erf(x) / x in x**2 up to 0.46875, exp(x**2) * erfc(x) in x up to 4, in 1 / x**2 beyond.
_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
     2.84423683343917062e3),
)  # fmt: skip
_BELOW_1 = (
    -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06,
    -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225,
    -0.02686617064323777, 0.11283791670945006, -0.37612638903183543, 0.12837916709551256,
)  # fmt: skip
"""``erf(x) / x - 1`` as a polynomial in ``x * x`` up to 1, fitted at Chebyshev's nodes."""
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
     1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
     1.23033935480374942e3),
)  # fmt: skip
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242, 1.87295284992346047, 5.27905102951428412e-1,
     6.05183413124413191e-2, 2.33520497626869185e-3),
)  # fmt: skip


def ratio(F: Any, x: Any, table: Any) -> Any:
    return F.div(polynomial(F, x, table[0]), polynomial(F, x, table[1]))


def near(F: Any, a: Any) -> Any:
    """erf of a up to 0.46875."""
    small = F.minimum(a, 0.46875)
    return F.mul(small, ratio(F, F.mul(small, small), _NEAR))


def scaled_beyond(F: Any, a: Any) -> Any:
    """``exp(a * a) * erfc(a)`` from 0.46875 on."""

    def middle(F: Any, a: Any) -> Any:
        return ratio(F, F.minimum(F.maximum(a, 0.46875), 4.0), _MIDDLE)

    def far(F: Any, a: Any) -> Any:
        large = F.maximum(a, 4.0)
        inverse = F.reciprocal(F.mul(large, large))
        tail = F.sub(F.number(1.0 / ROOT_PI), F.mul(inverse, ratio(F, inverse, _FAR)))
        return F.div(tail, large)

    return split(F, F.lt(a, 4.0), middle, far, a)


def exp_of_square(F: Any, a: Any, factor: float) -> Any:
    """``exp(factor * a * a)`` in two factors, so that the rounding of the square does no harm."""
    coarse = F.mul(F.floor(F.mul(a, 16.0)), 0.0625)
    rest = F.mul(F.sub(a, coarse), F.add(a, coarse))
    return F.mul(F.exp(F.mul(F.mul(coarse, coarse), factor)), F.exp(F.mul(rest, factor)))


def _beyond(F: Any, a: Any) -> Any:
    """erfc of a from 0.46875 on."""
    return F.mul(exp_of_square(F, a, -1.0), scaled_beyond(F, a))


def _below_1(F: Any, a: Any) -> Any:
    """erf of a up to 1. The polynomial is small beside a, and so are its roundings.

    Eight times as large, its product with the least normal numbers is no subnormal one, which a
    device may flush.
    """
    small = F.minimum(a, 1.0)
    large = F.mul(small, 8.0)
    sum = F.add(large, F.mul(large, polynomial(F, F.mul(small, small), _BELOW_1)))
    return F.mul(sum, 0.125)


def erf(F: Any, x: Any) -> Any:
    a = F.minimum(F.abs(x), 30.0)
    value = split(F, F.lt(a, 1.0), _below_1, lambda F, a: F.sub(F.number(1.0), _beyond(F, a)), a)
    value = F.where(F.lt(x, 0.0), F.neg(value), value)
    return F.where(F.ne(x, x), x, value)


def erfc(F: Any, x: Any) -> Any:
    a = F.minimum(F.abs(x), 30.0)
    value = split(F, F.lt(a, 0.46875), lambda F, a: F.sub(F.number(1.0), near(F, a)), _beyond, a)
    value = F.where(F.lt(x, 0.0), F.sub(F.number(2.0), value), value)
    return F.where(F.ne(x, x), x, value)


def inverse(F: Any, a: Any, rest: Any) -> Any:
    """Where erf is *a* and erfc *rest*, which keeps its digits towards 0.

    Winitzki's estimate, then Halley's steps.
    """
    log = F.log(F.mul(rest, F.add(a, 1.0)))
    half = F.add(F.mul(log, 0.5), 2.0 / (math.pi * 0.147))
    y = F.sqrt(F.sub(F.sqrt(F.sub(F.mul(half, half), F.div(log, 0.147))), half))
    for _ in range(3):
        slope = F.mul(F.exp(F.neg(F.mul(y, y))), 2.0 / ROOT_PI)
        gap = F.where(F.lt(a, 0.5), F.sub(F.erf(y), a), F.sub(rest, F.erfc(y)))
        step = F.div(gap, slope)
        step = F.div(step, F.add(F.mul(y, step), 1.0))
        y = F.where(F.isfinite(step), F.sub(y, step), y)
    return y


def erfinv(F: Any, x: Any) -> Any:
    a = F.abs(x)
    y = inverse(F, a, F.sub(F.number(1.0), a))
    y = F.where(F.lt(x, 0.0), F.neg(y), y)
    inside = F.where(F.eq(x, 0.0), x, y)
    return F.where(
        F.lt(a, 1.0), inside, F.mul(F.where(F.eq(a, 1.0), x, F.number(math.nan)), math.inf)
    )
