"""The regularized incomplete gamma functions of two tensors: ``igamma`` and ``igammac``.

Of the two, which add up to 1, the smaller is computed where that keeps digits: a series in *other*
up to *input*, a continued fraction beyond it, and where both are large and near each other the
error function, corrected by Temme's uniform expansion.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus.op_engine.operands import NONE
from tensorbus.ops.pointwise import incomplete_gamma_tables as tables
from tensorbus.ops.pointwise.declaring import binary, refuse_whole
from tensorbus.ops.pointwise.error_function import polynomial, ratio
from tensorbus.ops.pointwise.special import series_at_2, widest
from tensorbus.ops.pointwise.split import sees_values, split
from tensorbus.rows.registry import underivable

# fmt: off
binary("igamma", doc="The regularized lower incomplete gamma function",
       numbers=NONE, check=refuse_whole("igamma"), domain="ordered float",
       composite=lambda F, x, y: _in_widest(F, _lower, x, y),
       x=underivable("igamma: input"),
       y=lambda F, g, x, y: F.mul(g, _density(F, x, y)))
binary("igammac", doc="The regularized upper incomplete gamma function",
       numbers=NONE, check=refuse_whole("igammac"), domain="ordered float",
       composite=lambda F, x, y: _in_widest(F, _upper, x, y),
       x=underivable("igammac: input"),
       y=lambda F, g, x, y: F.neg(F.mul(g, _density(F, x, y))))
# fmt: on

_SERIES_TERMS = 56
_FRACTION_STEPS, _FEWER_STEPS, _FAR = 85, 31, 4.0
"""Steps of the continued fraction for any *other* of it, and for those from the third number on."""
_SMALL_TERMS = 22
_LARGE, _NEAR = 20.0, 0.4
"""Temme's expansion stands for *input* from the first on, *other* within such a part of it."""
_BORDER = 1.1
"""Up to here *other* is small: the series is short, and the fraction long."""


def _density(F: Any, a: Any, x: Any) -> Any:
    """``x**(a - 1) * exp(-x) / gamma(a)``: the slope of ``igamma`` in x."""
    wide = widest(F)
    if wide is not F:
        return F.cast(_density(wide, wide.cast(a, F), wide.cast(x, F)), wide)
    return F.exp(F.sub(F.xlogy(F.sub(a, 1.0), x), F.add(x, F.lgamma(a))))


def _in_widest(F: Any, function: Any, x: Any, y: Any) -> Any:
    wide = widest(F)
    if wide is F:
        return function(F, x, y)
    return F.cast(function(wide, wide.cast(x, F), wide.cast(y, F)), wide)


def _excess(F: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """``m = (x - a) / a``, and ``m - log1p(m)``, near ``m**2 / 2`` around 0, with all digits."""
    m = F.div(F.sub(x, a), a)
    small = F.lt(F.abs(m), _NEAR)
    near = F.where(small, m, F.number(0.0))
    # log1p(m) is 2 * atanh(w); what is left is m * w less the odd powers from the third on.
    w = F.div(near, F.add(near, 2.0))
    square = F.mul(w, w)
    rest = F.mul(F.mul(F.mul(square, w), 2.0), polynomial(F, square, _ATANH))
    series = F.sub(F.mul(near, w), rest)
    return m, F.where(small, series, F.sub(m, F.log(F.div(x, a))))


_ATANH = tuple(1.0 / (2 * k + 1) for k in range(14, 0, -1))


def _factor(F: Any, a: Any, x: Any) -> Any:
    """``x**a * exp(-x) / gamma(a + 1)``."""
    return split(F, F.lt(a, 1.0), _small_factor, _large_factor, a, x)


def _small_factor(F: Any, a: Any, x: Any) -> Any:
    small = F.minimum(a, 1.0)
    power = F.sub(F.mul(small, F.log(x)), F.add(x, _lgamma_above_1(F, small)))
    return F.exp(power)


def _large_factor(F: Any, a: Any, x: Any) -> Any:
    large = F.maximum(a, 1.0)
    stirling = ratio(F, F.reciprocal(large), tables.STIRLING)
    scale = F.mul(F.sqrt(F.mul(large, 2.0 * math.pi)), stirling)
    return F.div(F.exp(F.neg(F.mul(large, _excess(F, large, x)[1]))), scale)


def _lgamma_above_1(F: Any, a: Any) -> Any:
    """``lgamma(1 + a)`` for a from 0 to ``_BORDER``, exact near 0."""
    upper = F.gt(a, 0.5)
    from_2 = F.where(upper, F.sub(a, 1.0), a)
    value = polynomial(F, from_2, series_at_2())
    return F.where(upper, value, F.sub(value, F.log1p(a)))


def _series(F: Any, a: Any, x: Any) -> Any:
    """The lower function without ``_factor``, for x up to a."""
    # The terms left out are nearly those of a geometric series.
    last = F.add(a, _SERIES_TERMS + 1.0)
    total = F.div(last, F.sub(last, x))
    for k in range(_SERIES_TERMS, 0, -1):
        total = F.add(F.mul(total, F.div(x, F.add(a, float(k)))), 1.0)
    return total


def _fraction(F: Any, a: Any, x: Any) -> Any:
    """The upper function without ``_factor``, for x from a on: Legendre's continued fraction."""
    if not sees_values(F):  # both formulas would be computed for all
        return _fraction_of(F, a, x, _FRACTION_STEPS)
    return split(
        F,
        F.lt(x, _FAR),
        lambda F, a, x: _fraction_of(F, a, x, _FRACTION_STEPS),
        lambda F, a, x: _fraction_of(F, a, x, _FEWER_STEPS),
        a,
        x,
    )


def _fraction_of(F: Any, a: Any, x: Any, steps: int) -> Any:
    base = F.sub(F.add(x, 1.0), a)
    total = F.add(base, 2.0 * steps)
    for k in range(steps, 0, -1):
        numerator = F.mul(F.sub(F.number(float(k)), a), float(k))
        total = F.sub(F.add(base, 2.0 * k - 2.0), F.div(numerator, total))
    return F.div(a, total)


def _uniform(F: Any, a: Any, x: Any, upper: bool) -> Any:
    """Where both operands are large and near each other."""
    uniform = _is_uniform(F, a, x)  # harmless operands where this formula is not taken
    a = F.where(uniform, a, F.number(_LARGE))
    x = F.where(uniform, x, F.number(_LARGE))
    m, excess = _excess(F, a, x)
    excess = F.maximum(excess, 0.0)
    root = F.sqrt(F.mul(excess, 2.0))
    eta = F.where(F.lt(m, 0.0), F.neg(root), root)
    inverse = F.reciprocal(a)
    correction: Any = None
    for coefficients in reversed(tables.UNIFORM):
        row = polynomial(F, eta, coefficients)
        correction = row if correction is None else F.add(F.mul(correction, inverse), row)
    power = F.exp(F.neg(F.mul(a, excess)))
    correction = F.mul(correction, F.div(power, F.sqrt(F.mul(a, 2.0 * math.pi))))
    place = F.mul(eta, F.sqrt(F.mul(a, 0.5)))
    if upper:
        return F.add(F.mul(F.erfc(place), 0.5), correction)
    return F.sub(F.mul(F.erfc(F.neg(place)), 0.5), correction)


def _small_upper(F: Any, a: Any, x: Any) -> Any:
    """The upper function for x up to ``_BORDER``, where it may be small though x is."""
    log = F.log(x)
    power = F.sub(F.mul(a, log), _lgamma_above_1(F, a))
    term = F.div(x, -1.0)
    total = F.div(term, F.add(a, 1.0))
    for k in range(2, _SMALL_TERMS):
        term = F.mul(term, F.mul(x, -1.0 / k))
        total = F.add(total, F.div(term, F.add(a, float(k))))
    return F.neg(F.add(F.expm1(power), F.mul(F.mul(F.exp(power), a), total)))


def _cut(F: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """Operands cut to where both functions are defined."""
    a = F.where(F.gt(a, 0.0), a, F.number(1.0))
    x = F.where(F.gt(x, 0.0), x, F.number(1.0))
    return F.minimum(a, 1e300), F.minimum(x, 1e300)


def _is_uniform(F: Any, a: Any, x: Any) -> Any:
    return F.bool.bitwise_and(F.gt(a, _LARGE), F.lt(F.abs(F.sub(x, a)), F.mul(a, _NEAR)))


def _is_beyond(F: Any, a: Any, x: Any) -> Any:
    return F.bool.bitwise_and(F.gt(x, _BORDER), F.gt(x, a))


def _by_series(F: Any, a: Any, x: Any) -> Any:
    """The lower function, for x up to a."""
    return F.mul(_factor(F, a, x), _series(F, a, F.where(_is_beyond(F, a, x), a, x)))


def _by_fraction(F: Any, a: Any, x: Any) -> Any:
    """The upper function, for x beyond a."""
    high = F.where(_is_beyond(F, a, x), x, F.number(math.inf))
    return F.mul(_factor(F, a, x), _fraction(F, a, high))


def _ends(F: Any, a: Any, x: Any, nothing: float) -> Any:
    """What is known at 0 and infinity; *nothing* is the value where other is 0."""
    zero, whole, nan = F.number(nothing), F.number(1.0 - nothing), F.number(math.nan)
    both, either = F.bool.bitwise_and, F.bool.bitwise_or
    value = F.where(F.eq(a, 0.0), whole, F.mul(F.add(a, x), math.nan))
    value = F.where(F.eq(x, math.inf), whole, value)
    value = F.where(F.eq(a, math.inf), zero, value)
    value = F.where(F.eq(x, 0.0), zero, value)
    unknown = either(both(F.eq(a, 0.0), F.eq(x, 0.0)), both(F.eq(a, math.inf), F.eq(x, math.inf)))
    unknown = either(unknown, either(F.lt(a, 0.0), F.lt(x, 0.0)))
    unknown = either(unknown, either(F.ne(a, a), F.ne(x, x)))
    return F.where(unknown, nan, value)


def _is_inside(F: Any, a: Any, x: Any) -> Any:
    """Where both operands are above 0 and finite."""
    both = F.bool.bitwise_and
    above = both(F.gt(a, 0.0), F.gt(x, 0.0))
    return both(above, both(F.lt(a, math.inf), F.lt(x, math.inf)))


def _rest(function: Any) -> Any:
    """1 less a function."""
    return lambda F, a, x: F.sub(F.number(1.0), function(F, a, x))


def _lower(F: Any, a: Any, x: Any) -> Any:
    def uniform(F: Any, a: Any, x: Any) -> Any:
        return _uniform(F, a, x, False)

    def apart(F: Any, a: Any, x: Any) -> Any:
        return split(F, _is_beyond(F, a, x), _rest(_by_fraction), _by_series, a, x)

    def inside(F: Any, a: Any, x: Any) -> Any:
        a, x = _cut(F, a, x)
        return split(F, _is_uniform(F, a, x), uniform, apart, a, x)

    return split(F, _is_inside(F, a, x), inside, lambda F, a, x: _ends(F, a, x, 0.0), a, x)


def _upper(F: Any, a: Any, x: Any) -> Any:
    def uniform(F: Any, a: Any, x: Any) -> Any:
        return _uniform(F, a, x, True)

    def short(F: Any, a: Any, x: Any) -> Any:
        return _small_upper(F, F.minimum(a, _BORDER), F.minimum(x, _BORDER))

    def up_to(F: Any, a: Any, x: Any) -> Any:
        small = F.bool.bitwise_and(F.le(x, _BORDER), F.lt(a, F.maximum(x, 0.5)))
        return split(F, small, short, _rest(_by_series), a, x)

    def apart(F: Any, a: Any, x: Any) -> Any:
        return split(F, _is_beyond(F, a, x), _by_fraction, up_to, a, x)

    def inside(F: Any, a: Any, x: Any) -> Any:
        a, x = _cut(F, a, x)
        return split(F, _is_uniform(F, a, x), uniform, apart, a, x)

    return split(F, _is_inside(F, a, x), inside, lambda F, a, x: _ends(F, a, x, 1.0), a, x)
