"""Checks that many functions share: what a tensor argument is, and of which dtypes."""

from __future__ import annotations

import math
import operator
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import device_error, type_error
from tensorbus._device import defaults
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.casting import to_kind


def check_tensors(function: str, first: int = 1, **arguments: Any) -> None:
    """TypeError for the first of the arguments, counted from *first*, that is no tensor."""
    for position, (name, value) in enumerate(arguments.items(), first):
        if not isinstance(value, Tensor):
            raise type_error(function, name, position, "Tensor", value)


def whole_number(function: str, argument: str, position: int, value: Any) -> int:
    """An integer argument as Python's; TypeError for what is none."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise type_error(function, argument, position, "int", value)
    return operator.index(value)


def scalar_name(d: dtypes.dtype) -> str:
    """A dtype as error texts call it: ``Float``, ``Long``."""
    return d.legacy.removesuffix("Tensor")


def check_device(x: Tensor, *others: Tensor) -> None:
    """RuntimeError unless all tensors are on the device of the first."""
    for t in others:
        if t._k.device is not x._k.device:
            raise device_error(x._k.device, t._k.device)


def not_implemented(kernel: str, x: Tensor) -> NotImplementedError:
    """A function has no meaning for a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(x._k.dtype)}'")


def check_fill(value: Any, d: dtypes.dtype) -> None:
    """RuntimeError for a number that a dtype cannot hold; whole negative ones wrap into uint8."""
    fits = True
    if isinstance(value, complex) and not d.is_complex:
        fits, value = not value.imag, value.real
    limits = _LIMITS.get(d)
    if limits is not None:
        # Python compares ints with floats exactly, so 2.0**63 is beyond the last of int64.
        least = -limits[1] if d is dtypes.uint8 and isinstance(value, int) else limits[0]
        fits = fits and least <= value <= limits[1]
    elif d is dtypes.float32 and not isinstance(value, complex):
        fits = fits and (abs(value) <= _LARGEST or not math.isfinite(value))
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES.get(d.name, 'double')} without overflow"
        )


_LIMITS = {
    d: (dtypes.iinfo(d).min, dtypes.iinfo(d).max)
    for d in dtypes.ALL
    if d.category == dtypes.INTEGER
}
_LARGEST = dtypes.finfo(dtypes.float32).max
_C_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float32": "float",
}  # fmt: skip


def floating(x: Tensor) -> Tensor:
    """The tensor, integers and truth values in the default dtype."""
    if x._k.dtype.category >= dtypes.FLOAT:
        return x
    return to_kind(x, x._k.of(defaults.get_default_dtype()))
