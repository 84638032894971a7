"""Pointwise ops: one row each; functions, methods, operators and in-place forms follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._dispatch.kinds import wrap_number
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import fast_binary, in_place, write_out
from tensorbus.op_engine.mixed_operands import binary as mixed
from tensorbus.op_engine.operands import BOTH, EITHER, NONE, NUMBERS, OTHER, check_operands
from tensorbus.op_engine.override import SUBCLASSES, dispatch, overriding
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import FUNCTIONS, METHODS, Lazy
from tensorbus.op_engine.scalars import fitted
from tensorbus.ops.pointwise import compositions as of
from tensorbus.rows.registry import ROWS, no_derivative, row


def _checked(name: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}"
        )


def _given(out: Any, **keywords: Any) -> dict[str, Any]:
    """The keywords of a call, *out* where there is one."""
    return keywords if out is None else {**keywords, "out": out}


def unary(
    name: str, *, doc: str, x: Any = None, aliases: tuple[str, ...] = (), **fields: Any
) -> None:
    """Declare a pointwise op of one tensor, with everything that follows from it."""
    rules = {} if x is None else {"x": x}
    row(name, "x:T", "unary", **fields, **rules)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if type(input) is not Tensor:
            _checked(name, input)
            if SUBCLASSES.on and (classes := overriding((input, out))):
                return dispatch(function, classes, (input,), _given(out))
        result = core(name)(input)
        return result if out is None else write_out(result, out, name)

    def inplace(self: Tensor) -> Tensor:
        return in_place(self, core(name), ())

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, element by element; *out* receives the result where given."
    inplace.__name__ = inplace.__qualname__ = name + "_"
    inplace.__doc__ = f"In-place version of ``{name}``."
    for n in (name, *aliases):
        METHODS[n] = Lazy(n, lambda: core(name))
        if n.startswith("__"):
            continue  # an operator is a method alone
        FUNCTIONS[n] = function
        if fields.get("result", "same") == "same":
            METHODS[n + "_"] = inplace


def binary(
    name: str,
    *,
    doc: str,
    operator: str = "",
    reverse: bool = True,
    inplace: bool = True,
    alpha: bool = False,
    numbers: str = BOTH,
    aliases: tuple[str, ...] = (),
    **fields: Any,
) -> None:
    """Declare a pointwise op of two operands that broadcast, with everything that follows.

    *numbers* says which of its operands its functions take as numbers; operators take any.
    """
    row(name, "x:T, y:T", "binary", **fields)
    NUMBERS[name] = numbers

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        if SUBCLASSES.on and (classes := overriding((input, other, out))):
            return dispatch(function, classes, (input, other), _given(out))
        if type(other) is not Tensor or type(input) is not Tensor:
            check_operands(name, name, input, other)
        result = (
            core(name)(input, other) if isinstance(input, Tensor) else _left(name, input, other)
        )
        return result if out is None else write_out(result, out, name)

    if alpha:
        function = _scaled(name, function)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}; the operands broadcast. *out* receives the result where given."
    for n in (name, *aliases):
        FUNCTIONS[n] = function
        METHODS[n] = function
        if inplace and alpha:
            METHODS[n + "_"] = Lazy(n + "_", lambda: _scaled_in_place(name))
        elif inplace:
            METHODS[n + "_"] = Lazy(n + "_", lambda: fast_binary(name, numbers))
    if operator:
        METHODS[f"__{operator}__"] = Lazy(f"__{operator}__", lambda: core(name))
        if reverse:
            METHODS[f"__r{operator}__"] = lambda self, other: _left(name, other, self)
            METHODS[f"__i{operator}__"] = Lazy(f"__i{operator}__", lambda: fast_binary(name))


_ONE = 1
_ANY_HOLDS = 6e4
"""Every floating point dtype has numbers as large as this."""


def scaled(input: Any, other: Any, alpha: Any) -> Any:
    """``alpha * other`` in the dtype of the result, where PyTorch allows the factor."""
    d = result_type(input, other)
    if isinstance(alpha, bool) and d is not dtypes.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and d.category < dtypes.FLOAT:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, complex) and not d.is_complex:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    alpha = fitted(alpha, d)
    if not isinstance(other, Tensor):
        number = wrap_number(other, d) * alpha
        if d.category == dtypes.INTEGER:
            number %= 1 << 64
        return bool(number) if d is dtypes.bool else number
    return core("mul")(to_kind(other, other._k.of(d)), alpha)


def _scaled(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        input: Any, other: Any, *, alpha: complex = 1, out: Tensor | None = None
    ) -> Tensor:
        if alpha is not _ONE:
            if SUBCLASSES.on and (classes := overriding((input, other, out))):
                return dispatch(function, classes, (input, other), _given(out, alpha=alpha))
            other = scaled(input, other, alpha)
        return plain(input, other, out=out)

    return function


def _scaled_in_place(name: str) -> Callable[..., Any]:
    plain = fast_binary(name, BOTH)

    def form(self: Tensor, other: Any, *, alpha: complex = 1) -> Any:
        if alpha is _ONE:
            return plain(self, other)
        k = self._k
        if (
            type(other) is Tensor
            and other._k is k
            and other._e is None
            and other._b is None
            and k.is_float
            and type(alpha) is float
            and -_ANY_HOLDS < alpha < _ANY_HOLDS
        ):
            # A tensor for the product that skips the records of one: optimizers call this most.
            product = from_array(k.mul(other._a, k.const(alpha)), k)
            return plain(self, product) if product._s else plain(self, scaled(self, other, alpha))
        return plain(self, scaled(self, other, alpha))

    form.__name__ = form.__qualname__ = name + "_"
    form.__doc__ = f"In-place version of ``{name}``."
    return form


def _left(name: str, value: Any, tensor: Any) -> Any:
    """The op with a number on the left."""
    if name in _COMMUTATIVE and isinstance(tensor, Tensor):
        return core(name)(tensor, value)
    return mixed(ROWS[name], value, tensor)


def _refuse_negation() -> Any:
    raise RuntimeError(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
        "to invert a mask, use the `~` or `logical_not()` operator instead."
    )


def _refuse_relu(x: Tensor) -> Any:
    if x._k.dtype is dtypes.bool:
        raise RuntimeError("Boolean inputs not supported for relu")
    raise not_implemented("relu", x)


def _complex(name: str, x: Tensor) -> Any:
    """The op on complex numbers, whose result has another dtype."""
    from tensorbus.ops.pointwise import complex_numbers

    if not x._k.dtype.is_complex:
        raise not_implemented(name, x)
    return getattr(complex_numbers, f"{name}_of_complex")(x)


def _whole(x: Tensor) -> Tensor:
    """Truth values as integers."""
    return to_kind(x, x._k.i64)


_COMMUTATIVE = {"add", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"}

# -- arithmetic ------------------------------------------------------------------------------
# fmt: off
binary("add", doc="``input + other``", operator="add", alpha=True,
       number_inputs=1, x=lambda F, g: g, y=lambda F, g: g)
binary("sub", doc="``input - other``", operator="sub", domain="number", alpha=True,
       number_inputs=1, x=lambda F, g: g, y=lambda F, g: F.neg(g))
binary("mul", doc="``input * other``", number_inputs=1, operator="mul", aliases=("multiply",),
       x=lambda F, g, y: F.mul(g, y), y=lambda F, g, x: F.mul(g, x))
binary("div", doc="``input / other``, true division", operator="truediv", domain="float",
       number_inputs=1, x=lambda F, g, y: F.div(g, y),
       y=lambda F, g, y, out: F.neg(F.div(F.mul(g, out), y)))
binary("floor_divide", doc="``input // other``, rounded towards minus infinity",
       operator="floordiv", domain="ordered number", **no_derivative("floor_divide"))
binary("fmod", doc="The remainder of division with the sign of *input*",
       numbers=OTHER, domain="ordered number",
       x=lambda F, g: g, y=lambda F, g, x, y: F.neg(F.mul(g, F.div_trunc(x, y))))
binary("remainder", doc="The remainder of division with the sign of *other*",
       numbers=EITHER, operator="mod",
       domain="ordered number",
       composite=lambda F, x, y: of.remainder(F, x, y),
       x=lambda F, g: g, y=lambda F, g, x, y: F.neg(F.mul(g, F.div_floor(x, y))))
binary("pow", doc="``input ** exponent``", numbers=EITHER, operator="pow", domain="number",
       x=lambda F, g, x, y, y_number: of.pow_base(F, g, x, y, y_number),
       y=lambda F, g, x, y, out: of.pow_exponent(F, g, x, y, out))
binary("atan2", doc="The angle of the point (other, input)", numbers=NONE, domain="ordered float",
       aliases=("arctan2",),
       x=lambda F, g, x, y: of.over_square(F, F.mul(g, y), F.hypot(x, y)),
       y=lambda F, g, x, y: of.over_square(F, F.neg(F.mul(g, x)), F.hypot(x, y)))
binary("maximum", doc="The larger of both, NaN where either is",
       numbers=NONE, inplace=False, domain="ordered",
       x=lambda F, g, x, y: of.share(F, g, F.lt(x, y), x, y),
       y=lambda F, g, x, y: of.share(F, g, F.gt(x, y), x, y))
binary("minimum", doc="The smaller of both, NaN where either is",
       numbers=NONE, inplace=False, domain="ordered",
       x=lambda F, g, x, y: of.share(F, g, F.gt(x, y), x, y),
       y=lambda F, g, x, y: of.share(F, g, F.lt(x, y), x, y))
binary("hypot", doc="``sqrt(input**2 + other**2)`` without overflow",
       numbers=NONE, domain="ordered float",
       composite=lambda F, x, y: of.in_single(F, of.hypot, x, y),
       x=lambda F, g, x, out: F.mul(g, F.div(x, out)),
       y=lambda F, g, y, out: F.mul(g, F.div(y, out)))
binary("logaddexp", doc="``log(exp(input) + exp(other))`` without overflow",
       numbers=NONE, inplace=False, domain="ordered float",
       composite=lambda F, x, y: of.in_single(F, of.logaddexp, x, y),
       x=lambda F, g, x, y: F.mul(g, F.sigmoid(F.sub(x, y))),
       y=lambda F, g, x, y: F.mul(g, F.sigmoid(F.sub(y, x))))

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
       numbers=OTHER, operator="gt", reverse=False, inplace=False, result="bool",
       domain="ordered", aliases=("greater",), composite=lambda F, x, y: F.lt(y, x))
binary("ge", doc="``input >= other``",
       numbers=OTHER, operator="ge", reverse=False, inplace=False, result="bool",
       domain="ordered", aliases=("greater_equal",), composite=lambda F, x, y: F.le(y, x))
binary("logical_and", doc="Whether both are true", numbers=NONE, result="bool", inplace=False,
       composite=lambda F, x, y: F.bool.bitwise_and(F.ne(x, 0), F.ne(y, 0)))
binary("logical_or", doc="Whether either is true", numbers=NONE, result="bool", inplace=False,
       composite=lambda F, x, y: F.bool.bitwise_or(F.ne(x, 0), F.ne(y, 0)))
binary("logical_xor", doc="Whether exactly one is true", numbers=NONE, result="bool", inplace=False,
       composite=lambda F, x, y: F.bool.bitwise_xor(F.ne(x, 0), F.ne(y, 0)))
binary("bitwise_and", doc="``input & other``", numbers=EITHER, operator="and", domain="integral")
binary("bitwise_or", doc="``input | other``", numbers=EITHER, operator="or", domain="integral")
binary("bitwise_xor", doc="``input ^ other``", numbers=EITHER, operator="xor", domain="integral")
binary("lshift", doc="``input << other``", numbers=EITHER, operator="lshift", domain="number",
       aliases=("bitwise_left_shift",))
binary("rshift", doc="``input >> other``", numbers=EITHER, operator="rshift", domain="number",
       aliases=("bitwise_right_shift",))

# -- signs and rounding ----------------------------------------------------------------------
unary("neg", doc="``-input``", aliases=("negative", "__neg__"), domain="number",
      outside=lambda x: _refuse_negation(),
      composite=lambda F, x: F.sub(-0.0 if F.is_float else 0, x), x=lambda F, g: F.neg(g))
unary("abs", doc="The absolute value", aliases=("absolute", "__abs__"), domain="ordered number",
      outside=lambda x: _complex("abs", x),
      x=lambda F, g, x: F.mul(g, F.sign(x)))
unary("sign", doc="-1, 0 or 1", domain="ordered", composite=lambda F, x: of.sign(F, x),
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("floor", doc="The largest integer not above", domain="rounding",
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("ceil", doc="The smallest integer not below", domain="rounding",
      composite=lambda F, x: F.neg(F.floor(F.neg(x))),
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("round", doc="The nearest integer, halves to even", domain="rounding",
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("trunc", doc="The integer part", domain="rounding", aliases=("fix",),
      composite=lambda F, x: F.where(F.lt(x, 0), F.ceil(x), F.floor(x)),
      x=lambda F, g: F.zeros(tuple(g.shape)))
unary("frac", doc="The part behind the point", domain="ordered number",
      composite=lambda F, x: F.sub(x, F.trunc(x)),
      x=lambda F, g: g)

# -- powers, exponentials, logarithms --------------------------------------------------------
unary("sqrt", doc="The square root", domain="float",
      x=lambda F, g, out: F.div(F.mul(g, 0.5), out))
unary("rsqrt", doc="``1 / sqrt(input)``", domain="float",
      composite=lambda F, x: F.reciprocal(F.sqrt(x)),
      x=lambda F, g, out: F.mul(F.mul(g, -0.5), F.mul(out, F.mul(out, out))))
unary("square", doc="``input * input``", domain="number",
      outside=lambda x: core("square")(_whole(x)), composite=lambda F, x: F.mul(x, x),
      x=lambda F, g, x: F.mul(g, F.mul(x, 2.0)))
unary("reciprocal", doc="``1 / input``", domain="float",
      composite=lambda F, x: F.div(1.0, x),
      x=lambda F, g, out: F.neg(F.mul(g, F.mul(out, out))))
unary("exp", doc="The exponential", domain="float", x=lambda F, g, out: F.mul(g, out))
unary("exp2", doc="Two to the power", domain="float",
      composite=lambda F, x: F.pow(2.0, x),
      x=lambda F, g, out: F.mul(g, F.mul(out, math.log(2.0))))
unary("expm1", doc="``exp(input) - 1``, exact near 0", domain="float",
      x=lambda F, g, out: F.mul(g, F.add(out, 1.0)))
unary("log", doc="The natural logarithm", domain="float", x=lambda F, g, x: F.div(g, x))
unary("log2", doc="The logarithm to base 2", domain="float",
      composite=lambda F, x: F.mul(F.log(x), 1.0 / math.log(2.0)),
      x=lambda F, g, x: F.div(g, F.mul(x, math.log(2.0))))
unary("log10", doc="The logarithm to base 10", domain="float",
      composite=lambda F, x: F.mul(F.log(x), 1.0 / math.log(10.0)),
      x=lambda F, g, x: F.div(g, F.mul(x, math.log(10.0))))
unary("log1p", doc="``log(1 + input)``, exact near 0", domain="float",
      x=lambda F, g, x: F.div(g, F.add(x, 1.0)))

# -- trigonometry ----------------------------------------------------------------------------
unary("sin", doc="The sine", domain="float", x=lambda F, g, x: F.mul(g, F.cos(x)))
unary("cos", doc="The cosine", domain="float", x=lambda F, g, x: F.neg(F.mul(g, F.sin(x))))
unary("tan", doc="The tangent", domain="float",
      composite=lambda F, x: F.div(F.sin(x), F.cos(x)),
      x=lambda F, g, out: F.mul(g, F.add(F.mul(out, out), 1.0)))
unary("asin", doc="The arc sine", domain="float", aliases=("arcsin",),
      composite=lambda F, x: F.atan2(x, F.sqrt(of.one_minus_square(F, x))),
      x=lambda F, g, x: F.mul(g, F.asin_slope(x)))
unary("acos", doc="The arc cosine", domain="float", aliases=("arccos",),
      composite=lambda F, x: F.atan2(F.sqrt(of.one_minus_square(F, x)), x),
      x=lambda F, g, x: F.neg(F.mul(g, F.asin_slope(x))))
unary("atan", doc="The arc tangent", domain="float", aliases=("arctan",),
      composite=lambda F, x: F.atan2(x, 1.0),
      x=lambda F, g, x: F.div(g, F.add(F.mul(x, x), 1.0)))
unary("sinh", doc="The hyperbolic sine", domain="float",
      composite=lambda F, x: of.in_single(F, of.sinh, x),
      x=lambda F, g, x: F.mul(g, F.cosh(x)))
unary("cosh", doc="The hyperbolic cosine", domain="float",
      composite=lambda F, x: of.in_single(F, of.cosh, x),
      x=lambda F, g, x: F.mul(g, F.sinh(x)))
unary("tanh", doc="The hyperbolic tangent", domain="float",
      x=lambda F, g, out: F.sub(g, F.mul(g, F.mul(out, out))))
unary("asinh", doc="The inverse hyperbolic sine", domain="float", aliases=("arcsinh",),
      composite=lambda F, x: of.in_single(F, of.asinh, x),
      x=lambda F, g, x: F.div(g, F.sqrt(F.add(F.mul(x, x), 1.0))))
unary("acosh", doc="The inverse hyperbolic cosine", domain="float", aliases=("arccosh",),
      composite=lambda F, x: of.in_single(F, of.acosh, x),
      x=lambda F, g, x: F.mul(g, F.acosh_slope(x)))
unary("atanh", doc="The inverse hyperbolic tangent", domain="float", aliases=("arctanh",),
      composite=lambda F, x: of.in_single(F, of.atanh, x),
      x=lambda F, g, x: F.mul(g, F.atanh_slope(x)))

# -- what a value is -------------------------------------------------------------------------
unary("isnan", doc="Whether it is NaN", result="bool", composite=lambda F, x: F.ne(x, x))
unary("isinf", doc="Whether it is infinite", result="bool",
      composite=lambda F, x: of.isinf(F, x))
unary("isfinite", doc="Whether it is neither NaN nor infinite", result="bool",
      composite=lambda F, x: of.isfinite(F, x))
unary("logical_not", doc="Whether it is zero", result="bool", composite=lambda F, x: F.eq(x, 0))
unary("bitwise_not", doc="``~input``", aliases=("__invert__",), domain="integral",
      composite=lambda F, x: F.bitwise_xor(x, F.number(1 if F.dtype.category == 0 else -1)))

# -- activations that deserve a kernel of their own ------------------------------------------
unary("sigmoid", doc="``1 / (1 + exp(-input))``", domain="float",
      composite=lambda F, x: of.in_single(F, of.sigmoid, x),
      x=lambda F, g, out: F.sigmoid_backward(g, out))
unary("relu", doc="``max(input, 0)``, NaN kept", domain="ordered number",
      outside=lambda x: _refuse_relu(x), composite=lambda F, x: F.maximum(x, 0),
      piecewise_linear=True,
      x=lambda F, g, out: F.relu_backward(g, out))
# fmt: on

__all__ = ["FUNCTIONS", "METHODS", "binary", "unary"]
