"""Arguments that are one int, or one for each dimension, as sizes, strides and paddings are."""

from __future__ import annotations

from typing import Any

from tensorbus._base.errors import type_error
from tensorbus.op_engine.argument_values import as_int, ints_of, of_64_bits


def ints(function: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """An argument that is one int for all of *count* dimensions, or one for each.

    >>> ints("max_pool2d", "stride", 2, 2)
    (2, 2)
    >>> ints("max_pool2d", "stride", (1, 2, 3), 2)
    Traceback (most recent call last):
    ...
    RuntimeError: max_pool2d(): argument 'stride' must be an int or 2 ints, but got [1, 2, 3]
    """
    if type(value) is int:
        return (of_64_bits(value),) * count
    if not isinstance(value, (tuple, list)):
        fit = as_int(value, any_rank=True)
        if fit is None:
            raise type_error(function, argument, None, "tuple of ints", value)
        return (fit,) * count
    found = int_tuple(function, argument, value)
    if len(found) == 1:
        return found * count
    if len(found) != count:
        allowed = "an int or 2 ints" if count == 2 else "one int" if count == 1 else f"{count} ints"
        raise RuntimeError(
            f"{function}(): argument '{argument}' must be {allowed}, but got {list(found)}"
        )
    return found


def int_tuple(function: str, argument: str, value: Any) -> tuple[int, ...]:
    """An argument that is any number of ints, in a sequence."""
    return ints_of(value, function, argument, None)
