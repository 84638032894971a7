"""Arithmetic of more than one step: scaled products, interpolation, division by a rounding mode."""

from __future__ import annotations

import functools
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name
from tensorbus._base.errors import type_error
from tensorbus._device import defaults
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.asking_in_place import asked_in_place
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import in_place, recorded_as
from tensorbus.op_engine.mixed_operands import binary, common_kind, operand
from tensorbus.op_engine.names import FUNCTIONS, METHODS, Lazy
from tensorbus.op_engine.older_forms import older_form
from tensorbus.op_engine.operands import check_operands
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import fitted, widened
from tensorbus.ops.pointwise.declaring import scaled
from tensorbus.ops.pointwise.pointwise import refuse_bool
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import ROWS, row

_plain_div, _plain_div_method = FUNCTIONS["div"], METHODS["div"]
_make_plain_div_ = functools.cache(METHODS["div_"].make)


row(
    "div_floor",
    "x:T, y:T",
    "binary",
    doc="``x / y`` rounded down; the operands broadcast.",
    domain="number",
    divides=True,
    node_name="DivBackward2",
    in_float32=True,
    composite=lambda F, x, y: F.floor_divide(x, y),
    x=lambda F, g: F.zeros(tuple(g.shape)),
    y=lambda F, g: F.zeros(tuple(g.shape)),
)


row(
    "div_trunc",
    "x:T, y:T",
    "binary",
    doc="``x / y`` rounded towards 0; the operands broadcast.",
    domain="ordered float",
    node_name="DivBackward2",
    composite=lambda F, x, y: F.trunc(F.div(x, y)),
    x=lambda F, g: F.zeros(tuple(g.shape)),
    y=lambda F, g: F.zeros(tuple(g.shape)),
)


# -- division --------------------------------------------------------------------------------
def _check_mode(mode: Any) -> None:
    if mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )


def _rounded(input: Any, other: Any, mode: str) -> Tensor:
    """The quotient rounded down or towards zero; integers stay integers."""
    check_operands("div", "div", input, other)
    _check_mode(mode)
    input, other = (x if isinstance(x, Tensor) else as_number(x) for x in (input, other))
    if mode == "floor":
        return binary(ROWS["div_floor"], input, other)
    kinds = [x._k.dtype.category if isinstance(x, Tensor) else _category(x) for x in (input, other)]
    if max(kinds) >= dtypes.FLOAT:
        return binary(ROWS["div_trunc"], input, other)
    d = result_type(input, other)
    if d is not dtypes.bool:  # which ``sub`` refuses beside any dtype
        input, other = (
            to_kind(x, x._k.of(d)) if isinstance(x, Tensor) and x._k.dtype is dtypes.bool else x
            for x in (input, other)
        )
    if not isinstance(input, Tensor):
        device = other._k.device if isinstance(other, Tensor) else defaults.get_default_device()
        input = operand(input, kind_of(device, d))
    whole = FUNCTIONS["sub"](input, FUNCTIONS["fmod"](input, other))
    return FUNCTIONS["floor_divide"](whole, other)


def _category(number: Any) -> int:
    return dtypes.FLOAT if isinstance(number, (float, complex)) else dtypes.INTEGER


@public(out=True, aliases=("divide",))
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``; the operands broadcast. Integers give floats unless it is rounded.

    *rounding_mode* is None, ``"trunc"`` (towards zero) or ``"floor"`` (down).

    >>> import tensorbus
    >>> tensorbus.div(tensorbus.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
    if rounding_mode is None:
        return _plain_div(input, other)
    return _rounded(input, other, rounding_mode)


def _div_in_place(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of ``div``."""
    if rounding_mode is not None and not isinstance(rounding_mode, str):
        raise type_error("div_", "rounding_mode", None, "str", rounding_mode)
    if rounding_mode is None:
        return _make_plain_div_()(self, other)
    mode = {"rounding_mode": rounding_mode}
    if (answer := asked_in_place("div_", (self, other), mode)) is not NotImplemented:
        return answer
    return in_place(self, _rounded, (other, rounding_mode))


METHODS["div_"] = METHODS["divide_"] = _div_in_place


@public(out=True, method=False)
def true_divide(input: Any, other: Any) -> Tensor:
    """``input / other``; integers give floats."""
    return _plain_div(input, other)


METHODS["true_divide"] = _plain_div_method
METHODS["true_divide_"] = Lazy("true_divide_", _make_plain_div_)


# -- addition and subtraction ----------------------------------------------------------------
@public(out=True, inplace=True)
@older_form("alpha")
def subtract(input: Any, other: Any, *, alpha: complex = 1) -> Tensor:
    """``sub`` under its longer name."""
    return FUNCTIONS["sub"](input, other, alpha=alpha)


@public(method=False)
@composed(node=lambda _, other, **__: f"RsubBackward{not isinstance(other, Tensor):d}")
def rsub(input: Tensor, other: Any, *, alpha: complex = 1) -> Tensor:
    """``other - alpha * input``."""
    refuse_bool(other, input)
    if isinstance(other, Tensor):
        return other.sub(input, alpha=alpha)
    plain = type(alpha) is int and alpha == 1
    return other - (input if plain else scaled(other, input, alpha))


# -- products added --------------------------------------------------------------------------
def _wide(k: Kind) -> Kind:
    """The kind in which several steps are computed: float32 for half precision, rounded once."""
    d = k.dtype
    return k if d.bits >= 32 else k.of(widened(d))


def _product(a: Tensor, b: Tensor, value: Any) -> Tensor:
    return core("mul")(a if value == 1 else core("mul")(a, value), b)


def _quotient(a: Tensor, b: Tensor, value: Any) -> Tensor:
    return core("div")(a if value == 1 else core("mul")(a, value), b)


def _refuse_whole_quotients(a: Tensor, b: Tensor) -> None:
    if a._k.dtype.category < dtypes.FLOAT and b._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
            "behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2))"
            ".to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for "
            "float inputs. The future addcdiv behavior is just the latter implementation: (input "
            "+ value * tensor1 / tensor2), for all dtypes."
        )


def _prepared(
    name: str, input: Tensor, a: Tensor, b: Tensor, value: Any
) -> tuple[Kind, Tensor, Tensor, Any]:
    """The result's kind, both factors in the kind that is computed in, and the number."""
    check_tensors(name, input=input, tensor1=a, tensor2=b)
    if name.startswith("addcdiv"):
        _refuse_whole_quotients(a, b)
    k = common_kind(ROWS["add"], input, a, b)
    if k.dtype is dtypes.bool:
        raise NotImplementedError("\"addcmul_cpu_out\" not implemented for 'Bool'")
    wide = _wide(k)
    value = fitted(value, wide.dtype)
    return k, operand(a, wide), operand(b, wide), value


def _added(name: str, input: Tensor, a: Tensor, b: Tensor, value: Any, combine: Any) -> Tensor:
    k = input._k
    if a._k is k and b._k is k and k.is_float and _wide(k) is k:
        return core("add")(input, combine(a, b, fitted(value, k.dtype)))
    k, a, b, value = _prepared(name, input, a, b, value)
    return to_kind(core("add")(operand(input, a._k), combine(a, b, value)), k)


def _added_in_place(
    name: str, self: Tensor, a: Tensor, b: Tensor, value: Any, combine: Any
) -> Tensor:
    k = self._k
    if a._k is k and b._k is k and k.is_float and _wide(k) is k:
        return self.add_(combine(a, b, fitted(value, k.dtype)))
    kind, left, right, number = _prepared(name, self, a, b, value)
    if kind is k and left._k is k:
        return self.add_(combine(left, right, number))
    return in_place(self, lambda x: _added(name, x, a, b, value, combine), ())


@public(out=True)
@older_form("value")
@composed(node="AddcmulBackward0", autocast="device widest")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
    """``input + value * tensor1 * tensor2`` in the dtype of the result; the operands broadcast.

    RuntimeError for a *value* that this dtype cannot hold.
    """
    return _added("addcmul", input, tensor1, tensor2, value, _product)


@public(function=False)
@older_form("value")
@recorded_as("AddcmulBackward0")
def addcmul_(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
    """In-place version of ``addcmul``."""
    return _added_in_place("addcmul_", self, tensor1, tensor2, value, _product)


@public(out=True)
@older_form("value")
@composed(node="AddcdivBackward0", autocast="device widest")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
    """``input + value * tensor1 / tensor2`` in the dtype of the result; the operands broadcast.

    RuntimeError for two integer tensors, and for a *value* that the dtype cannot hold.
    """
    return _added("addcdiv", input, tensor1, tensor2, value, _quotient)


@public(function=False)
@older_form("value")
@recorded_as("AddcdivBackward0")
def addcdiv_(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
    """In-place version of ``addcdiv``."""
    return _added_in_place("addcdiv_", self, tensor1, tensor2, value, _quotient)


# -- interpolation ---------------------------------------------------------------------------
@public(out=True, inplace=True)
@composed(node=lambda input, end, weight: f"LerpBackward{isinstance(weight, Tensor):d}")
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``, exact at both ends; the operands broadcast.

    RuntimeError where the dtypes differ.
    """
    check_tensors("lerp", input=input, end=end)
    for name, x in (("end", end), ("weight", weight)):
        if isinstance(x, Tensor) and x._k.dtype is not input._k.dtype and (x._s or name == "end"):
            raise RuntimeError(
                f"expected dtype {c_name(input._k.dtype)} for `{name}` but got dtype "
                f"{c_name(x._k.dtype)}"
            )
    if input._k.dtype.category < dtypes.FLOAT:
        raise not_implemented("lerp_kernel_scalar", input)
    broadcast_shapes(tuple(input._s), tuple(end._s))
    k = input._k
    wide = _wide(k)
    input, end = to_kind(input, wide), to_kind(end, wide)
    way = end - input
    if isinstance(weight, Tensor):
        weight = operand(weight, wide)
        near = weight.detach().abs() < 0.5
        return to_kind(
            core("where")(*_expanded(near, input + weight * way, end - way * (1 - weight))), k
        )
    weight = fitted(weight, wide.dtype)
    return to_kind(input + way * weight if abs(weight) < 0.5 else end - way * (1 - weight), k)


def _expanded(*tensors: Tensor) -> list[Tensor]:
    shape = broadcast_shapes(*(tuple(t._s) for t in tensors))
    return [t if t._s == shape else t.expand(shape) for t in tensors]
