"""Checks that many functions share: what a tensor argument is, and of which dtypes."""

from __future__ import annotations

from typing import Any

from tensorbus import defaults, dtypes
from tensorbus._tensor import Tensor
from tensorbus.errors import type_error
from tensorbus.ops.casting import to_kind


def check_tensors(function: str, first: int = 1, **arguments: Any) -> None:
    """TypeError for the first of the arguments, counted from *first*, that is no tensor."""
    for position, (name, value) in enumerate(arguments.items(), first):
        if not isinstance(value, Tensor):
            raise type_error(function, name, position, "Tensor", value)


def scalar_name(d: dtypes.dtype) -> str:
    """A dtype as error texts call it: ``Float``, ``Long``."""
    return d.legacy.removesuffix("Tensor")


def not_implemented(kernel: str, x: Tensor) -> NotImplementedError:
    """A function has no meaning for a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(x._k.dtype)}'")


def floating(x: Tensor) -> Tensor:
    """The tensor, integers and truth values in the default dtype."""
    if x._k.dtype.category >= dtypes.FLOAT:
        return x
    return to_kind(x, x._k.of(defaults.get_default_dtype()))
