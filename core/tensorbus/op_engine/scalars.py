"""A Python number beside a dtype: what fits, and the number as the dtype takes it."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name, scalar_name
from tensorbus._base.dtypes import dtype
from tensorbus._dispatch.wrapping import check_bits

ANY_HOLDS = 6e4
"""Every floating point dtype has numbers as large as this."""


def fitted(value: Any, d: dtype) -> Any:
    """A Python number as a dtype takes it: fractions are dropped for integers.

    RuntimeError where the dtype cannot hold it (whole negative numbers wrap into uint8),
    OverflowError for an integer of more than 64 bits.

    >>> import tensorbus
    >>> fitted(2.5, tensorbus.int8)
    2
    >>> fitted(300, tensorbus.int8)
    Traceback (most recent call last):
    ...
    RuntimeError: value cannot be converted to type int8_t without overflow
    """
    t = type(value)
    if (t is float or t is int) and d.is_floating_point and -ANY_HOLDS <= value <= ANY_HOLDS:
        return value
    check_bits(value)
    if d.category == dtypes.BOOL:
        return bool(value)
    number = value
    if isinstance(number, complex):
        if d.is_complex:
            largest = _LARGEST[d.to_real()]
            if _beyond(number.real, largest) or _beyond(number.imag, largest):
                raise _overflow(d)
            return number
        if number.imag:
            raise _overflow(d)
        number = number.real
    if d.category == dtypes.INTEGER:
        least, largest = _LIMITS[d]
        if not d.is_signed and isinstance(number, int):
            least = -largest
        # Python compares ints with floats exactly, so 2.0**63 is beyond the last of int64.
        if not least <= number <= largest:
            raise _overflow(d)
        return int(number)
    if _beyond(number, _LARGEST[d.to_real()]):
        raise _overflow(d)
    return number


def widened(d: dtype) -> dtype:
    """The dtype that a factor must fit where products of half precision are added in float32."""
    return dtypes.float32 if d.is_floating_point and d.bits < 32 else d


def converted(value: Any, d: dtype) -> Any:
    """``fitted`` for a number that becomes a tensor first: beyond half precision it is infinite."""
    if not d.is_floating_point or d.bits >= 32:
        return fitted(value, d)
    number, largest = fitted(value, dtypes.float64), _LARGEST[d]
    if not _beyond(number, largest):
        return number
    eps = dtypes.finfo(d).eps
    rounds_down = abs(number) < largest + largest * eps / 2 / (2 - eps)  # by half a unit
    return math.copysign(largest if rounds_down else math.inf, number)


def scalar_name_of(x: Any) -> str:
    """``scalar_name`` of a tensor's dtype."""
    return scalar_name(x._k.dtype)


def _beyond(number: Any, largest: float) -> bool:
    return abs(number) > largest and (isinstance(number, int) or math.isfinite(number))


def _overflow(d: dtype) -> RuntimeError:
    name = _FIXED_NAMES.get(d.name) or c_name(d)
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


_LIMITS = {
    d: (dtypes.iinfo(d).min, dtypes.iinfo(d).max)
    for d in (*dtypes.ALL, *dtypes.STORED)
    if d.category == dtypes.INTEGER
}
_LARGEST = {d: dtypes.finfo(d).max for d in dtypes.ALL if d.is_floating_point}
# Numbers beyond float8 are written as its largest, or as what it has for too large ones.
_LARGEST |= {d: _LARGEST[dtypes.float32] for d in dtypes.STORED if d.is_floating_point}
_FIXED_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int64": "int64_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
}  # fmt: skip
