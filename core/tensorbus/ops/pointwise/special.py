"""Special functions of mathematics, element by element."""

from __future__ import annotations

import functools
import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.operands import EITHER, NONE
from tensorbus.op_engine.public import public
from tensorbus.ops.pointwise.compositions import in_single, sigmoid_in_rule
from tensorbus.ops.pointwise.declaring import binary, refuse_complex, refuse_whole, unary
from tensorbus.ops.pointwise.error_function import ROOT_PI, erf, erfc, erfinv, polynomial
from tensorbus.rows.registry import row


def _slope_of_erfinv(F: Any, y: Any) -> Any:
    """The derivative where ``erfinv`` gives *y*, which is computed again: programs write to it."""
    return F.mul(F.exp(F.mul(y, y)), 0.5 * ROOT_PI)


# fmt: off
unary("erf", doc="The error function", domain="ordered float",
      composite=lambda F, x: in_single(F, erf, x),
      x=lambda F, g, x: F.mul(g, F.mul(F.exp(F.neg(F.mul(x, x))), 2.0 / ROOT_PI)))
unary("erfc", doc="``1 - erf(input)``, exact where erf is near 1", domain="ordered float",
      composite=lambda F, x: in_single(F, erfc, x),
      x=lambda F, g, x: F.mul(g, F.mul(F.exp(F.neg(F.mul(x, x))), -2.0 / ROOT_PI)))
unary("erfinv", doc="The inverse of the error function", domain="ordered float",
      composite=lambda F, x: in_single(F, erfinv, x),
      x=lambda F, g, x: F.mul(g, _slope_of_erfinv(F, F.erfinv(x))),
      autocast="device float32")
unary("lgamma", doc="The logarithm of the absolute value of the gamma function",
      domain="ordered float",
      composite=lambda F, x: widened(F, x, _lgamma),
      x=lambda F, g, x: F.mul(g, F.digamma(x)))
unary("digamma", doc="The derivative of ``lgamma``", domain="ordered float",
      composite=lambda F, x: widened(F, x, _digamma),
      x=lambda F, g, x: F.mul(g, F.polygamma(x, 1)))
row("polygamma", "x:T, order", "unary",
    doc="The derivative of *order* of the digamma function, element by element.",
    domain="ordered float",
    composite=lambda F, x, order: widened(F, x, _polygamma, order),
    x=lambda F, g, x, order: F.mul(g, F.polygamma(x, order + 1)))
unary("sinc", doc="``sin(pi * input) / (pi * input)``, 1 at 0", domain="float",
      holomorphic=True, composite=lambda F, x: in_single(F, _sinc, x),
      x=lambda F, g, x: F.mul(g, _sinc_slope(F, x)))
unary("deg2rad", doc="Degrees in radians", domain="ordered float",
      check=refuse_complex("deg2rad is not supported for complex tensors.", RuntimeError),
      composite=lambda F, x: F.mul(x, math.pi / 180.0),
      x=lambda F, g: F.mul(g, math.pi / 180.0))
unary("rad2deg", doc="Radians in degrees", domain="ordered float",
      check=refuse_complex("rad2deg is not supported for complex tensors.", RuntimeError),
      composite=lambda F, x: F.mul(x, 180.0 / math.pi),
      x=lambda F, g: F.mul(g, 180.0 / math.pi))
row("logit", "x:T", "unary",
    doc="``log(x / (1 - x))``, element by element.",
    domain="ordered float",
    composite=lambda F, x: in_single(F, _logit, x),
    x=lambda F, g, x: _logit_backward(F, g, F.mul(x, F.sub(F.number(1.0), x))))
binary("logaddexp2", doc="``log2(2**input + 2**other)`` without overflow",
       numbers=NONE, check=refuse_whole("logaddexp2"), domain="ordered float",
       inplace=False, composite=lambda F, x, y: in_single(F, _logaddexp2, x, y),
       x=lambda F, g, x, y: F.mul(g, sigmoid_in_rule(F, F.mul(F.sub(x, y), math.log(2.0)))),
       y=lambda F, g, x, y: F.mul(g, sigmoid_in_rule(F, F.mul(F.sub(y, x), math.log(2.0)))))
binary("xlogy", doc="``input * log(other)``, 0 where *input* is 0",
       numbers=EITHER, domain="ordered float",
       number_node_name="XlogyBackward2", left_number_node_name="XlogyBackward1",
       composite=lambda F, x, y: _xlogy(F, x, F.log(y), y),
       x=lambda F, g, x, y, y_number: _xlogy_left(F, g, x, y, y_number),
       y=lambda F, g, x, y: F.mul(g, F.div(x, y)))
# fmt: on


def widest(F: Any) -> Any:
    """The same device with float64, or else float32: for functions whose steps cancel digits."""
    has_double = dtypes.float64 in F.known_dtypes
    d = dtypes.float64 if has_double else dtypes.float32
    return F if F.dtype in (d, dtypes.float64) else F.of(d)


def widened(F: Any, x: Any, function: Any, *more: Any) -> Any:
    """The function computed in float64, or else float32."""
    wide = widest(F)
    if wide is F:
        return function(F, x, *more)
    return F.cast(function(wide, wide.cast(x, F), *more), wide)


# -- the gamma function ----------------------------------------------------------------------
_SHIFT = 10
# B(2j) / (2j (2j - 1)): Stirling's series; B(2j) are Bernoulli's numbers.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


@functools.cache
def series_at_2() -> tuple[float, ...]:
    """Taylor's coefficients of ``lgamma(2 + t)``, the highest first: zeta(k) - 1 in all but one."""

    def above_1(k: int) -> float:
        rest = 40.0 ** (1 - k) / (k - 1) + 40.0**-k / 2
        rising = float(k)
        for j, b in enumerate(_BERNOULLI[:4], 1):
            rest += b * rising / math.factorial(2 * j) * 40.0 ** (1 - k - 2 * j)
            rising *= (k + 2 * j - 1) * (k + 2 * j)
        return math.fsum([rest, *(float(n) ** -k for n in range(2, 40))])

    return (*((-1) ** k * above_1(k) / k for k in range(27, 1, -1)), 1.0 - _EULER, 0.0)


_EULER = 0.57721566490153286
_STIRLING = tuple(b / ((2 * j) * (2 * j - 1)) for j, b in enumerate(_BERNOULLI, 1))[::-1]


def _lgamma(F: Any, x: Any) -> Any:
    """Steps down to a series at 2, which keeps the digits near the zeros; Stirling's from 10 on."""
    low = F.lt(x, 0.5)
    y = F.where(low, F.sub(F.number(1.0), x), x)
    v = F.minimum(y, 10.0)
    product = F.add(F.mul(v, 0.0), 1.0)
    for _ in range(8):
        above, less = F.gt(v, 2.5), F.sub(v, 1.0)
        product = F.where(above, F.mul(product, less), product)
        v = F.where(above, less, v)
    from_1 = F.sub(v, 1.0)
    first = F.lt(v, 1.5)
    value = polynomial(F, F.where(first, from_1, F.sub(v, 2.0)), series_at_2())
    value = F.where(first, F.sub(value, F.log1p(from_1)), F.add(value, F.log(product)))
    z = F.maximum(y, 10.0)
    inverse = F.reciprocal(z)
    series = F.mul(inverse, polynomial(F, F.mul(inverse, inverse), _STIRLING))
    far = F.sub(F.mul(F.sub(z, 0.5), F.log(z)), z)
    far = F.add(F.add(far, series), 0.5 * math.log(2.0 * math.pi))
    value = F.where(F.lt(y, 10.0), value, far)
    phase = F.sub(x, F.round(x))
    sine = F.abs(F.sin(F.mul(phase, math.pi)))
    mirrored = F.sub(F.log(F.div(F.number(math.pi), sine)), value)
    pole = F.bool.bitwise_and(low, F.eq(phase, 0.0))
    value = F.where(pole, F.number(math.inf), F.where(low, mirrored, value))
    return F.where(F.eq(F.abs(x), math.inf), F.number(math.inf), value)


def _reflected(F: Any, x: Any) -> tuple[Any, Any, Any]:
    """Where x < 1/2, and there 1 - x, and pi times the phase within its period."""
    low = F.lt(x, 0.5)
    y = F.where(low, F.sub(F.number(1.0), x), x)
    return low, y, F.mul(F.sub(x, F.round(x)), math.pi)


def _digamma(F: Any, x: Any) -> Any:
    low, y, angle = _reflected(F, x)
    total = F.reciprocal(y)
    for i in range(1, _SHIFT):
        total = F.add(total, F.reciprocal(F.add(y, float(i))))
    z = F.add(y, float(_SHIFT))
    square = F.reciprocal(F.mul(z, z))
    series = polynomial(F, square, tuple(b / (2 * j) for j, b in enumerate(_BERNOULLI, 1))[::-1])
    value = F.sub(F.sub(F.log(z), F.div(F.number(0.5), z)), F.mul(square, series))
    value = F.sub(value, total)
    cotangent = F.div(F.cos(angle), F.sin(angle))
    value = F.where(low, F.sub(value, F.mul(cotangent, math.pi)), value)
    # The pole at 0 has the sign of the zero's other side, those below it none.
    whole = F.bool.bitwise_and(low, F.eq(angle, 0.0))
    at_zero = F.div(F.number(-1.0), x)
    pole = F.where(F.eq(x, 0.0), at_zero, F.number(math.nan))
    return F.where(whole, pole, value)


def _polygamma(F: Any, x: Any, n: int) -> Any:
    """``(-1)**(n + 1) * n! * zeta(n + 1, x)``, the sum by Euler's and Maclaurin's formula.

    Below 0 the series is that of 1 - x, and the derivative of the cotangent leads back to x.
    """
    if n == 0:
        return _digamma(F, x)
    low = F.lt(x, 0.0)
    y = F.where(low, F.sub(F.number(1.0), x), x)
    sign = float((-1) ** (n + 1))
    value = F.mul(_zeta(F, n + 1, y), sign * math.factorial(n))
    phase = F.sub(x, F.round(x))
    angle = F.mul(phase, math.pi)
    cotangent = F.div(F.cos(angle), F.sin(angle))
    cotangent = F.where(F.eq(F.abs(phase), 0.5), F.number(0.0), cotangent)
    slope = polynomial(F, cotangent, _cotangent_derivative(n))
    mirrored = F.sub(F.mul(value, -sign), F.mul(slope, math.pi ** (n + 1)))
    pole = F.bool.bitwise_and(F.le(x, 0.0), F.eq(phase, 0.0))
    if n > 1:
        pole = F.bool.bitwise_or(pole, F.eq(x, -math.inf))
    return F.where(pole, F.number(sign * math.inf), F.where(low, mirrored, value))


@functools.cache
def _cotangent_derivative(n: int) -> tuple[float, ...]:
    """The *n*-th derivative of the cotangent in its own powers, the highest first."""
    powers = [0, 1]  # the cotangent itself; its derivative is -(1 + its square)
    for _ in range(n):
        slope = [k * c for k, c in enumerate(powers)][1:]
        powers = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return tuple(float(c) for c in reversed(powers))


def _zeta(F: Any, s: int, x: Any) -> Any:
    total = F.pow(x, float(-s))
    for i in range(1, _SHIFT):
        total = F.add(total, F.pow(F.add(x, float(i)), float(-s)))
    z = F.add(x, float(_SHIFT))
    term = F.pow(z, float(-s))
    integral = F.mul(F.pow(z, float(1 - s)), 1.0 / (s - 1))
    total = F.add(total, F.add(integral, F.mul(term, 0.5)))
    rising, power = float(s), F.div(term, z)
    square = F.mul(z, z)
    for j, b in enumerate(_BERNOULLI, 1):
        total = F.add(total, F.mul(power, b * rising / math.factorial(2 * j)))
        rising *= (s + 2 * j - 1) * (s + 2 * j)
        power = F.div(power, square)
    return total


# -- others ----------------------------------------------------------------------------------
def _sinc(F: Any, x: Any) -> Any:
    angle = F.mul(x, math.pi)
    return F.where(F.eq(x, 0.0), F.number(1.0), F.div(F.sin(angle), angle))


# sin(a) / a has the slope a * (these in a * a), which loses no digits near 0.
_SINC_SLOPE = tuple((-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 11))[::-1]


def _sinc_slope(F: Any, x: Any) -> Any:
    angle = F.mul(x, math.pi)
    small = F.real.lt(F.abs_complex(angle), 1.0) if F.is_complex else F.lt(F.abs(angle), 1.0)
    near = F.where(small, angle, F.number(0.0))
    near = F.mul(near, polynomial(F, F.mul(near, near), _SINC_SLOPE))
    a = F.where(small, F.number(1.0), angle)
    far = F.div(F.sub(F.cos(a), F.div(F.sin(a), a)), a)
    return F.mul(F.where(small, near, far), math.pi)


def _logit(F: Any, x: Any) -> Any:
    """Around its zero at 1/2 by the difference from there, which has all digits."""
    rest = F.sub(F.number(1.0), x)
    difference = F.sub(x, 0.5)
    around = F.log1p(F.div(F.mul(difference, 2.0), rest))
    return F.where(F.lt(F.abs(difference), 0.25), around, F.log(F.div(x, rest)))


def _logit_backward(F: Any, g: Any, product: Any) -> Any:
    """``g / product``; *product* is ``x * (1 - x)``, below 0 where x is outside [0, 1]."""
    return F.where(F.lt(product, 0.0), F.number(math.nan), F.div(g, product))


def _logaddexp2(F: Any, x: Any, y: Any) -> Any:
    gap = F.mul(F.abs(F.sub(x, y)), -math.log(2.0))
    sum_ = F.add(F.maximum(x, y), F.mul(F.log1p(F.exp(gap)), 1.0 / math.log(2.0)))
    return F.where(F.eq(x, y), F.add(x, 1.0), sum_)


def _xlogy(F: Any, x: Any, log: Any, y: Any) -> Any:
    value = F.mul(log, x)
    return F.where(F.bool.bitwise_and(F.eq(x, 0.0), F.eq(y, y)), F.number(0.0), value)


def _xlogy_left(F: Any, g: Any, x: Any, y: Any, number: Any) -> Any:
    if number is not None:
        if number > 0:
            return F.mul(g, math.log(number))
        return F.where(
            F.eq(x, 0.0), F.mul(g, 0.0), F.mul(g, -math.inf if number == 0 else math.nan)
        )
    nothing = F.bool.bitwise_and(F.eq(x, 0.0), F.le(y, 0.0))
    return F.mul(g, F.where(nothing, F.number(0.0), F.log(y)))


@public(out=True, inplace=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``; *input* is cut to [eps, 1 - eps] where *eps* is given."""
    check_tensors("logit", input=input)
    if eps is not None:
        if eps <= 0.5:
            input = input.clamp(eps, 1.0 - eps)
        else:  # the bounds cross: the lower one is looked at first; NaN bounds nothing
            input = input.masked_fill(input > 1.0 - eps, 1.0 - eps).masked_fill(input < eps, eps)
    return core("logit")(input)


@public(function=False, inplace=True, name="polygamma")
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The *n*-th derivative of ``digamma``."""
    return polygamma(n, self)


@public(out=True, method=False)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The *n*-th derivative of ``digamma``.

    RuntimeError for a negative *n*.
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return core("polygamma")(input, n)


@public(out=True, inplace=True)
@composed(node="MvlgammaBackward0")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of *p* dimensions."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input._k.dtype is dtypes.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    total = input.lgamma()
    for i in range(1, p):
        total = total + (input - 0.5 * i).lgamma()
    return total + p * (p - 1) / 4.0 * math.log(math.pi)
