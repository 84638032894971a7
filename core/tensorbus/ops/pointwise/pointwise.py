"""Pointwise ops, a row each; functions, methods, operators and in-place forms follow from it."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS, METHODS
from tensorbus.op_engine.operands import EITHER, NONE, OTHER
from tensorbus.op_engine.out import CAST, SAME
from tensorbus.ops.pointwise import compositions as of
from tensorbus.ops.pointwise.declaring import binary, refuse_complex, refuse_whole, unary
from tensorbus.rows.registry import no_derivative


def _refuse_negation() -> Any:
    raise RuntimeError(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
        "to invert a mask, use the `~` or `logical_not()` operator instead."
    )


def _refuse_relu(x: Tensor) -> Any:
    if x._k.dtype is dtypes.bool:
        raise RuntimeError("Boolean inputs not supported for relu")
    raise NotImplementedError("clamp is not supported for complex types")


def _refuse_frac(x: Tensor) -> None:
    if x._k.dtype.category < dtypes.FLOAT:
        raise not_implemented("frac_cpu", x)


def _complex(name: str, x: Tensor) -> Any:
    """The op on complex numbers, whose result has another dtype."""
    from tensorbus.ops.pointwise import complex_numbers

    if not x._k.dtype.is_complex:
        raise not_implemented(name, x)
    return getattr(complex_numbers, f"{name}_of_complex")(x)


def _whole(x: Tensor) -> Tensor:
    """Truth values as integers."""
    return to_kind(x, x._k.i64)


# -- arithmetic ------------------------------------------------------------------------------
def refuse_bool(*operands: Any) -> None:
    """Truth values have no difference."""
    bools = [
        x._k.dtype is dtypes.bool if isinstance(x, Tensor) else isinstance(x, bool)
        for x in operands
    ]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )


# fmt: off
binary("add", doc="``input + other``", operator="add", alpha=True, commutes=True,
       on_bool="bitwise_or",
       number_inputs=1, x=lambda F, g: g, y=lambda F, g: g)
binary("sub", doc="``input - other``", operator="sub", domain="number", alpha=True,
       check=refuse_bool, left_number_node_name="RsubBackward1",
       number_inputs=1, x=lambda F, g: g, y=lambda F, g: F.neg(g))
binary("mul", doc="``input * other``", operator="mul", aliases=("multiply",), commutes=True,
       on_bool="bitwise_and",
       number_inputs=1,
       holomorphic=True, x=lambda F, g, y: F.mul(g, y), y=lambda F, g, x: F.mul(g, x))
binary("div", doc="``input / other``, true division", operator="truediv", domain="float",
       number_inputs=1, left_number_node_name="MulBackward0", holomorphic=True,
       x=lambda F, g, y: F.div(g, y),
       y=lambda F, g, x, y: F.neg(F.div(F.mul(g, F.div(x, y)), y)))
binary("floor_divide", doc="``input // other``, rounded towards minus infinity", divides=True,
       operator="floordiv", domain="ordered number", **no_derivative("floor_divide"))
binary("fmod", doc="The remainder of division with the sign of *input*",
       node_name="FmodBackward1", number_node_name="FmodBackward0",
       divides=True,
       numbers=OTHER, domain="ordered number",
       x=lambda F, g: g, y=lambda F, g, x, y: F.neg(F.mul(g, F.div_trunc(x, y))))
binary("remainder", doc="The remainder of division with the sign of *other*",
       node_name="RemainderBackward1", number_node_name="RemainderBackward0",
       divides=True,
       numbers=EITHER, operator="mod",
       domain="ordered number",
       in_float32=True,
       composite=lambda F, x, y: of.remainder(F, x, y),
       x=lambda F, g: g, y=lambda F, g, x, y: F.neg(F.mul(g, F.div_floor(x, y))))
binary("pow", doc="``input ** exponent``", node_name="PowBackward1",
       number_node_name="PowBackward0", left_number_node_name="PowBackward2",
       numbers=EITHER, operator="pow", domain="number",
       holomorphic=True, x=lambda F, g, x, y, y_number: of.pow_base(F, g, x, y, y_number),
       y=lambda F, g, x, y, out: of.pow_exponent(F, g, x, y, out), autocast="device float32")
binary("atan2", doc="The angle of the point ``(other, input)``", numbers=NONE,
       domain="ordered float",
       aliases=("arctan2",),
       x=lambda F, g, x, y: of.over_square(F, F.mul(g, y), F.hypot(x, y)),
       y=lambda F, g, x, y: of.over_square(F, F.neg(F.mul(g, x)), F.hypot(x, y)),
       autocast="device widest")
binary("maximum", doc="The larger of both, NaN where either is",
       commutes=True,
       numbers=NONE, inplace=False, domain="ordered",
       check=refuse_complex("maximum not implemented for complex tensors.", RuntimeError),
       x=lambda F, g, x, y: of.share(F, g, F.lt(x, y), x, y),
       y=lambda F, g, x, y: of.share(F, g, F.gt(x, y), x, y))
binary("minimum", doc="The smaller of both, NaN where either is",
       commutes=True,
       numbers=NONE, inplace=False, domain="ordered",
       check=refuse_complex("minimum not implemented for complex tensors.", RuntimeError),
       x=lambda F, g, x, y: of.share(F, g, F.gt(x, y), x, y),
       y=lambda F, g, x, y: of.share(F, g, F.lt(x, y), x, y))
binary("hypot", doc="``sqrt(input**2 + other**2)`` without overflow",
       numbers=NONE, check=refuse_whole("hypot"), domain="ordered float",
       composite=lambda F, x, y: of.in_single(F, of.hypot, x, y),
       x=lambda F, g, x, out: F.mul(g, F.div(x, out)),
       y=lambda F, g, y, out: F.mul(g, F.div(y, out)))
binary("logaddexp", doc="``log(exp(input) + exp(other))`` without overflow",
       numbers=NONE, check=refuse_whole("logaddexp"), inplace=False, domain="float",
       holomorphic=True,
       composite=lambda F, x, y: of.in_single(F, of.logaddexp, x, y),
       x=lambda F, g, x, y: F.mul(g, of.sigmoid_in_rule(F, F.sub(x, y))),
       y=lambda F, g, x, y: F.mul(g, of.sigmoid_in_rule(F, F.sub(y, x))))

# -- comparison and logic --------------------------------------------------------------------
binary("eq", doc="``input == other``",
       numbers=OTHER, operator="eq", reverse=False, inplace=False, result="bool")
binary("ne", doc="``input != other``",
       numbers=OTHER, operator="ne", reverse=False, inplace=False, result="bool",
       aliases=("not_equal",))
binary("lt", doc="``input < other``",
       numbers=OTHER, operator="lt", reverse=False, inplace=False, result="bool",
       domain="ordered", aliases=("less",))
binary("le", doc="``input <= other``",
       numbers=OTHER, operator="le", reverse=False, inplace=False, result="bool",
       domain="ordered", aliases=("less_equal",))
binary("gt", doc="``input > other``",
       composes_numbers=True,
       numbers=OTHER, operator="gt", reverse=False, inplace=False, result="bool",
       domain="ordered", aliases=("greater",), composite=lambda F, x, y: F.lt(y, x))
binary("ge", doc="``input >= other``",
       composes_numbers=True,
       numbers=OTHER, operator="ge", reverse=False, inplace=False, result="bool",
       domain="ordered", aliases=("greater_equal",), composite=lambda F, x, y: F.le(y, x))
binary("logical_and", doc="Whether both are true", numbers=NONE, result="bool", inplace=False,
       composite=lambda F, x, y: F.bool.bitwise_and(F.ne(x, 0), F.ne(y, 0)))
binary("logical_or", doc="Whether either is true", numbers=NONE, result="bool", inplace=False,
       composite=lambda F, x, y: F.bool.bitwise_or(F.ne(x, 0), F.ne(y, 0)))
binary("logical_xor", doc="Whether exactly one is true", numbers=NONE, result="bool", inplace=False,
       composite=lambda F, x, y: F.bool.bitwise_xor(F.ne(x, 0), F.ne(y, 0)))
binary("bitwise_and", doc="``input & other``",
       commutes=True, numbers=EITHER, operator="and", domain="integral")
binary("bitwise_or", doc="``input | other``",
       commutes=True, numbers=EITHER, operator="or", domain="integral")
binary("bitwise_xor", doc="``input ^ other``",
       commutes=True, numbers=EITHER, operator="xor", domain="integral")
binary("lshift", doc="``input << other``", numbers=EITHER, operator="lshift", domain="integer",
       aliases=("bitwise_left_shift",))
binary("rshift", doc="``input >> other``", numbers=EITHER, operator="rshift", domain="integer",
       aliases=("bitwise_right_shift",))

# -- signs and rounding ----------------------------------------------------------------------
unary("neg", doc="``-input``", aliases=("negative", "__neg__"), domain="number",
      outside=lambda x: _refuse_negation(),
      composite=lambda F, x: F.sub(-0.0 if F.is_float else 0, x), x=lambda F, g: F.neg(g))
unary("abs", doc="The absolute value", aliases=("absolute", "__abs__"), domain="ordered number",
      outside=lambda x: _complex("abs", x),
      x=lambda F, g, x: F.mul(g, F.sign(x)))
unary("sign", doc="-1, 0 or 1", domain="ordered",
      check=refuse_complex("Unlike NumPy, torch.sign is not intended to support complex numbers. "
                           "Please use torch.sgn instead."),
      composite=lambda F, x: of.sign(F, x),
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("floor", doc="The largest integer not above", domain="rounding",
      check=refuse_complex("floor is not supported for complex inputs"),
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("ceil", doc="The smallest integer not below", domain="rounding",
      check=refuse_complex("ceil is not supported for complex inputs"),
      composite=lambda F, x: F.neg(F.floor(F.neg(x))),
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("round", doc="The nearest integer, halves to even", domain="rounding",
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("trunc", doc="The integer part", domain="rounding", aliases=("fix",),
      check=refuse_complex("trunc is not supported for complex inputs"),
      composite=lambda F, x: F.where(F.lt(x, 0), F.ceil(x), F.floor(x)),
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("frac", doc="The part behind the point", domain="ordered float", out=SAME,
      check=lambda x: _refuse_frac(x),
      composite=lambda F, x: F.sub(x, F.trunc(x)),
      x=lambda F, g: g)

# -- powers, exponentials, logarithms --------------------------------------------------------
unary("sqrt", doc="The square root", domain="float",
      holomorphic=True, x=lambda F, g, out: F.div(F.mul(g, 0.5), out))
unary("rsqrt", doc="``1 / sqrt(input)``", domain="float",
      composite=lambda F, x: F.reciprocal(F.sqrt(x)),
      holomorphic=True, x=lambda F, g, out: F.mul(F.mul(g, -0.5), F.mul(out, F.mul(out, out))),
      autocast="device float32")
unary("square", doc="``input * input``", node_name="PowBackward0", out=CAST, domain="number",
      outside=lambda x: core("square")(_whole(x)), composite=lambda F, x: F.mul(x, x),
      holomorphic=True, x=lambda F, g, x: F.mul(g, F.mul(x, 2.0)), autocast="device float32")
unary("reciprocal", doc="``1 / input``", domain="float",
      composite=lambda F, x: F.div(1.0, x),
      holomorphic=True, x=lambda F, g, out: F.neg(F.mul(g, F.mul(out, out))),
      autocast="device float32")
unary("exp", doc="The exponential", domain="float", holomorphic=True,
      x=lambda F, g, out: F.mul(g, out), autocast="device float32")
unary("exp2", doc="Two to the power", domain="float",
      composite=lambda F, x: F.pow(2.0, x),
      holomorphic=True, x=lambda F, g, out: F.mul(g, F.mul(out, math.log(2.0))))
unary("expm1", doc="``exp(input) - 1``, exact near 0", domain="float",
      holomorphic=True, x=lambda F, g, out: F.mul(g, F.add(out, 1.0)), autocast="device float32")
unary("log", doc="The natural logarithm", domain="float", holomorphic=True,
      x=lambda F, g, x: F.div(g, x), autocast="device float32")
unary("log2", doc="The logarithm to base 2", domain="float",
      composite=lambda F, x: of.in_single(F, of.log2, x),
      holomorphic=True, x=lambda F, g, x: F.div(g, F.mul(x, math.log(2.0))),
      autocast="device float32")
unary("log10", doc="The logarithm to base 10", domain="float",
      composite=lambda F, x: of.in_single(F, of.log10, x),
      holomorphic=True, x=lambda F, g, x: F.div(g, F.mul(x, math.log(10.0))),
      autocast="device float32")
unary("log1p", doc="``log(1 + input)``, exact near 0", domain="float",
      holomorphic=True, x=lambda F, g, x: F.div(g, F.add(x, 1.0)), autocast="device float32")

# -- trigonometry ----------------------------------------------------------------------------
unary("sin", doc="The sine", domain="float", holomorphic=True,
      x=lambda F, g, x: F.mul(g, F.cos(x)))
unary("cos", doc="The cosine", domain="float", holomorphic=True,
      x=lambda F, g, x: F.neg(F.mul(g, F.sin(x))))
unary("tan", doc="The tangent", domain="float",
      composite=lambda F, x: F.div(F.sin(x), F.cos(x)),
      holomorphic=True, x=lambda F, g, out: F.mul(g, F.add(F.mul(out, out), 1.0)),
      autocast="device float32")
unary("asin", doc="The arc sine", domain="float", aliases=("arcsin",),
      composite=lambda F, x: F.atan2(x, F.sqrt(of.one_minus_square(F, x))),
      holomorphic=True, x=lambda F, g, x: F.mul(g, F.asin_slope(x)), autocast="device float32")
unary("acos", doc="The arc cosine", domain="float", aliases=("arccos",),
      composite=lambda F, x: F.atan2(F.sqrt(of.one_minus_square(F, x)), x),
      holomorphic=True, x=lambda F, g, x: F.neg(F.mul(g, F.asin_slope(x))),
      autocast="device float32")
unary("atan", doc="The arc tangent", domain="float", aliases=("arctan",),
      composite=lambda F, x: F.atan2(x, 1.0),
      holomorphic=True, x=lambda F, g, x: F.div(g, F.add(F.mul(x, x), 1.0)))
unary("sinh", doc="The hyperbolic sine", domain="float",
      composite=lambda F, x: of.in_single(F, of.sinh, x),
      holomorphic=True, x=lambda F, g, x: F.mul(g, F.cosh(x)), autocast="device float32")
unary("cosh", doc="The hyperbolic cosine", domain="float",
      composite=lambda F, x: of.in_single(F, of.cosh, x),
      holomorphic=True, x=lambda F, g, x: F.mul(g, F.sinh(x)), autocast="device float32")
unary("tanh", doc="The hyperbolic tangent", domain="float",
      holomorphic=True, x=lambda F, g, out: F.sub(g, F.mul(g, F.mul(out, out))))
unary("asinh", doc="The inverse hyperbolic sine", domain="float", aliases=("arcsinh",),
      written_node_name="AsinhBackward1",
      composite=lambda F, x: of.in_single(F, of.asinh, x),
      holomorphic=True, x=lambda F, g, x: F.div(g, F.sqrt(F.add(F.mul(x, x), 1.0))))
unary("acosh", doc="The inverse hyperbolic cosine", domain="float", aliases=("arccosh",),
      written_node_name="AcoshBackward1",
      composite=lambda F, x: of.in_single(F, of.acosh, x),
      holomorphic=True, x=lambda F, g, x: F.mul(g, F.acosh_slope(x)))
unary("atanh", doc="The inverse hyperbolic tangent", domain="float", aliases=("arctanh",),
      written_node_name="AtanhBackward1",
      composite=lambda F, x: of.in_single(F, of.atanh, x),
      holomorphic=True, x=lambda F, g, x: F.mul(g, F.atanh_slope(x)))

# -- what a value is -------------------------------------------------------------------------
unary("isnan", doc="Whether it is NaN", out=None, result="bool", composite=lambda F, x: F.ne(x, x))
unary("isinf", doc="Whether it is infinite", out=None, result="bool",
      composite=lambda F, x: of.isinf(F, x))
unary("isfinite", doc="Whether it is neither NaN nor infinite", out=None, result="bool",
      composite=lambda F, x: of.isfinite(F, x))
unary("logical_not", doc="Whether it is zero", out=CAST, result="bool",
      composite=lambda F, x: F.eq(x, 0))
unary("bitwise_not", doc="``~input``", aliases=("__invert__",), domain="integral",
      composite=lambda F, x: F.bitwise_xor(x, F.number(1 if F.dtype.category == 0 else -1)))

# -- activations that deserve a kernel of their own ------------------------------------------
unary("sigmoid", doc="``1 / (1 + exp(-input))``", domain="float",
      composite=lambda F, x: of.in_single(F, of.sigmoid, x),
      holomorphic=True, x=lambda F, g, out: F.sigmoid_backward(g, out))
unary("relu", doc="``max(input, 0)``, NaN kept", out=None, domain="ordered number",
      outside=lambda x: _refuse_relu(x), composite=lambda F, x: F.maximum(x, 0),
      piecewise_linear=True,
      x=lambda F, g, out: F.relu_backward(g, out))
# fmt: on

__all__ = ["FUNCTIONS", "METHODS"]
