"""The normal distribution's functions, and what entropies are made of: ``torch.special``."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.op_engine.operands import EITHER
from tensorbus.ops.pointwise.compositions import in_single
from tensorbus.ops.pointwise.declaring import binary, unary
from tensorbus.ops.pointwise.error_function import (
    ROOT_PI,
    exp_of_square,
    inverse,
    near,
    polynomial,
    scaled_beyond,
)
from tensorbus.ops.pointwise.special import widened

_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)

# fmt: off
unary("erfcx", doc="``exp(input**2) * erfc(input)``, without overflow on the positive side",
      domain="ordered float", special=True, node_name="SpecialErfcxBackward0",
      composite=lambda F, x: in_single(F, _erfcx, x),
      x=lambda F, g, x, out: F.mul(g, _erfcx_slope(F, x, out)))
unary("ndtr", doc="The area under the standard normal density up to *input*",
      domain="ordered float", special=True, node_name="SpecialNdtrBackward0",
      composite=lambda F, x: in_single(F, _ndtr, x),
      x=lambda F, g, x: F.mul(g, F.mul(F.exp(F.mul(F.mul(x, x), -0.5)), 1.0 / _ROOT_2_PI)))
unary("log_ndtr", doc="The logarithm of ``ndtr``, exact far below 0 too",
      domain="ordered float", special=True, node_name="SpecialLogNdtrBackward0",
      composite=lambda F, x: in_single(F, _log_ndtr, x),
      x=lambda F, g, x: F.mul(F.div(g, F.erfcx(F.mul(x, -1.0 / _ROOT_2))),
                              math.sqrt(2.0 / math.pi)))
unary("ndtri", doc="The inverse of ``ndtr``: where the area is *input*",
      domain="ordered float", special=True, node_name="SpecialNdtriBackward0",
      composite=lambda F, x: widened(F, x, _ndtri),
      x=lambda F, g, out: F.mul(g, F.mul(F.exp(F.mul(F.mul(out, out), 0.5)), _ROOT_2_PI)))
unary("entr", doc="``-input * log(input)``: 0 at 0, -inf below",
      domain="ordered float", special=True, node_name="SpecialEntrBackward0",
      composite=lambda F, x: in_single(F, _entr, x),
      x=lambda F, g, x: F.mul(g, F.sub(F.number(-1.0), F.log(x))))
binary("xlog1py", doc="``input * log1p(other)``, 0 where *input* is 0",
       numbers=EITHER, domain="ordered float", special=True,
       node_name="SpecialXlog1PyBackward0", number_node_name="SpecialXlog1PyBackward2",
       left_number_node_name="SpecialXlog1PyBackward1",
       composite=lambda F, x, y: _xlog1py(F, x, y),
       x=lambda F, g, x, y, y_number: F.mul(g, _log1p_or_0(F, x, y, y_number)),
       y=lambda F, g, x, y: F.mul(g, F.div(x, F.add(y, 1.0))))
# fmt: on


def _erfcx(F: Any, x: Any) -> Any:
    a = F.abs(x)
    grown = exp_of_square(F, F.minimum(a, 64.0), 1.0)
    small = F.mul(F.sub(F.number(1.0), near(F, a)), grown)
    value = F.where(F.lt(a, 0.46875), small, scaled_beyond(F, a))
    value = F.where(F.lt(x, 0.0), F.sub(F.mul(grown, 2.0), value), value)
    return F.where(F.ne(x, x), x, value)


# The slope in 1 / x**2 for large x, without its factor -1 / (sqrt(pi) * x**2).
_FAR_SLOPE = tuple((-1) ** k * math.prod(range(1, 2 * k + 2, 2)) / 2.0**k for k in range(6, -1, -1))


def _erfcx_slope(F: Any, x: Any, out: Any) -> Any:
    """``2 * x * out - 2 / sqrt(pi)``, whose terms cancel far above 0."""
    start = 50.0 if F.dtype.itemsize > 4 else 8.0
    far = F.gt(x, start)
    plain = F.sub(F.mul(F.mul(x, out), 2.0), 2.0 / ROOT_PI)
    inverse = F.reciprocal(F.where(far, x, F.number(start)))
    square = F.mul(inverse, inverse)
    series = F.mul(F.mul(square, polynomial(F, square, _FAR_SLOPE)), -1.0 / ROOT_PI)
    return F.where(far, series, plain)


_NEAR = 0.46875 * _ROOT_2


def _tail(F: Any, a: Any) -> Any:
    """The area beyond a, from ``_NEAR`` on."""
    scaled = scaled_beyond(F, F.mul(F.maximum(a, _NEAR), 1.0 / _ROOT_2))
    return F.mul(F.mul(scaled, 0.5), exp_of_square(F, F.minimum(a, 64.0), -0.5))


def _ndtr(F: Any, x: Any) -> Any:
    a = F.abs(x)
    inner = F.mul(near(F, F.mul(a, 1.0 / _ROOT_2)), 0.5)
    beyond = F.where(F.lt(a, _NEAR), F.sub(F.number(0.5), inner), _tail(F, a))
    value = F.where(F.lt(x, 0.0), beyond, F.sub(F.number(1.0), beyond))
    return F.where(F.ne(x, x), x, value)


def _log_ndtr(F: Any, x: Any) -> Any:
    """Below -1 the square is taken out of the logarithm, which would underflow."""
    low = F.lt(x, -1.0)
    a = F.where(low, F.neg(x), F.number(1.0))
    scaled = F.mul(scaled_beyond(F, F.mul(a, 1.0 / _ROOT_2)), 0.5)
    tail = F.sub(F.log(scaled), F.mul(a, F.mul(a, 0.5)))
    return F.where(low, tail, F.log1p(F.neg(_ndtr(F, F.neg(F.where(low, F.number(0.0), x))))))


def _ndtri(F: Any, x: Any) -> Any:
    upper = F.sub(F.number(1.0), x)
    z = F.mul(F.minimum(x, upper), 2.0)  # erfc's value, at most 1
    y = inverse(F, F.sub(F.number(1.0), z), z)
    value = F.mul(F.where(F.lt(x, 0.5), F.neg(y), y), _ROOT_2)
    value = F.where(F.eq(x, 0.5), F.number(0.0), value)
    end = F.where(F.eq(x, 0.0), F.number(-math.inf), F.number(math.nan))
    end = F.where(F.eq(x, 1.0), F.number(math.inf), end)
    return F.where(F.bool.bitwise_and(F.gt(x, 0.0), F.lt(x, 1.0)), value, end)


def _entr(F: Any, x: Any) -> Any:
    value = F.neg(F.mul(x, F.log(x)))
    value = F.where(F.eq(x, 0.0), F.number(0.0), value)
    return F.where(F.lt(x, 0.0), F.number(-math.inf), value)


def _xlog1py(F: Any, x: Any, y: Any) -> Any:
    nothing = F.bool.bitwise_and(F.eq(x, 0.0), F.eq(y, y))
    return F.where(nothing, F.number(0.0), F.mul(x, F.log1p(y)))


def _log1p_or_0(F: Any, x: Any, y: Any, number: Any) -> Any:
    """``log1p(y)``, and 0 where both it and x leave no slope."""
    if number is not None:
        y = F.full((), number)  # kernels of one operand take no numbers
    nothing = F.bool.bitwise_and(F.eq(x, 0.0), F.le(y, -1.0))
    return F.where(nothing, F.number(0.0), F.log1p(y))
