"""Comparisons of whole tensors, closeness, and comparisons written in place."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import device_error, no_tensor
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import read_number
from tensorbus.op_engine.arguments import check_tensors, floating
from tensorbus.op_engine.asking_in_place import asked_in_place
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import assign, check_write, record_as
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.operands import check_operands
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import ones_like
from tensorbus.ops.views.reinterpretation import view_as_real


def _check_same_device(a: Tensor, b: Tensor) -> None:
    if a._k.device is not b._k.device:
        raise device_error(a._k.device, b._k.device)


@public()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and the same values.

    >>> import tensorbus
    >>> tensorbus.equal(tensorbus.tensor([1, 2]), tensorbus.tensor([1, 2]))
    True
    """
    check_tensors("equal", input=input, other=other)
    _check_same_device(input, other)
    if input._s != other._s:
        return False
    return read_number(core("eq")(input, other).all())


@public()
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Where ``abs(input - other) <= atol + rtol * abs(other)``; the operands broadcast.

    RuntimeError where the dtypes differ or a tolerance is negative.
    """
    check_tensors("isclose", input=input, other=other)
    if input._k.dtype is not other._k.dtype:
        raise RuntimeError(
            f"{scalar_name(input._k.dtype)} did not match {scalar_name(other._k.dtype)}"
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    input, other = input.detach(), other.detach()
    close = input == other
    if equal_nan and input._k.dtype.category >= dtypes.FLOAT:
        close = close | ((input != input) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    distance = (floating(input) - floating(other)).abs()
    allowed = (floating(other) * rtol).abs() + atol
    return close | (distance.isfinite() & (distance <= allowed))


@public()
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close: ``abs(input - other) <= atol + rtol * abs(other)``."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


# -- what values are -------------------------------------------------------------------------
def _refuse_complex(name: str, x: Tensor) -> None:
    if x._k.dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex inputs.")


@public(out=SAME)
def isposinf(input: Tensor) -> Tensor:
    """Where a value is positive infinity."""
    check_tensors("isposinf", input=input)
    _refuse_complex("isposinf", input)
    return input == math.inf if input._k.is_float else input != input


@public(out=SAME)
def isneginf(input: Tensor) -> Tensor:
    """Where a value is negative infinity."""
    check_tensors("isneginf", input=input)
    _refuse_complex("isneginf", input)
    return input == -math.inf if input._k.is_float else input != input


@public()
def isreal(input: Tensor) -> Tensor:
    """Where a value has no imaginary part: everywhere, unless the dtype is complex."""
    check_tensors("isreal", input=input)
    if input._k.dtype.is_complex:
        return view_as_real(input).select(-1, 1) == 0
    return ones_like(input, dtype=dtypes.bool)


@public()
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero; RuntimeError for any other number of elements."""
    return bool(input)


@public()
def is_signed(input: Tensor) -> bool:
    """Whether its dtype has negative values."""
    return input._k.dtype.is_signed


@public()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return input._s == other._s


# -- in place --------------------------------------------------------------------------------
_NONE = object()


def _comparison_in_place(name: str, row: str) -> Any:
    """The method that overwrites a tensor with truth values, as 0 and 1 of its own dtype."""

    def form(self: Tensor, *operands: Any, other: Any = _NONE) -> Tensor:
        given = operands if other is _NONE else (*operands, other)
        if not isinstance(self, Tensor):
            raise no_tensor(name + "_", self)
        if (answer := asked_in_place(name + "_", (self, *given))) is not NotImplemented:
            return answer
        for value in given:
            check_operands(name + "_", row, self, value, method=True)
        check_write(self, *given)
        assign(self, core(row)(self.detach(), *given).to(self._k.dtype))
        if row.startswith("logical"):
            return self
        return record_as(self, f"{row.capitalize()}Backward{isinstance(given[0], Tensor):d}")

    form.__name__ = form.__qualname__ = name + "_"
    form.__doc__ = f"In-place version of ``{name}``: 1 where it holds, else 0."
    return form


for _name, _row in {
    "eq": "eq", "ne": "ne", "not_equal": "ne", "lt": "lt", "less": "lt", "le": "le",
    "less_equal": "le", "gt": "gt", "greater": "gt", "ge": "ge", "greater_equal": "ge",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "logical_not": "logical_not",
}.items():  # fmt: skip
    METHODS[_name + "_"] = _comparison_in_place(_name, _row)
