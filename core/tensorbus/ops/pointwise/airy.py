"""The Airy function Ai: ``torch.special``.

Polynomials between -6 and 1; beyond them an exponential or a wave
of ``2 / 3 * x**1.5``, whose rounding is carried along.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus.ops.pointwise import airy_tables as tables
from tensorbus.ops.pointwise.declaring import unary
from tensorbus.ops.pointwise.error_function import ROOT_PI, polynomial, ratio
from tensorbus.ops.pointwise.special import widened

# fmt: off
unary("airy_ai", doc="The Airy function Ai",
      domain="ordered float", special=True, argument="x",
      composite=lambda F, x: widened(F, x, _airy_ai))
# fmt: on

_UPPER, _MIDDLE, _LOWER = 1.0, -2.0, -6.0
_GONE = 110.0
"""From here on the value is 0 in every dtype."""


def _product(F: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The product rounded, and what the rounding took away: T. J. Dekker's method."""
    factor = 2.0 ** math.ceil(F.dtype.itemsize * 3.3) + 1.0
    halves = []
    for x in (a, b):
        grown = F.mul(x, factor)
        high = F.sub(grown, F.sub(grown, x))
        halves.append((high, F.sub(x, high)))
    (a1, a2), (b1, b2) = halves
    value = F.mul(a, b)
    rest = F.sub(F.mul(a1, b1), value)
    rest = F.add(F.add(rest, F.mul(a1, b2)), F.mul(a2, b1))
    return value, F.add(rest, F.mul(a2, b2))


def _exponent(F: Any, a: Any) -> tuple[Any, Any]:
    """``2 / 3 * a**1.5`` as the sum of two numbers."""
    root = F.sqrt(a)
    square, rest = _product(F, root, root)
    below = F.div(F.sub(F.sub(a, square), rest), F.mul(root, 2.0))
    value, lost = _product(F, a, root)
    lost = F.mul(F.add(lost, F.mul(a, below)), 2.0)
    high = F.div(F.mul(value, 2.0), 3.0)
    third, rest = _product(F, high, F.add(F.mul(a, 0.0), 3.0))
    low = F.div(F.add(F.sub(F.sub(F.mul(value, 2.0), third), rest), lost), 3.0)
    return high, low


def _decaying(F: Any, x: Any) -> Any:
    """From 1 on."""
    a = F.minimum(F.maximum(x, _UPPER), _GONE)
    high, low = _exponent(F, a)
    value = ratio(F, F.div(F.number(tables.DECAY_START), high), tables.DECAYING)
    value = F.div(value, F.mul(F.sqrt(F.sqrt(a)), 2.0 * ROOT_PI))
    whole = F.floor(high)  # exactly what the exponential of a large number needs
    decay = F.exp(F.neg(F.add(F.sub(high, whole), low)))
    value = F.mul(F.mul(value, decay), F.exp(F.neg(whole)))
    return F.where(F.lt(x, _GONE), value, F.number(0.0))


def _waving(F: Any, x: Any) -> Any:
    """Below -6."""
    a = F.maximum(F.neg(x), -_LOWER)
    high, low = _exponent(F, a)
    inverse = F.div(F.number(tables.WAVE_START), high)
    square = F.mul(inverse, inverse)
    sine, cosine = F.sin(high), F.cos(high)
    sine, cosine = F.add(sine, F.mul(cosine, low)), F.sub(cosine, F.mul(sine, low))
    first = F.mul(F.add(sine, cosine), polynomial(F, square, tables.WAVE_SINE))
    second = F.mul(F.sub(cosine, sine), F.div(polynomial(F, square, tables.WAVE_COSINE), high))
    scale = F.reciprocal(F.mul(F.sqrt(F.sqrt(a)), math.sqrt(2.0) * ROOT_PI))
    # Where the argument of the wave overflows, its amplitude is as good as 0.
    return F.where(F.isfinite(low), F.mul(F.sub(first, second), scale), F.number(0.0))


def _airy_ai(F: Any, x: Any) -> Any:
    inner = F.minimum(F.maximum(x, _MIDDLE), _UPPER)
    value = polynomial(F, F.div(F.add(inner, 0.5), 1.5), tables.MIDDLE)
    lower = F.minimum(F.maximum(x, _LOWER), _MIDDLE)
    near = polynomial(F, F.mul(F.add(lower, 4.0), 0.5), tables.LOWER)
    for high, low in tables.ZEROS:
        near = F.mul(near, F.sub(F.sub(lower, high), low))
    value = F.where(F.lt(x, _MIDDLE), near, value)
    value = F.where(F.lt(x, _LOWER), _waving(F, x), value)
    value = F.where(F.gt(x, _UPPER), _decaying(F, x), value)
    return F.where(F.ne(x, x), x, value)
