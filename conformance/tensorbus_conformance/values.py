"""Deterministic operand values: the edges of each dtype, and plain random numbers."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats


def rng(*key: object) -> np.random.Generator:
    """A generator whose stream depends on *key* and nothing else."""
    return np.random.Generator(np.random.PCG64(zlib.crc32(repr(key).encode())))


def edges(dtype: dtype) -> np.ndarray:
    """24 values on the edges of *dtype*, for cross products."""
    if dtype is formats.BOOL:
        return np.arange(24) % 2 == 1
    if dtype in formats.INTS:
        low, high = formats.limits(dtype)
        plain = [0, 1, -1, 2, -2, 3, -3, 7, 10, -13, 100, low, high, low + 1, high - 1]
        shifts = [dtype.bits - 1, dtype.bits, dtype.bits + 1, -dtype.bits, 64, 63]
        powers = [1 << (dtype.bits // 2), 5, -(1 << (dtype.bits // 2 - 1))]
        wrapped = [formats.wrap(v, dtype) for v in plain + shifts + powers]
        return np.array(wrapped, formats.value_dtype(dtype))
    return formats.round_to(np.array(_float_edges(dtype)), dtype)


def _float_edges(dtype: dtype) -> list[float]:
    top, tiny = formats.largest(dtype), formats.smallest_normal(dtype)
    step = 2 * formats.unit_roundoff(dtype)
    return [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 1 + step, 1 - step / 2,
        np.pi, -np.pi / 2, np.inf, -np.inf, np.nan, top, -top, tiny, -tiny, 1e-3, 101.0,
    ]  # fmt: skip


def subnormals(dtype: dtype) -> np.ndarray:
    """Numbers between the least subnormal and the least normal of *dtype*, and a few others."""
    least, tiny = formats.smallest_subnormal(dtype), formats.smallest_normal(dtype)
    values = [least, -least, 3 * least, tiny - least, -tiny / 2, tiny, 2 * tiny, 1.0, 0.0, -0.0]
    return formats.round_to(np.array(values), dtype)


_KEPT = 32
"""How many arrays are kept: one or two operands of an op in each dtype."""
_LARGE = 150_000
"""Arrays of more elements are not kept."""


def kept(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """*make*, whose arrays depend on its arguments alone: the last ones are made once.

    Each call gets a copy of its own. The cases of one op ask for what those of another did.
    """
    keep = functools.lru_cache(maxsize=_KEPT)(make)

    @functools.wraps(make)
    def call(dtype: dtype, shape: tuple[int, ...], *key: object) -> np.ndarray:
        if math.prod(shape) > _LARGE:
            return make(dtype, shape, *key)
        return keep(dtype, shape, *key).copy()

    return call


@kept
def plain(dtype: dtype, shape: tuple[int, ...], *key: object) -> np.ndarray:
    """Random values without NaN, infinities and zeros; integers over the whole range."""
    random = rng(dtype.name, shape, *key)
    if dtype is formats.BOOL:
        return random.integers(0, 2, shape).astype(bool)
    if dtype in formats.INTS:
        low, high = formats.limits(dtype)
        wide = random.integers(low, high, shape, endpoint=True, dtype=formats.value_dtype(dtype))
        small = random.integers(max(low, -12), 13, shape)
        return np.where(random.random(shape) < 0.5, wide, small).astype(wide.dtype)
    if dtype in formats.COMPLEX:
        parts = [random.normal(size=shape), random.normal(size=shape)]
        return (parts[0] + 1j * parts[1]).astype(formats.value_dtype(dtype))
    scale = random.choice([0.7, 3.0, 40.0], shape)
    spread = np.sign(random.normal(size=shape)) * 10 ** random.uniform(-4, 4, shape)
    mixed = np.where(random.random(shape) < 0.6, scale * random.normal(size=shape), spread)
    return formats.round_to(mixed, dtype)


def summands(dtype: dtype, shape: tuple[int, ...], *key: object) -> np.ndarray:
    """Random values of like magnitude whose sums and short products stay within range."""
    if dtype in (formats.BOOL, *formats.INTS, *formats.COMPLEX):
        return plain(dtype, shape, *key)
    random = rng("summands", dtype.name, shape, *key)
    return formats.round_to(
        random.uniform(0.25, 1.75, shape) * random.choice([-1, 1], shape), dtype
    )


def ranks(dtype: dtype, shape: tuple[int, ...], *key: object) -> np.ndarray:
    """Random values with many equals, for orders and extrema."""
    random = rng("ranks", dtype.name, shape, *key)
    whole = random.integers(0, 9, shape) - (0 if not dtype.is_signed else 4)
    return whole.astype(formats.value_dtype(dtype)) if dtype is not formats.BOOL else whole > 4


def poison(length: int, dtype: dtype, *key: object) -> np.ndarray:
    """A host buffer of arbitrary bytes, what lies between the elements of a strided array."""
    raw = _noise(length * dtype.itemsize, "poison", length, *key).copy()
    if dtype is formats.BOOL:
        raw &= 1
    return raw.view(formats.host_dtype(dtype))


def _noise(nbytes: int, *key: object) -> np.ndarray:
    make = _few_bytes if nbytes <= _FEW else _bytes
    return make(nbytes, *key)


def _bytes(nbytes: int, *key: object) -> np.ndarray:
    return rng(*key).integers(0, 256, nbytes, dtype=np.uint8)


_FEW = 1 << 15
_few_bytes = functools.lru_cache(maxsize=256)(_bytes)
