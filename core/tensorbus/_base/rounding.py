"""Python numbers as floats that round once."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base.dtypes import dtype

_EXACT = 53
"""Integers of so many bits are floats."""


def as_float(value: float, d: dtype) -> float:
    """A float that becomes in the dtype *d* what *value* itself is rounded to.

    An integer of more than 53 bits is rounded twice on its way to float32; so its last bit is made
    one if any bit that is lost was one, and no tie arises where there was none.

    >>> import tensorbus
    >>> as_float(2**53 + 2**29 + 1, tensorbus.float32) > 2**53 + 2**29
    True
    """
    if isinstance(value, int) and d.itemsize < 8:
        lost = value.bit_length() - _EXACT
        if lost > 0:
            high = abs(value) >> lost
            sticky = high | (abs(value) != high << lost)
            value = (sticky if value > 0 else -sticky) << lost
    return float(value)


def truncated(xp: Any, x: Any, d: dtype) -> Any:
    """An array of floats without their fractions, as elements of an integer dtype.

    What int32 and int64 have no number for, NaN too, becomes their least. Narrower and unsigned
    dtypes take the lower bits of the int64 number; uint64 has numbers of its own above those.
    """
    if d.name == "uint64":
        beyond = (x >= 2.0**63) & (x < 2.0**64)
        below = xp.where(beyond, x - x.dtype.type(2.0**63), x)
        whole = _within(xp, below, "int64", 63)
        return xp.where(beyond, whole + xp.int64(-(2**63)), whole).astype("uint64")
    if d.name == "int32":
        return _within(xp, x, "int32", 31)
    return _within(xp, x, "int64", 63).astype(d.name, copy=False)


def _within(xp: Any, x: Any, name: str, bits: int) -> Any:
    if x.dtype.itemsize == 2:
        x = x.astype("float32")
    limit = x.dtype.type(2.0**bits)
    # C says nothing of other floats: processors differ.
    return xp.where((x > -limit - 1) & (x < limit), x, -limit).astype(name)


def to_bfloat16(value: float) -> float:
    """The bfloat16 number nearest to a float, of two that are as near the even one.

    >>> to_bfloat16(1.005), to_bfloat16(3.4e38)
    (1.0078125, inf)
    """
    if value == 0 or not math.isfinite(value):
        return value
    step = math.ldexp(1.0, max(math.frexp(value)[1], -125) - 8)
    rounded = round(value / step) * step
    # A product of zero has lost the sign.
    return math.copysign(math.inf if abs(rounded) >= 2.0**128 else abs(rounded), value)
