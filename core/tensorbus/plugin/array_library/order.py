"""``argsort``, ``arange`` and ``random_bits``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.narrow import converted
from tensorbus.plugin.array_library.table import INTEGER, ORDERED, REAL, Table
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()

_MASK = (1 << 64) - 1
_LOW = np.uint64(0xFFFFFFFF)
_HALF_WORD = np.uint64(32)
_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


@TABLE.row("argsort", *ORDERED)
def _argsort(xp: Any, dtype: dtype) -> Kernel:
    def argsort(x: Array, dim: int) -> Array:
        if x.ndim == 0:
            return xp.zeros((), np.int64)
        return x.argsort(axis=dim, kind="stable")

    return argsort


@TABLE.row("arange", *REAL)
def _arange(xp: Any, dtype: dtype) -> Kernel:
    def arange(n: int, start: float, step: float, dtype: np.dtype) -> Array:
        whole = isinstance(start, int) and isinstance(step, int)
        if whole and start == 0 and step == 1 and dtype.kind in "iu" and dtype.itemsize == 8:
            return xp.arange(n)
        if whole and dtype.kind in "iu":
            i = xp.arange(n)
            i *= step
            i += start
        else:
            i = xp.arange(n, dtype=np.float64)
            i *= step
            i += start
            if dtype.kind in "iu":
                i = i.astype(np.int64)
        return converted(i, dtype)

    return arange


@TABLE.row("random_bits", INTEGER)
def _random_bits(xp: Any, dtype: dtype) -> Kernel:
    def random_bits(key: tuple[int, int], offset: int, n: int) -> Array:
        blocks = -(-n // 4)
        counter = _counters(xp, offset, blocks)
        return philox(xp, counter, key).reshape(-1)[:n].view(np.int64)

    return random_bits


def _counters(xp: Any, offset: int, blocks: int) -> list[Array]:
    """The four words of the 256-bit counters ``offset .. offset + blocks - 1``."""
    words = [(offset >> (64 * i)) & _MASK for i in range(4)]
    low = xp.arange(blocks, dtype=np.uint64) + np.uint64(words[0])
    carry = low < np.uint64(words[0])
    counter = [low]
    for word in words[1:]:
        full = xp.where(carry, np.uint64((word + 1) & _MASK), np.uint64(word))
        carry = carry & (full == np.uint64(0))
        counter.append(full)
    return counter


def philox(xp: Any, counter: list[Array], key: tuple[int, int]) -> Array:
    """Philox4x64-10 of each counter: an array of four words per row."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        high0, low0 = _product(c0, _MULTIPLIERS[0])
        high1, low1 = _product(c2, _MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            high1 ^ c1 ^ np.uint64(k0),
            low1,
            high0 ^ c3 ^ np.uint64(k1),
            low0,
        )
        k0, k1 = (k0 + _WEYL[0]) & _MASK, (k1 + _WEYL[1]) & _MASK
    return xp.stack([c0, c1, c2, c3], axis=1)


def _product(x: Array, multiplier: int) -> tuple[Array, Array]:
    """The high and the low 64 bits of ``x * multiplier``, by 32-bit halves."""
    m_low, m_high = np.uint64(multiplier & 0xFFFFFFFF), np.uint64(multiplier >> 32)
    x_low, x_high = x & _LOW, x >> _HALF_WORD
    low = x_low * m_low
    middle = x_high * m_low + (low >> _HALF_WORD)
    cross = x_low * m_high + (middle & _LOW)
    high = x_high * m_high + (middle >> _HALF_WORD) + (cross >> _HALF_WORD)
    return high, x * np.uint64(multiplier)
