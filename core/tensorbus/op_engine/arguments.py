"""Checks that many functions share: what a tensor argument is, and of which dtypes."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import device_error, type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_int
from tensorbus.op_engine.casting import to_kind


def check_tensors(function: str, first: int = 1, **arguments: Any) -> None:
    """TypeError for the first of the arguments, counted from *first*, that is no tensor."""
    for position, (name, value) in enumerate(arguments.items(), first):
        if not isinstance(value, Tensor):
            raise type_error(function, name, position, "Tensor", value)


def whole_number(function: str, argument: str, position: int, value: Any) -> int:
    """An integer argument as Python's; TypeError for what is none."""
    found = as_int(value, any_rank=True)
    if found is None:
        raise type_error(function, argument, position, "int", value)
    return found


def check_device(x: Tensor, *others: Tensor) -> None:
    """RuntimeError unless all tensors are on the device of the first."""
    for t in others:
        if t._k.device is not x._k.device:
            raise device_error(x._k.device, t._k.device)


def not_implemented(kernel: str, x: Tensor) -> NotImplementedError:
    """A function has no meaning for a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(x._k.dtype)}'")


def floating(x: Tensor) -> Tensor:
    """The tensor, integers and truth values in the default dtype."""
    if x._k.dtype.category >= dtypes.FLOAT:
        return x
    return to_kind(x, x._k.of(dtypes.get_default_dtype()))
