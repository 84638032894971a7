"""Values cut to bounds."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._dispatch.wrapping import wrap_number
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number, tensor_or_number
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.mixed_operands import common_kind
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import ANY_HOLDS, fitted
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import ROWS, row

# fmt: off
row("clamp_min", "x:T, low", "unary",
    doc="The larger of *x* and the number *low*, element by element.",
    domain="ordered number",
    composite=lambda F, x, low: F.maximum(x, low),
    x=lambda F, g, x, low: F.where(F.ge(x, low), g, F.number(0)))
row("clamp_max", "x:T, high", "unary",
    doc="The smaller of *x* and the number *high*, element by element.",
    domain="ordered number",
    composite=lambda F, x, high: F.minimum(x, high),
    x=lambda F, g, x, high: F.where(F.le(x, high), g, F.number(0)))
row("clamp", "x:T, low, high", "unary",
    doc="*x* limited to what lies from *low* to *high*, element by element.",
    domain="ordered number",
    composite=lambda F, x, low, high: F.minimum(F.maximum(x, low), high),
    x=lambda F, g, x, low, high:
        F.where(F.bool.bitwise_and(F.ge(x, low), F.le(x, high)), g, F.number(0)))
row("clamp_min_tensor", "x:T, y:T", "binary",
    doc="The larger of *x* and *y*, with the derivatives of ``clamp``; the operands broadcast.",
    domain="ordered",
    node_name="ClampMinBackward1",
    composite=lambda F, x, y: F.maximum(x, y),
    x=lambda F, g, x, y: F.where(F.ge(x, y), g, F.number(0)),
    y=lambda F, g, x, y: F.where(F.lt(x, y), g, F.number(0)))
row("clamp_max_tensor", "x:T, y:T", "binary",
    doc="The smaller of *x* and *y*, with the derivatives of ``clamp``; the operands broadcast.",
    domain="ordered",
    node_name="ClampMaxBackward1",
    composite=lambda F, x, y: F.minimum(x, y),
    x=lambda F, g, x, y: F.where(F.le(x, y), g, F.number(0)),
    y=lambda F, g, x, y: F.where(F.gt(x, y), g, F.number(0)))
row("clamp_tensors", "x:T, low:T, high:T",
    doc="``minimum(maximum(x, low), high)``; the operands broadcast.",
    keeps_order=True, node_name="ClampBackward0",
    composite=lambda F, x, low, high: F.minimum(F.maximum(x, low), high),
    x=lambda F, g, x, low, high: F.where(
        F.bool.bitwise_and(F.ge(x, low), F.le(x, high)), g, F.number(0)),
    low=lambda F, g, x, low, high: F.where(
        F.bool.bitwise_and(F.lt(x, low), F.lt(low, high)), g, F.number(0)),
    high=lambda F, g, x, low, high: F.where(
        F.bool.bitwise_or(F.gt(x, high), F.lt(high, low)), g, F.number(0)))
# fmt: on


def _plain(bound: Any) -> bool:
    """Whether a bound is missing, or a number that every floating point dtype holds."""
    return bound is None or (
        (type(bound) is float or type(bound) is int) and -ANY_HOLDS <= bound <= ANY_HOLDS
    )


def _refuse_complex(*operands: Tensor) -> None:
    if any(t._k.dtype.is_complex for t in operands):
        raise NotImplementedError("clamp is not supported for complex types")


def _between(input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    _refuse_complex(input)
    shape = broadcast_shapes(input._s, min._s, max._s)
    _refuse_complex(min, max)
    kind = common_kind(ROWS["clamp"], input, min, max)
    if kind.dtype is dtypes.bool:
        raise not_implemented("clamp_cpu", input)
    return core("clamp_tensors")(*(to_kind(t, kind).expand(shape) for t in (input, min, max)))


def _clamp_node(input: Tensor, min: Any = None, max: Any = None) -> str:
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    return "ClampBackward0" if tensors else "ClampBackward1"


@public(out=True, inplace=True, aliases=("clip",))
@composed(node=_clamp_node)
def clamp(
    input: Tensor, min: Tensor | complex | None = None, max: Tensor | complex | None = None
) -> Tensor:
    """The values cut to [min, max]; either may be missing, a number or a tensor."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if not (input._k.is_float and _plain(min) and _plain(max)):
        if min is not None:
            min = tensor_or_number("clamp", "min", 2, min)
        if max is not None:
            max = tensor_or_number("clamp", "max", 3, max)
        if isinstance(min, Tensor) and isinstance(max, Tensor):
            return _between(input, min, max)
        if isinstance(min, Tensor) or isinstance(max, Tensor):
            _refuse_complex(input)
            if min is not None and max is not None:
                low, high = as_number(min), as_number(max)
                if low is None or high is None:
                    raise TypeError(
                        "clamp(): 'min' and 'max' must both be numbers, or both tensors"
                    )
                return clamp(input, low, high)
            if min is not None:
                input = clamp_min(input, min)
            return input if max is None else clamp_max(input, max)
        input, min, max = _fitted(input, min, max)
    if max is None:
        return core("clamp_min")(input, min)
    if min is None:
        return core("clamp_max")(input, max)
    return core("clamp")(input, min, max)


def _fitted(input: Tensor, min: Any, max: Any) -> tuple[Tensor, Any, Any]:
    """Input and numbers in the dtype of the result."""
    bounds = [bound for bound in (min, max) if bound is not None]
    d = result_type(input, *bounds)
    if d.is_complex and (input._k.dtype.is_complex or not input._k.is_float):
        raise NotImplementedError("clamp is not supported for complex types")
    if not input._k.is_float:
        input = to_kind(input, input._k.of(d))
    d = input._k.dtype
    low, high = (b if b is None else wrap_number(fitted(b, d), d) for b in (min, max))
    return input, low, high


def _bounded(name: str, input: Tensor, bound: Any) -> Tensor:
    """Values within a bound keep their whole gradient, also where they are equal to it."""
    check_tensors(name, input=input)
    if isinstance(bound, Tensor):
        broadcast_shapes(input._s, bound._s)  # an error of the shapes comes first
        _refuse_complex(input, bound)
        return core(f"{name}_tensor")(input, bound)
    if isinstance(bound, complex):
        raise NotImplementedError("clamp is not supported for complex types")
    return clamp(input, min=bound) if name == "clamp_min" else clamp(input, max=bound)


@public(out=True, inplace=True)
@composed(node=lambda input, min: f"ClampMinBackward{isinstance(min, Tensor):d}")
def clamp_min(input: Tensor, min: Tensor | complex) -> Tensor:
    """The values, and *min* where they are below; *min* is a number or a tensor."""
    return _bounded("clamp_min", input, min)


@public(out=True, inplace=True)
@composed(node=lambda input, max: f"ClampMaxBackward{isinstance(max, Tensor):d}")
def clamp_max(input: Tensor, max: Tensor | complex) -> Tensor:
    """The values, and *max* where they are above; *max* is a number or a tensor."""
    return _bounded("clamp_max", input, max)
