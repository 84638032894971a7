"""The standard's functions of dtypes, and its constants."""

from __future__ import annotations

import math
from builtins import bool as truth
from typing import Any, NamedTuple

import tensorbus
from tensorbus import Tensor
from tensorbus._base.dtypes import BOOL, COMPLEX, FLOAT, INTEGER
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus.array_api._operands import dtype_beside

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

KINDS: dict[str, Any] = {
    "bool": lambda d: d.category == BOOL,
    "signed integer": lambda d: d.category == INTEGER and d.is_signed,
    "unsigned integer": lambda d: d.category == INTEGER and not d.is_signed,
    "integral": lambda d: d.category == INTEGER,
    "real floating": lambda d: d.category == FLOAT,
    "complex floating": lambda d: d.category == COMPLEX,
    "numeric": lambda d: d.category != BOOL,
}
"""The standard's kinds of dtypes."""


class FloatLimits(NamedTuple):
    """The limits of a floating point dtype; of a complex one those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Dtype


class IntegerLimits(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: Dtype


def _dtype_of(value: Any, name: str) -> Dtype:
    """An array's dtype, or a dtype itself; TypeError for anything else, as NumPy's dtypes."""
    d = value.dtype if isinstance(value, Tensor) else value
    if not isinstance(d, Dtype):
        raise TypeError(
            f"{name}(): expected a dtype of tensorbus, such as float32 of this namespace, but got "
            f"{d!r}"
        )
    return d


def astype(x: Tensor, dtype: Dtype, /, *, copy: truth = True, device: Any = None) -> Tensor:
    """x in a dtype, and on a device if one is named; without copy x itself where it is so."""
    dtype = _dtype_of(dtype, "astype")
    if x.is_complex() and not dtype.is_complex and dtype.category != BOOL:
        raise TypeError(
            f"astype(): {x.dtype} can't become {dtype}, which has no imaginary parts: take "
            "real(x) or imag(x) first"
        )
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def can_cast(from_: Any, to: Dtype, /) -> truth:
    """Whether a dtype, or an array's, goes into another by the standard's table of promotion."""
    d, to = _dtype_of(from_, "can_cast"), _dtype_of(to, "can_cast")
    same = d.category == to.category or (d.category, to.category) == (FLOAT, COMPLEX)
    return same and tensorbus.promote_types(d, to) is to


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a floating point or complex dtype, or of an array's."""
    d = _dtype_of(type, "finfo")
    found = tensorbus.finfo(d)
    values = (found.eps, found.max, found.min, found.smallest_normal)
    return FloatLimits(found.bits, *values, d.to_real())


def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of an array's."""
    d = _dtype_of(type, "iinfo")
    found = tensorbus.iinfo(d)
    return IntegerLimits(found.bits, found.max, found.min, d)


def isdtype(dtype: Dtype, kind: Any) -> truth:
    """Whether a dtype is one of a kind: another dtype, a kind's name, or a tuple of such."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, Dtype):
        return dtype is kind
    if kind not in KINDS:
        raise ValueError(f"isdtype(): {kind!r} is no kind; there are {', '.join(KINDS)}")
    return KINDS[kind](_dtype_of(dtype, "isdtype"))


def result_type(*arrays_and_dtypes: Any) -> Dtype:
    """The dtype that a result of such arrays, dtypes and Python numbers has."""
    numbers = [a for a in arrays_and_dtypes if isinstance(a, (int, float, complex))]
    others = [a for a in arrays_and_dtypes if not isinstance(a, (int, float, complex))]
    dtypes = [_dtype_of(a, "result_type") for a in others]
    if not dtypes:
        raise ValueError("result_type(): expected at least one array or dtype")
    found = dtypes[0]
    for d in dtypes[1:]:
        found = tensorbus.promote_types(found, d)
    for number in numbers:
        found = dtype_beside(number, found)
    return found


__all__ = ["astype", "can_cast", "e", "finfo", "iinfo", "inf", "isdtype", "nan", "newaxis", "pi",
           "result_type"]  # fmt: skip
