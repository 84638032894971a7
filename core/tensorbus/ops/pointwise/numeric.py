"""Pointwise functions of numbers' parts and limits: signs, bounds, digits, divisors."""

from __future__ import annotations

import math
from typing import Any

import tensorbus.ops.pointwise.pointwise  # noqa: F401  its rows are taken up below
from tensorbus import return_types
from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import every_value, tensor_or_number
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.names import FUNCTIONS, METHODS
from tensorbus.op_engine.operands import NONE, OTHER
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import inplace_form, public
from tensorbus.ops.pointwise.declaring import binary, refuse_complex, unary
from tensorbus.rows.layouts import broadcast_shapes, contiguous_strides
from tensorbus.rows.registry import no_derivative, row

_FRACTION_DIGITS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
_INTEGERS = {2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}

# fmt: off
unary("signbit", doc="Whether the sign is set: of -0.0 and of a negative NaN too", result="bool",
      domain="ordered", composite=lambda F, x: _signbit(F, x),
      check=refuse_complex("signbit is not implemented for complex tensors."))
binary("copysign", doc="The size of *input* with the sign of *other*",
       number_node_name="CopysignBackward1",
       numbers=OTHER, domain="ordered float",
       composite=lambda F, x, y: F.where(
           F.signbit(_array(F, y)), F.sub(F.number(-0.0), F.abs(x)), F.abs(x)),
       x=lambda F, g, x, out: F.mul(g, F.where(F.eq(x, 0.0), F.number(0), F.div(out, x))),
       y=lambda F, g: F.zeros(tuple(g.shape)))
binary("nextafter", doc="The next number after *input* towards *other*", numbers=NONE,
       domain="ordered",
       composite=lambda F, x, y: _nextafter(F, _array(F, x), _array(F, y)),
       x=lambda F, g, x, y: F.where(F.eq(x, y), F.number(0), g),
       y=lambda F, g: F.zeros(tuple(g.shape)))
binary("heaviside", doc="0 below 0, 1 above, *values* at 0",
       numbers=NONE, domain="ordered", inplace=True,
       check=refuse_complex("heaviside is not yet implemented for complex tensors.", RuntimeError),
       composite=lambda F, x, y: F.where(F.eq(x, 0), y, F.cast(F.gt(x, 0), F.bool)),
       **no_derivative("heaviside"))
binary("fmax", doc="The larger of both, the other one where either is NaN",
       numbers=NONE, inplace=False,
       check=refuse_complex("fmax not implemented for complex tensors.", RuntimeError),
       domain="ordered", composite=lambda F, x, y: _one_if_nan(F, x, y, F.maximum),
       x=lambda F, g, x, y: F.mul(g, F.cast(_takes_first(F, F.ge(x, y), y), F.bool)),
       y=lambda F, g, x, y: F.where(_takes_first(F, F.ge(x, y), y), F.number(0), g))
binary("fmin", doc="The smaller of both, the other one where either is NaN",
       numbers=NONE, inplace=False,
       check=refuse_complex("fmin not implemented for complex tensors.", RuntimeError),
       domain="ordered", composite=lambda F, x, y: _one_if_nan(F, x, y, F.minimum),
       x=lambda F, g, x, y: F.mul(g, F.cast(_takes_first(F, F.le(x, y), y), F.bool)),
       y=lambda F, g, x, y: F.where(_takes_first(F, F.le(x, y), y), F.number(0), g))
row("nan_to_num", "x:T, nan, high, low", "unary",
    doc="*x* with *nan*, *high* and *low* for NaN and the two infinities, element by element.",
    composite=lambda F, x, nan, high, low: F.where(
        F.ne(x, x), F.number(nan),
        F.where(F.eq(x, math.inf), F.number(high), F.where(F.eq(x, -math.inf), F.number(low), x))),
    x=lambda F, g, x: F.mul(g, F.cast(F.isfinite(x), F.bool)))
row("frexp", "x:T",
    doc="The mantissa of each element of *x*, its size in [0.5, 1), and its power of two.",
    results="mantissa:same exponent:int32", domain="ordered float",
    composite=lambda F, x: _frexp(F, x),
    x=lambda F, g, exponent: F.div(g[0], F.exp2(F.cast(exponent, F.i32))))
# fmt: on


def _array(F: Any, x: Any) -> Any:
    """An array for a Python number."""
    return x if hasattr(x, "shape") else F.full((), x)


def _bits(F: Any, x: Any) -> Any:
    """The same bytes as integers."""
    d = _INTEGERS[F.dtype.itemsize]
    x = F.contiguous(x)
    strides = contiguous_strides(tuple(x.shape))
    offset = F.layout(x)[1]
    return F.backend.as_strided(x, tuple(x.shape), strides, offset, F.dtype, d), F.of(d)


def _numbers(F: Any, bits: Any) -> Any:
    """The numbers whose bytes these integers have."""
    I = F.of(_INTEGERS[F.dtype.itemsize])  # noqa: E741
    bits = I.contiguous(bits)
    shape = tuple(bits.shape)
    strides, offset = contiguous_strides(shape), I.layout(bits)[1]
    return F.backend.as_strided(bits, shape, strides, offset, I.dtype, F.dtype)


def _frexp(F: Any, x: Any) -> tuple[Any, Any]:
    """By the bits alone, so that a device that takes subnormal numbers for 0 gives the same.

    The fraction of a subnormal number, as an integer, is a normal number with the same digits.
    """
    digits = _FRACTION_DIGITS[F.dtype.name]
    bias = (1 << (F.dtype.bits - digits - 2)) - 1
    largest, fractions = 2 * bias + 1, (1 << digits) - 1
    bits, I = _bits(F, x)  # noqa: E741

    def field(values: Any) -> Any:
        shifted = I.rshift(values, I.full((), digits))
        return I.bitwise_and(shifted, I.full((), largest))

    fraction = I.bitwise_and(bits, I.full((), fractions))
    stored = field(bits)
    small = I.eq(stored, 0)
    normal, _ = _bits(F, F.cast(fraction, I))
    exponent = I.where(small, I.sub(field(normal), 2 * bias - 2 + digits), I.sub(stored, bias - 1))
    fraction = I.where(small, I.bitwise_and(normal, I.full((), fractions)), fraction)
    sign = I.bitwise_and(bits, I.full((), -(1 << (F.dtype.bits - 1))))
    mantissa = I.bitwise_or(I.bitwise_or(fraction, sign), I.full((), (bias - 1) << digits))
    # 0, the infinities and NaN have no such parts.
    whole = F.bool.bitwise_or(
        I.eq(I.bitwise_and(bits, I.full((), (1 << (F.dtype.bits - 1)) - 1)), 0),
        I.eq(stored, largest),
    )
    mantissa = _numbers(F, I.where(whole, bits, mantissa))
    return mantissa, F.i32.cast(I.where(whole, I.number(0), exponent), I)


def _signbit(F: Any, x: Any) -> Any:
    if not F.is_float:
        return F.lt(x, 0)
    bits, I = _bits(F, x)  # noqa: E741
    return I.lt(bits, 0)


def _nextafter(F: Any, x: Any, y: Any) -> Any:
    """One step in the order of the bits, which is the order of the numbers on each side of 0."""
    bits, I = _bits(F, x)  # noqa: E741
    grows = F.bool.eq(F.lt(x, y), F.lt(F.number(0.0), x))
    moved = I.where(grows, I.add(bits, 1), I.sub(bits, 1))
    # From zero, the first step is the smallest number of the other's sign.
    sign = 1 << (F.dtype.bits - 1)
    first = I.where(F.lt(x, y), I.number(1), I.number(1 - sign))
    stepped = _numbers(F, I.where(F.eq(x, 0.0), first, moved))
    stepped = F.where(F.eq(x, y), y, stepped)
    return F.where(F.ne(x, x), x, F.where(F.ne(y, y), y, stepped))


def _one_if_nan(F: Any, x: Any, y: Any, choose: Any) -> Any:
    if not F.is_float:
        return choose(x, y)
    x, y = _array(F, x), _array(F, y)
    return F.where(F.ne(x, x), y, F.where(F.ne(y, y), x, choose(x, y)))


def _takes_first(F: Any, wins: Any, y: Any) -> Any:
    return F.bool.bitwise_or(wins, F.ne(y, y))


def _checked_heaviside(plain: Any) -> Any:
    def heaviside(input: Tensor, values: Tensor, **keywords: Any) -> Tensor:
        """0 below 0, 1 above, *values* at 0; both of one dtype."""
        check_tensors("heaviside", input=input, values=values)
        if input._k.dtype is not values._k.dtype:
            raise RuntimeError(
                "heaviside is not yet implemented for tensors with different dtypes."
            )
        return plain(input, values, **keywords)

    return heaviside


FUNCTIONS["heaviside"] = _checked_heaviside(FUNCTIONS["heaviside"])
METHODS["heaviside"] = _checked_heaviside(METHODS["heaviside"])
METHODS["heaviside_"] = inplace_form(METHODS["heaviside"], "heaviside_")


def _checked_nextafter(plain: Any) -> Any:
    def nextafter(input: Tensor, other: Tensor, **keywords: Any) -> Tensor:
        """The next floating point number after *input* towards *other*."""
        check_tensors("nextafter", input=input, other=other)
        if not result_type(input, other).is_floating_point:
            raise not_implemented("nextafter_cpu", input)
        return plain(input, other, **keywords)

    return nextafter


FUNCTIONS["nextafter"] = _checked_nextafter(FUNCTIONS["nextafter"])
METHODS["nextafter"] = _checked_nextafter(METHODS["nextafter"])
METHODS["nextafter_"] = inplace_form(METHODS["nextafter"], "nextafter_")


@public()
def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError for truth values."""
    check_tensors("positive", input=input)
    if input._k.dtype is dtypes.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


METHODS["__pos__"] = positive

_plain_round = FUNCTIONS["round"]


@public(out=SAME, inplace=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer, or the nearest number of so many decimals; halves to even.

    Negative *decimals* round to the left of the point.
    """
    check_tensors("round", input=input)
    if not decimals:
        return _plain_round(input)
    if input._k.dtype.category < dtypes.FLOAT:
        raise not_implemented("round_cpu", input)
    d = input._k.dtype
    if d.itemsize == 2:  # what is to be rounded may be beyond float16
        return _as(round(_as(input, dtypes.float32), decimals=decimals), d)
    if decimals < 0:
        return _plain_round(input / 10.0**-decimals) * 10.0**-decimals
    return _plain_round(input * 10.0**decimals) / 10.0**decimals


@public(out=SAME, inplace=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:  # fmt: skip
    """NaN and the infinities replaced: by 0, and by the dtype's largest and smallest numbers."""
    check_tensors("nan_to_num", input=input)
    if input._k.dtype.is_complex:
        parts = (FUNCTIONS[part](input) for part in ("real", "imag"))
        return FUNCTIONS["complex"](*(nan_to_num(x, nan, posinf, neginf) for x in parts))
    if not input._k.is_float:
        return input.clone()
    limits = dtypes.finfo(input._k.dtype)
    return core("nan_to_num")(
        input,
        0.0 if nan is None else nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )


@public(out=SAME)
def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` computed in float64, or complex128."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise type_error("float_power", "input", 1, "Tensor", input)
    input = tensor_or_number("float_power", "input", 1, input)
    exponent = tensor_or_number("float_power", "exponent", 2, exponent)
    d = _widest(result_type(input, exponent))
    return FUNCTIONS["pow"](_as(input, d), _as(exponent, d))


def _widest(d: dtypes.dtype) -> dtypes.dtype:
    return dtypes.complex128 if d.is_complex else dtypes.float64


def _as(x: Any, d: dtypes.dtype) -> Any:
    """A tensor in a dtype, or a number of its category."""
    if isinstance(x, Tensor):
        return to_kind(x, x._k.of(d))
    return complex(x) if d.is_complex else float(x)


@public(function=False)
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place version of ``float_power``: for float64 and complex128 only."""
    exponent = tensor_or_number("float_power_", "exponent", 1, exponent)
    d = _widest(result_type(self, exponent))
    if self._k.dtype is not d:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_name(self._k.dtype)} but the "
            f"operation's result requires dtype {scalar_name(d)}"
        )
    return self.pow_(_as(exponent, d))


@public(out=True, inplace=True)
@composed(node="LdexpBackward0")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2**other``."""
    check_tensors("ldexp", input=input, other=other)
    if input._k.is_float and other._k.dtype is dtypes.bool:
        raise not_implemented("ldexp_cpu_exp", other)
    d = result_type(input, other)
    if d.category < dtypes.FLOAT:
        d = dtypes.get_default_dtype()
    wide = d if d.itemsize > 2 else dtypes.float32  # 2**16 is beyond float16, small * 2**16 is not
    product = _as(input, wide) * FUNCTIONS["pow"](2.0, _as(other, wide))
    return _as(product, d)


_PARTS = result_type_of("frexp", "mantissa exponent")


@public(out=SAME)
@composed(layout="order")
def frexp(input: Tensor) -> return_types.frexp:
    """(mantissa, exponent) with ``input = mantissa * 2**exponent``; exponents are int32.

    The size of a mantissa is in [0.5, 1); 0, infinities and NaN are their own mantissas, with the
    exponent 0. RuntimeError for dtypes other than floating point.
    """
    check_tensors("frexp", input=input)
    if not input._k.is_float:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return _PARTS(*core("frexp")(input))


# -- whole numbers ---------------------------------------------------------------------------
def _integers(name: str, input: Any, other: Any) -> None:
    check_tensors(name, input=input, other=other)
    broadcast_shapes(input._s, other._s)
    for x in (input, other):
        if x._k.dtype.category > dtypes.INTEGER:
            raise not_implemented(f"{name}_cpu", x)
    if input._k.dtype is other._k.dtype is dtypes.bool:
        raise not_implemented(f"{name}_cpu", input)


@public(out=True, inplace=True)
@composed(layout="order")
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisors of integers, by Euclid's algorithm; the operands broadcast."""
    _integers("gcd", input, other)
    kind = input._k.of(result_type(input, other))
    a, b = FUNCTIONS["broadcast_tensors"](to_kind(input, kind).abs(), to_kind(other, kind).abs())
    where = FUNCTIONS["where"]
    while a._k.has_values and every_value(b != 0).any():
        rest = core("fmod")(a, where(b == 0, 1, b))
        a, b = where(b != 0, b, a), where(b == 0, 0, rest)
    return a.clone()


@public(out=True, inplace=True)
@composed(layout="order")
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiples of integers; the operands broadcast."""
    _integers("lcm", input, other)
    divisor = gcd(input, other)
    divisor = FUNCTIONS["where"](divisor == 0, 1, divisor)
    return (input // divisor * other).abs()
