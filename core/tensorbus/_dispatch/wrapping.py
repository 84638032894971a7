"""Python numbers as a dtype holds them, and what constants of them are kept under."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.rounding import as_float


def check_bits(value: Any) -> None:
    """OverflowError for an integer that no dtype can hold."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError(
            "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
        )


def constant_key(value: Any) -> Any:
    """What a number is kept under: 0.0 == -0.0, and NaN != NaN."""
    return value if value and value == value else repr(value)


def wrap_number(value: Any, dtype: dtypes.dtype) -> Any:
    """A Python number as the dtype holds it: integers wrap around; none has over 64 bits."""
    check_bits(value)
    if dtype.category == dtypes.INTEGER:
        value = int(value) & ((1 << dtype.bits) - 1)
        return value - (1 << dtype.bits) if dtype.is_signed and value >> (dtype.bits - 1) else value
    if dtype.category == dtypes.BOOL:
        return bool(value)
    return complex(value) if dtype.category == dtypes.COMPLEX else as_float(value, dtype)
