"""Values that every rank and the parent know without communicating, and what follows from them."""

from __future__ import annotations

import zlib

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats

CHIEF = (formats.FLOAT32, formats.INT64, formats.BOOL, formats.BFLOAT16)
"""The dtypes of the profile ``core``: what training moves."""

SIZES = (0, 1, 1009)
LARGE_BYTES = 2_800_000
"""Of a large array: more than a chunk of any comm, and no multiple of one."""

_DIGITS = {
    formats.FLOAT16: 11,
    formats.BFLOAT16: 8,
    formats.FLOAT32: 24,
    formats.FLOAT64: 53,
    formats.COMPLEX64: 24,
    formats.COMPLEX128: 53,
}


def large(dtype: dtype) -> int:
    """How many elements a large array has: an odd number."""
    return LARGE_BYTES // dtype.itemsize | 1


def ops_of(dtype: dtype) -> tuple[str, ...]:
    """The reductions that there are for a dtype."""
    if dtype in formats.COMPLEX:
        return ("sum",)
    if dtype in formats.FLOATS:
        return "sum", "product", "min", "max"
    return "sum", "product", "min", "max", "band", "bor", "bxor"


def generator(*seed: object) -> np.random.Generator:
    """Random numbers that depend on *seed* alone, the same in every process."""
    return np.random.default_rng(zlib.crc32(repr(seed).encode()))


def any_bits(dtype: dtype, n: int, *seed: object) -> np.ndarray:
    """Arrays as comms get them, with any bits: NaN of all kinds, infinities, subnormals."""
    host = formats.host_dtype(dtype)
    random = generator(dtype.name, n, *seed)
    if dtype is formats.BOOL:
        return random.integers(0, 2, n).astype(bool)
    return np.frombuffer(random.bytes(n * host.itemsize), host).copy()


_PERIOD = 10_007
"""Columns after which long rows repeat themselves: no divisor of a chunk's size."""


def operands(dtype: dtype, op: str, n: int, size: int, *seed: object) -> np.ndarray:
    """The ranks' values, one row each, whose combination is exact in any order."""
    if n > _PERIOD:
        rows = operands(dtype, op, _PERIOD, size, *seed)
        return np.tile(rows, (1, n // _PERIOD + 1))[:, :n]
    random = generator(dtype.name, op, n, *seed)
    if dtype is formats.BOOL:
        # With many ranks "or" would be true and "and" false everywhere.
        likely = 1 / size if op in ("sum", "max", "bor") else 1 - 1 / size
        return random.random((size, n)) < (0.5 if op == "bxor" else likely)
    if dtype in formats.INTS:
        low, high = formats.limits(dtype)
        plain = formats.value_dtype(dtype)
        values = random.integers(low, high, (size, n), plain, endpoint=True)
        return values | 1 if op == "product" else values  # an even factor soon leaves zeros
    real = _exact_floats(random, dtype, op, n, size)
    if dtype in formats.COMPLEX:
        return (real + 1j * _exact_floats(random, dtype, op, n, size)).astype(dtype.name)
    return real.astype(formats.value_dtype(dtype))


def _exact_floats(
    random: np.random.Generator, dtype: dtype, op: str, n: int, size: int
) -> np.ndarray:
    digits = _DIGITS[dtype]
    if op == "product":
        # One factor has all digits, the others are powers of two.
        found = random.choice(np.array([-1.0, 1.0, 2.0, 0.5]), (size, n))
        low, high = 2 ** (digits - 1), 2**digits
        whose = np.arange(n) % size
        found[whose, np.arange(n)] = random.integers(low, high, n) * 2.0 ** -(digits - 1)
        return found
    # As many digits as leave room for the sum.
    room = 0 if op in ("min", "max") else (size - 1).bit_length()
    most = 2 ** max(digits - room, 1) - 1
    whole = random.integers(-most, most, (size, n), endpoint=True)
    return whole * 2.0 ** -(digits // 2)


def combined(rows: np.ndarray, op: str) -> np.ndarray:
    """What a reduction makes of the ranks' rows; integers wrap."""
    plain = rows.dtype
    if plain.kind == "b":
        if op == "bxor":
            return np.asarray(rows.sum(axis=0) % 2 == 1)
        any = op in ("sum", "max", "bor")
        return np.asarray(rows.any(axis=0) if any else rows.all(axis=0))
    ufunc = {
        "sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum,
        "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor,
    }[op]  # fmt: skip
    with np.errstate(all="ignore"):
        return ufunc.reduce(rows, axis=0, dtype=plain)


def with_nan(rows: np.ndarray) -> np.ndarray:
    """The rows with NaN and infinities on single ranks and on several."""
    found = rows.copy()
    size, n = found.shape
    for i in range(0, n, 7):
        found[i % size, i] = np.nan
    for i in range(3, n, 11):
        found[(i + 1) % size, i] = np.inf
        found[i % size, (i + 1) % n] = -np.inf
    return found
