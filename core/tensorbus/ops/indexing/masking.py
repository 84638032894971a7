"""Elements chosen and replaced by conditions and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name
from tensorbus._base.errors import device_error
from tensorbus._base.modes import RARE
from tensorbus._base.warning import warn_user
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.tensor import Tensor, bump, from_array, wrap_like
from tensorbus.op_engine.argument_checks import also_named
from tensorbus.op_engine.argument_values import every_value, number_of, tensor_or_number
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import check_history, in_place, repeated_dims
from tensorbus.op_engine.mixed_operands import operand
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import converted, fitted, scalar_name_of
from tensorbus.ops.indexing.index_tensors import Indexed, assign_at, true_indices, unravel
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import row

# fmt: off
row("where", "c:bool, x:T, y:T",
    doc="*x* where *c* is true, else *y*; the operands broadcast.",
    keeps_order=True,
    x=lambda F, g, c, x_shape: F.sum_to(F.where(c, g, F.number(0)), tuple(x_shape)),
    y=lambda F, g, c, y_shape: F.sum_to(F.where(c, F.number(0), g), tuple(y_shape)))
# fmt: on


@public(out=SAME, method=False)
@also_named(input="self")
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """*input* where the condition holds, else *other*; the three broadcast.

    Either may be a number. With the condition alone: ``nonzero(condition, as_tuple=True)``.
    RuntimeError for a condition that is not bool.

    >>> import tensorbus
    >>> tensorbus.where(tensorbus.tensor([True, False]), 1.0, 2.0)
    tensor([1., 2.])
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if (
        isinstance(input, Tensor)
        and isinstance(other, Tensor)
        and input._k is other._k
        and condition._k is input._k.bool
        and input._s is other._s
        and condition._s is input._s
    ):
        return core("where")(condition, input, other)
    if condition._k.dtype is not dtypes.bool:
        if condition._k.dtype is not dtypes.uint8:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{scalar_name_of(condition)}"
            )
        warn_user(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
        condition = condition.to(dtypes.bool)
    input = tensor_or_number("where", "input", 2, input)
    other = tensor_or_number("where", "other", 3, other)
    k = kind_of(_device(condition, input, other), result_type(input, other))
    x, y = (
        operand(o if isinstance(o, Tensor) else converted(o, k.dtype), k) for o in (input, other)
    )
    if condition._k.device is not k.device:
        condition = condition.to(k.device)
    broadcast_shapes(condition._s, x._s, y._s)
    return core("where")(condition, x, y)


def _device(*operands: Any) -> Any:
    """The device of the operands with dimensions, or of any operand that is not on the CPU."""
    tensors = [x for x in operands if isinstance(x, Tensor)]
    chosen = next((t for t in tensors if t._s), None)
    if chosen is None:
        chosen = next((t for t in tensors if t._k.device.type != "cpu"), tensors[0])
    for t in tensors:
        if t._k.device is not chosen._k.device and (t._s or t._k.device.type != "cpu"):
            raise device_error(chosen._k.device, t._k.device)
    return chosen._k.device


@public(name="where", function=False)
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor where the condition holds, else *other*."""
    return where(condition, self, other)


@public()
@composed(
    node=lambda input, mask, value: f"MaskedFillBackward{isinstance(value, Tensor):d}",
    layout="row_major",
)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """*value*, a number or a 0-dim tensor, where the mask is true; the mask broadcasts."""
    value = operand(_fill_value(input, mask, value), input._k)
    shape = broadcast_shapes(mask._s, input._s)
    x = input if input._s == shape else input.expand(shape)
    return core("where")(_on(mask, x), value, x)


@public(function=False)
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write *value* where the mask, which broadcasts, is true."""
    value = _fill_value(self, mask, value)
    shape = self._s if mask._s is self._s else broadcast_shapes(self._s, mask._s)
    if shape != self._s:
        raise RuntimeError(
            f"output with shape {list(self._s)} doesn't match the broadcast shape {list(shape)}"
        )
    if self._b is not None and repeated_dims(self):
        assign_at(Indexed(self, [(0, 0, _on(mask, self).expand(shape))]), value)
        return self
    if isinstance(value, Tensor) or RARE.on or check_history(self):
        return in_place(self, masked_fill, (mask, value))
    k = self._k
    made = k.where(_on(mask, self)._a, k.full((), value), self._a)
    bump(self)
    k.copy_(self._a, made)
    return self


def _on(mask: Tensor, x: Tensor) -> Tensor:
    return mask if mask._k.device is x._k.device else mask.to(x._k.device)


def _fill_value(x: Tensor, mask: Tensor, value: Any) -> Any:
    """The value as the tensor's dtype takes it."""
    if mask._k.dtype is not dtypes.bool:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            + c_name(mask._k.dtype)
        )
    if not isinstance(value, Tensor):
        return fitted(number_of("masked_fill", "value", 2, value), x._k.dtype)
    if value._s:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(value._s)} dimension(s)."
        )
    return value


@public(out=SAME)
@composed(node="MaskedSelectBackward0")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, in one dimension; both broadcast."""
    if mask._k.dtype is not dtypes.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(input._s, mask._s)
    i = true_indices(_on(mask, input).expand(shape))
    return core("take")(input.expand(shape).reshape(-1), 0, i, False)


@public(inplace=True)
@composed(node="MaskedScatterBackward0", layout="row_major")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements of *source*, in order, where the mask is true."""
    if source._k.dtype is not input._k.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{scalar_name_of(input)} and {scalar_name_of(source)}"
        )
    if mask._k.dtype is not dtypes.bool:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            + scalar_name_of(mask)
        )
    check_device(input, source)
    shape = broadcast_shapes(input._s, mask._s)
    x = input.expand(shape)
    mask = _on(mask, input).expand(shape)
    count = core("cumsum")(mask.reshape(-1).to(dtypes.int64), 0)
    known = shape.numel() and count._k.has_values
    needed = int(every_value(count[-1]).max()) if known else 0
    if needed > source._s.numel():
        raise RuntimeError(
            f"Number of elements of source < number of ones in mask: {source._s.numel()} < {needed}"
        )
    if not source._s.numel():
        return core("clone")(x)
    at = core("maximum")(core("sub")(count, 1), 0)
    values = core("take")(source.reshape(-1), 0, at, False)
    return core("where")(mask, core("view")(values, tuple(shape)), x)


@public(out=SAME)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The coordinates of what is not zero: a matrix, or one vector for each dimension."""
    shape = tuple(input._s)
    flat = true_indices(input)
    if not as_tuple:
        if not shape:
            return from_array(flat._k.empty((flat._s[0], 0)), flat._k)
        return _as_columns(unravel(flat, shape))
    return tuple(unravel(flat, shape)) if shape else (flat,)


def _as_columns(vectors: Sequence[Tensor]) -> Tensor:
    """A matrix of vectors as columns, each of which lies in one piece, as PyTorch's do."""
    from tensorbus.ops.joining.joining import stack

    rows = stack(vectors)
    return wrap_like(rows._k.permute(rows._a, (1, 0)), rows._k, None)


@public()
def argwhere(input: Tensor) -> Tensor:
    """The coordinates of what is not zero, a row for each."""
    return nonzero(input)
