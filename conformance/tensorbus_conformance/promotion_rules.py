"""PyTorch's type promotion, written anew: which dtype operands of different dtypes are brought to.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorbus.plugin import dtype
from tensorbus_conformance import formats

_ORDER = (
    formats.BOOL, formats.UINT8, formats.INT8, formats.INT16, formats.INT32, formats.INT64,
    formats.FLOAT16, formats.BFLOAT16, formats.FLOAT32, formats.FLOAT64,
    formats.COMPLEX64, formats.COMPLEX128,
)  # fmt: skip

_SHORT = dict(zip("b1 u8 i1 i2 i4 i8 f2 g2 f4 f8 c8 c16".split(), _ORDER, strict=True))

_PAIRS = """
      b1  u8  i1  i2  i4  i8  f2  g2  f4  f8  c8  c16
b1    b1  u8  i1  i2  i4  i8  f2  g2  f4  f8  c8  c16
u8    u8  u8  i2  i2  i4  i8  f2  g2  f4  f8  c8  c16
i1    i1  i2  i1  i2  i4  i8  f2  g2  f4  f8  c8  c16
i2    i2  i2  i2  i2  i4  i8  f2  g2  f4  f8  c8  c16
i4    i4  i4  i4  i4  i4  i8  f2  g2  f4  f8  c8  c16
i8    i8  i8  i8  i8  i8  i8  f2  g2  f4  f8  c8  c16
f2    f2  f2  f2  f2  f2  f2  f2  f4  f4  f8  c8  c16
g2    g2  g2  g2  g2  g2  g2  f4  g2  f4  f8  c8  c16
f4    f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16
f8    f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8    c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16
c16   c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""


def _table() -> dict[tuple[dtype, dtype], dtype]:
    head, *rows = (line.split() for line in _PAIRS.strip().splitlines())
    return {
        (_SHORT[name], _SHORT[other]): _SHORT[found]
        for name, *cells in rows
        for other, found in zip(head, cells, strict=True)
    }


PAIRS = _table()
"""The dtype of two operands that both have dimensions."""


def category(d: dtype) -> int:
    """0 for bool, 1 for integers, 2 for floating point, 3 for complex dtypes."""
    if d is formats.BOOL:
        return 0
    return 1 if d in formats.INTS else 2 if d in formats.FLOATS else 3


def of_number(value: Any, default: dtype = formats.FLOAT32) -> dtype:
    """The dtype that a Python number stands for, with a default floating point dtype."""
    if isinstance(value, bool):
        return formats.BOOL
    if isinstance(value, int):
        return formats.INT64
    return default if isinstance(value, float) else complex_of(default)


def complex_of(d: dtype) -> dtype:
    """The complex dtype whose parts are at least of a floating point dtype."""
    return formats.COMPLEX128 if d is formats.FLOAT64 else formats.COMPLEX64


def common(
    dims: Iterable[dtype] = (), scalars: Iterable[dtype] = (), numbers: Iterable[dtype] = ()
) -> dtype:
    """The dtype of tensors with dimensions, tensors without, and numbers together.

    Within each group by the table; a lower group counts only where its category is the higher.
    """
    found: dtype | None = None
    for group in (numbers, scalars, dims):
        merged: dtype | None = None
        for d in group:
            merged = d if merged is None else PAIRS[merged, d]
        if merged is not None:
            found = merged if found is None else _over(merged, found)
    if found is None:
        raise ValueError("promotion needs at least one operand")
    return found


def _over(higher: dtype, lower: dtype) -> dtype:
    if category(higher) >= category(lower):
        return higher
    if category(lower) == 3 and category(higher) == 2:
        return complex_of(higher)
    return PAIRS[higher, lower]


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether a result may be written into a tensor of another dtype: never to a lower category."""
    return category(source) <= category(target)
