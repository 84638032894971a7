"""The contract's dtypes as the host sees them: NumPy types, roundings, units in the last place."""

from __future__ import annotations

import functools

import numpy as np

from tensorbus import plugin
from tensorbus.plugin import dtype

BOOL = plugin.bool
UINT8, INT8, INT16 = plugin.uint8, plugin.int8, plugin.int16
INT32, INT64 = plugin.int32, plugin.int64
FLOAT16, BFLOAT16 = plugin.float16, plugin.bfloat16
FLOAT32, FLOAT64 = plugin.float32, plugin.float64
COMPLEX64, COMPLEX128 = plugin.complex64, plugin.complex128

INTS = (UINT8, INT8, INT16, INT32, INT64)
FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
COMPLEX = (COMPLEX64, COMPLEX128)
REAL = (BOOL, *INTS, *FLOATS)
ALL = (*REAL, *COMPLEX)
MANDATORY = frozenset((BOOL, *INTS, FLOAT32))
"""Every backend has these; the others it claims or does not."""
MOVED = frozenset((BFLOAT16, *COMPLEX))
"""Dtypes that may be claimed with nothing but the kernels that move bytes."""

_HALF_WIDTHS = {FLOAT16: np.float32, BFLOAT16: np.float32}

# The precision (with the hidden bit), the least and the largest exponent of a normal number.
_FORMATS = {
    FLOAT16: (11, -14, 15),
    BFLOAT16: (8, -126, 127),
    FLOAT32: (24, -126, 127),
    FLOAT64: (53, -1022, 1023),
}

WIDE = np.longdouble
WIDE_IS_WIDER = np.finfo(np.longdouble).nmant > 52
"""Where long double is no wider than float64, float64 references may be off by one unit."""


@functools.cache
def host_dtype(dtype: dtype) -> np.dtype:
    """The NumPy dtype in which arrays of *dtype* cross; bfloat16 crosses as its bits."""
    return np.dtype(np.uint16 if dtype is BFLOAT16 else dtype.name)


@functools.cache
def value_dtype(dtype: dtype) -> np.dtype:
    """The NumPy dtype that holds the values of *dtype*."""
    return np.dtype(np.float32 if dtype is BFLOAT16 else dtype.name)


def compute_dtype(dtype: dtype) -> np.dtype:
    """The NumPy dtype in which kernels compute on *dtype*: float32 for the two half widths."""
    return np.dtype(_HALF_WIDTHS.get(dtype, value_dtype(dtype)))


def encode(values: np.ndarray, dtype: dtype) -> np.ndarray:
    """Values as they cross to a device; what ``decode`` gave becomes the same bits again."""
    if dtype is not BFLOAT16:
        return np.asarray(values, host_dtype(dtype))
    single = np.asarray(values, np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # A NaN whose upper half alone would be an infinity gets a bit that says NaN.
    nan = (bits >> 16) | np.where(bits & 0x7F0000, np.uint64(0), np.uint64(0x40))
    return np.where(np.isnan(single), nan, rounded).astype(np.uint16)


def decode(host: np.ndarray, dtype: dtype) -> np.ndarray:
    """Values of an array that came from a device."""
    if dtype is not BFLOAT16:
        return host
    return (host.astype(np.uint32) << 16).view(np.float32)


def round_to(values: np.ndarray, dtype: dtype) -> np.ndarray:
    """Values rounded to the nearest of *dtype*, ties to even."""
    with np.errstate(all="ignore"):
        if dtype is BFLOAT16:
            return decode(encode(values, dtype), dtype)
        return np.asarray(values).astype(value_dtype(dtype))


def wrap(value: int, dtype: dtype) -> int:
    """The integer *value* modulo the range of *dtype*."""
    value &= (1 << dtype.bits) - 1
    if dtype.is_signed and value >> (dtype.bits - 1):
        value -= 1 << dtype.bits
    return value


def limits(dtype: dtype) -> tuple[int, int]:
    """The least and the largest integer of *dtype*."""
    if dtype.is_signed:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def unit_roundoff(dtype: dtype) -> float:
    """Half the distance from 1 to the next number."""
    return 2.0 ** -_FORMATS[dtype.to_real()][0]


def smallest_normal(dtype: dtype) -> float:
    return 2.0 ** _FORMATS[dtype.to_real()][1]


def smallest_subnormal(dtype: dtype) -> float:
    digits, low, _ = _FORMATS[dtype]
    return 2.0 ** (low - digits + 1)


def largest(dtype: dtype) -> float:
    digits, _, high = _FORMATS[dtype]
    return (2.0 - 2.0 ** (1 - digits)) * 2.0**high


def ulp_error(got: np.ndarray, exact: np.ndarray, dtype: dtype) -> np.ndarray:
    """How far *got* is from *exact*, in units in the last place of *dtype* at *exact*.

    0 where both are NaN or the same infinity, inf where only one is NaN. An overflow counts as
    the first number beyond the range, so a result that rounds up to infinity is no worse than
    its rounding.
    """
    digits, low, high = _FORMATS[dtype]
    got = np.asarray(got, WIDE)
    exact = np.asarray(exact, WIDE)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(exact), exact, 1))
        exponent = np.clip(exponent - 1, low, high)
        spacing = np.ldexp(np.ones((), WIDE), exponent - digits + 1)
        limit = np.ldexp(np.ones((), WIDE), high) * 2
        overflow = np.isinf(got) & ~np.isinf(exact)
        stand_in = np.where(overflow, np.copysign(limit, got), got)
        error = np.abs(stand_in - exact) / spacing
        beyond = overflow & (np.sign(got) == np.sign(exact)) & (np.abs(exact) >= limit)
    error = np.where(beyond | (got == exact), 0, error)
    one_nan = np.isnan(got) != np.isnan(exact)
    error = np.where(np.isnan(got) & np.isnan(exact), 0, np.where(one_nan, np.inf, error))
    return np.where(np.isnan(error), np.inf, error).astype(np.float64)
