"""Python numbers as floats that round once."""

from __future__ import annotations

import math

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
