"""Hurwitz's zeta function of two tensors: ``torch.special.zeta``."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.op_engine.operands import EITHER
from tensorbus.ops.pointwise.declaring import binary
from tensorbus.ops.pointwise.special import widest
from tensorbus.ops.pointwise.split import split
from tensorbus.rows.registry import underivable

_TERMS = 9
_CORRECTIONS = tuple(
    b / math.factorial(2 * j)
    for j, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6,
                           -3617 / 510, 43867 / 798, -174611 / 330), 1)
)  # fmt: skip
"""B(2j) / (2j)!, B(2j) being Bernoulli's numbers."""

# fmt: off
binary("zeta", doc="Hurwitz's zeta function: the sum of ``(k + other)**-input`` for k from 0 on",
       numbers=EITHER, domain="ordered float", special=True,
       node_name="SpecialZetaBackward0", number_node_name="SpecialZetaBackward2",
       left_number_node_name="SpecialZetaBackward1",
       composite=lambda F, x, y: _in_widest(F, x, y),
       x=underivable("zeta"),
       y=lambda F, g, x, y: F.mul(g, F.neg(F.mul(x, F.zeta(F.add(x, 1.0), y)))))
# fmt: on


def _in_widest(F: Any, x: Any, y: Any) -> Any:
    wide = widest(F)
    x, y = (v if hasattr(v, "shape") else F.full((), F.number_of(v)) for v in (x, y))
    if wide is F:
        return _zeta(F, x, y)
    return F.cast(_zeta(wide, wide.cast(x, F), wide.cast(y, F)), wide)


def _sum(F: Any, s: Any, q: Any) -> Any:
    """The sum for q of at least 1/2, by Euler's and Maclaurin's formula."""
    minus = F.neg(s)
    total = F.pow(q, minus)
    for k in range(1, _TERMS):
        total = F.add(total, F.pow(F.add(q, float(k)), minus))
    z = F.add(q, float(_TERMS))
    term = F.pow(z, minus)
    total = F.add(total, F.add(F.div(F.mul(term, z), F.sub(s, 1.0)), F.mul(term, 0.5)))
    inverse = F.reciprocal(z)
    rising = F.mul(F.mul(s, term), inverse)
    for j, factor in enumerate(_CORRECTIONS, 1):
        total = F.add(total, F.mul(rising, factor))
        rising = F.mul(rising, F.mul(F.add(s, 2.0 * j - 1.0), inverse))
        rising = F.mul(rising, F.mul(F.add(s, 2.0 * j), inverse))
    return total


def _zeta(F: Any, s: Any, q: Any) -> Any:
    low = F.lt(q, 0.0)
    value = split(F, low, _below_0, _from_0, s, q)
    nan, inf = F.number(math.nan), F.number(math.inf)
    fractional = F.bool.bitwise_and(low, F.ne(s, F.round(s)))
    value = F.where(F.bool.bitwise_or(fractional, F.lt(s, 1.0)), nan, value)
    pole = F.bool.bitwise_and(F.le(q, 0.0), F.eq(q, F.round(q)))
    pole = F.bool.bitwise_and(pole, F.gt(s, 1.0))
    value = F.where(F.bool.bitwise_or(pole, F.eq(s, 1.0)), inf, value)
    return F.where(F.ne(q, q), q, value)


def _from_0(F: Any, s: Any, q: Any) -> Any:
    return _sum(F, s, F.abs(q))


def _below_0(F: Any, s: Any, q: Any) -> Any:
    """The sum over all integers, less that of the integers on the other side.

    The sum over all integers has period 1, so that it is taken near 0.
    """
    phase = F.sub(q, F.round(q))
    near = F.where(F.lt(q, 0.0), phase, F.number(0.25))
    odd = F.ne(F.fmod(s, 2.0), 0.0)
    above, below = _sum(F, s, F.add(near, 1.0)), _sum(F, s, F.sub(F.number(1.0), near))
    middle = F.pow(near, F.neg(s))
    other = F.sub(below, _sum(F, s, F.add(F.abs(q), 1.0)))
    return F.add(F.add(middle, above), F.where(odd, F.neg(other), other))
