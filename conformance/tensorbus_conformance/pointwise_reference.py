"""What the pointwise primitives should give, computed without any backend.

Integers are Python ints, wrapped at the end. Floats are NumPy in a wider type: float64 for float32
and narrower, long double for float64. Operations that are exact or correctly rounded are computed
in float64 and rounded once; for float32 and narrower operands the second rounding is harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats
from tensorbus_conformance.primitives import DIVIDING, TO_BOOL, ULP_BOUNDS


def bound(op: str, dtype: dtype) -> float:
    """The allowed error in ULP; half-width floats are computed in float32, then rounded once."""
    if dtype not in (formats.FLOAT16, formats.BFLOAT16):
        return ULP_BOUNDS[op]
    narrower = formats.unit_roundoff(dtype) / formats.unit_roundoff(formats.FLOAT32)
    return 0.5 + ULP_BOUNDS[op] / narrower


def reference(op: str, dtype: dtype, operands: list[np.ndarray]) -> np.ndarray:
    """The expected values: wide where an error in ULP is allowed, else of the result's dtype."""
    with np.errstate(all="ignore"):
        if op == "where":
            return np.where(*operands)
        if op in TO_BOOL:
            return _COMPARE[op](*operands)
        if dtype is formats.BOOL:
            return _BOOL[op](*operands)
        if dtype in formats.INTS:
            return _integers(op, dtype, operands)
        if dtype in formats.COMPLEX:
            wide = [a.astype(np.clongdouble) for a in operands]
            return _COMPLEX[op](*wide)
        if op in ULP_BOUNDS:
            wide_type = formats.WIDE if dtype is formats.FLOAT64 else np.float64
            return _TRANSCENDENTAL[op](*(a.astype(wide_type) for a in operands))
        if op in DIVIDING:
            work = formats.compute_dtype(dtype)
            operands = [a.astype(work) for a in operands]
            return formats.round_to(_FLOAT[op](*operands), dtype)
        return formats.round_to(_FLOAT[op](*(a.astype(np.float64) for a in operands)), dtype)


def _integers(op: str, dtype: dtype, operands: list[np.ndarray]) -> np.ndarray:
    function = _INTEGER[op]
    flat = [np.broadcast_to(a, np.broadcast_shapes(*(o.shape for o in operands))) for a in operands]
    rows = list(zip(*(a.ravel().tolist() for a in flat), strict=True))
    # Operands repeat: each row is computed once.
    known = {row: formats.wrap(function(dtype, *row), dtype) for row in set(rows)}
    found = [known[row] for row in rows]
    return np.array(found, formats.value_dtype(dtype)).reshape(flat[0].shape)


def _int_fmod(_: dtype, a: int, b: int) -> int:
    if b == 0:
        return 0
    return abs(a) % abs(b) * (1 if a >= 0 else -1)


def _int_pow(dtype: dtype, a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 1 << dtype.bits)
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


def _int_lshift(dtype: dtype, a: int, b: int) -> int:
    return a << b if 0 <= b < dtype.bits else 0


def _int_rshift(dtype: dtype, a: int, b: int) -> int:
    return a >> b if 0 <= b < dtype.bits else -(a < 0)


_INTEGER: dict[str, Callable[..., int]] = {
    "abs": lambda _, a: abs(a),
    "add": lambda _, a, b: a + b,
    "sub": lambda _, a, b: a - b,
    "mul": lambda _, a, b: a * b,
    "floor_divide": lambda _, a, b: a // b if b else 0,
    "fmod": _int_fmod,
    "pow": _int_pow,
    "maximum": lambda _, a, b: max(a, b),
    "minimum": lambda _, a, b: min(a, b),
    "bitwise_and": lambda _, a, b: a & b,
    "bitwise_or": lambda _, a, b: a | b,
    "bitwise_xor": lambda _, a, b: a ^ b,
    "lshift": _int_lshift,
    "rshift": _int_rshift,
}

_BOOL = {
    "maximum": np.logical_or,
    "minimum": np.logical_and,
    "bitwise_and": np.logical_and,
    "bitwise_or": np.logical_or,
    "bitwise_xor": np.logical_xor,
}

_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}

_COMPLEX = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}

_TRANSCENDENTAL = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "atan2": np.arctan2,
    "pow": np.power,
}


def _floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Python's float floor division over an exact remainder; a / b where b is zero."""
    remainder = np.fmod(a, b)
    quotient = (a - remainder) / b
    quotient = np.where((remainder != 0) & ((b < 0) != (remainder < 0)), quotient - 1, quotient)
    floored = np.floor(quotient)
    floored = np.where(quotient - floored > 0.5, floored + 1, floored)
    return np.where(b == 0, a / b, np.where(quotient != 0, floored, 0))


def _greater(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(a) | (a > b), a, b)


def _lesser(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(a) | (a < b), a, b)


_FLOAT: dict[str, Callable[..., Any]] = {
    "abs": np.fabs,
    "floor": np.floor,
    "round": np.rint,
    "sqrt": np.sqrt,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floor_divide": _floor_divide,
    "fmod": np.fmod,
    "maximum": _greater,
    "minimum": _lesser,
}
