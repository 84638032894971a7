"""What an argument stands for: the ints, numbers and lists that PyTorch takes beside its own.

NumPy's integers and tensors of one element are numbers, too; each function here says for which.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error, wrong_type
from tensorbus._tensor.tensor import Tensor


def is_number(value: Any, any_rank: bool = False) -> bool:
    """Whether a value is a tensor that stands for a number."""
    return (
        isinstance(value, Tensor)
        and not value.requires_grad
        and (not value._s or (any_rank and value._s.numel() == 1))
    )


_COMMON = 1 << 30
"""Integers below this, which Python compares fast, have no more than 64 bits."""


def as_int(value: Any, any_rank: bool = False) -> int | None:
    """``whole`` for an int of 64 bits; ValueError for a longer one."""
    found = whole(value, any_rank)
    return None if found is None else of_64_bits(found)


def whole(value: Any, any_rank: bool = False) -> int | None:
    """The int that a value stands for; None where PyTorch refuses it for one."""
    if isinstance(value, Tensor):
        if value._k.dtype.category != dtypes.INTEGER or not is_number(value, any_rank):
            return None
        return int(value.item())
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and not any_rank):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def of_64_bits(n: int) -> int:
    """The integer; ValueError where it has more bits than any integer argument."""
    if not -(2**63) <= n < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return n


def check_bits_of(*values: Any) -> None:
    """``of_64_bits`` for the ints among arguments whose types are right."""
    for value in values:
        if type(value) is int:
            of_64_bits(value)


def flag(value: Any) -> bool:
    """A truth value, for which an integer of one byte may stand: the flags of a backward pass.

    TypeError for anything else, OverflowError for an integer that a byte does not hold.
    """
    if value is True or value is False:
        return bool(value)
    try:
        n = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(
            f"'{kind}' object cannot be interpreted as an integer: a flag is True or False"
        ) from None
    if not 0 <= n < 256:
        bound = "greater than maximum" if n > 0 else "less than minimum"
        raise OverflowError(f"unsigned byte integer is {bound}: a flag is True or False, not {n}")
    return n != 0


def read_number(x: Tensor) -> Any:
    """The one value of an integer or bool tensor, where what comes of an op hangs on it.

    NotImplementedError where the device has no values.
    """
    return x._k.to_host(x._a).item()


def every_value(x: Tensor) -> np.ndarray:
    """The values that a check or a bound hangs on; inside ``vmap`` those of the whole batch."""
    return x._k.every_value(x._a)


def operand(value: Any) -> Any:
    return value if isinstance(value, Tensor) else as_number(value)


def as_float(value: Any) -> Any:
    """The real number that a value stands for; None where PyTorch refuses it for one."""
    found = as_number(value)
    if isinstance(found, complex) and isinstance(value, Tensor):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if isinstance(found, int):
        return int(found) if -(1 << 63) <= found < 1 << 63 else float(found)
    return None if isinstance(found, complex) else found


def as_number(value: Any) -> Any:
    """The number that a value stands for; None where PyTorch refuses it for one."""
    if type(value) is int or type(value) is float:
        return value
    if isinstance(value, np.bool_):
        return float(value)  # PyTorch's own bool alone is a truth value among numbers
    if isinstance(value, np.number) or is_number(value):
        return value.item()
    return value if isinstance(value, (int, float, complex)) else None


def tensor_or_number(function: str, argument: str, position: int, value: Any) -> Any:
    """The value where it is a tensor, else the number that it stands for; TypeError."""
    found = value if isinstance(value, Tensor) else as_number(value)
    if found is None:
        raise type_error(function, argument, position, "Tensor", value)
    return found


def number_of(function: str, argument: str, position: int, value: Any) -> Any:
    """The number that a value stands for; TypeError."""
    found = as_number(value)
    if found is None:
        raise type_error(function, argument, position, "Number", value)
    return found


def none(value: Any) -> None:
    """Nothing but the common case is taken."""


def checker(expected: str, fit: Callable[[Any], Any]) -> Callable[..., Any]:
    def check(value: Any, function: str, argument: str, position: int | None) -> Any:
        found = fit(value)
        if found is None:
            raise type_error(function, argument, position, expected, value)
        return found

    return check


def ints_of(value: Any, function: str, argument: str, position: int | None) -> tuple[int, ...]:
    """The ints of a sequence; TypeError for anything else, and for other elements."""
    if not isinstance(value, (tuple, list)):
        raise type_error(function, argument, position, "tuple of ints", value)
    for n in value:
        if type(n) is not int or not -_COMMON < n < _COMMON:
            break
    else:
        return tuple(value)
    where = "" if position is None else f" (position {position})"
    found = []
    for at, element in enumerate(value):
        try:
            n = _element(element, first=not at)
        except ValueError as error:
            raise TypeError(
                f"{function}(): argument '{argument}'{where} failed to unpack the object at pos "
                f'{at + 1} with error "{error}"'
            ) from None
        if n is None:
            raise TypeError(
                f"{function}(): argument '{argument}'{where} must be tuple of ints, but found "
                f"element of type {type(element).__name__} at pos {at}"
            )
        found.append(n)
    return tuple(found)


def _element(value: Any, first: bool) -> int | None:
    """The int that an element of a sequence stands for; truth values may not be the first."""
    if isinstance(value, bool) and not first:
        return int(value)
    return as_int(value, any_rank=True)


def int_or_ints(value: Any, function: str, argument: str, position: int | None) -> Any:
    if isinstance(value, (tuple, list)):
        return ints_of(value, function, argument, position)
    found = _int_for_ints(value)
    return ints_of(value, function, argument, position) if found is None else found


def _int_for_ints(value: Any) -> int | None:
    """The int that stands for a list of one; a tensor of a truth value does, too."""
    if isinstance(value, Tensor) and value._k.dtype is dtypes.bool and is_number(value, True):
        return int(value.item())
    return whole(value, any_rank=True)


def tensors_of(value: Any, function: str, argument: str, position: int | None) -> Any:
    if not isinstance(value, (tuple, list)):
        raise type_error(function, argument, position, "tuple of Tensors", value)
    for i, element in enumerate(value):
        if not isinstance(element, Tensor):
            raise wrong_type(
                f"expected Tensor as element {i} in argument {(position or 1) - 1}, "
                f"but got {type(element).__name__}",
                element,
            )
    return value


def check_many(tensors: Any) -> None:
    """TypeError for the first that is no tensor, of some tensors or of the one sequence of them."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    for i, element in enumerate(tensors):
        if not isinstance(element, Tensor):
            raise wrong_type(
                f"expected Tensor as element {i} in argument 0, but got {type(element).__name__}",
                element,
            )


def dtype_of(value: Any, function: str, argument: str, position: int | None) -> Any:
    return dtypes.checked(value, function)
