"""Sorting by packed keys, and the random stream of NumPy's own Philox."""

from __future__ import annotations

import functools
import math
import sys
import threading
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import FLOAT, INTEGER

TABLE = Table()

_SMALL = 512
_WORD = (1 << 64) - 1
_DRAWN = 1 << 15
"""Uniforms drawn at a time: a multiple of the 8 in a block of the stream."""


@TABLE.row("argsort", FLOAT, INTEGER)
def _argsort(xp: Any, dtype: dtype) -> Kernel | None:
    way = _ways.get(dtype.name)
    return None if way is None else functools.partial(way, down=False)


@TABLE.row("argsort_down", FLOAT, INTEGER)
def _argsort_down(xp: Any, dtype: dtype) -> Kernel | None:
    way = _ways.get(dtype.name)
    return None if way is None else functools.partial(way, down=True)


def stable_order(x: Array, dim: int, down: bool) -> Array:
    """The indices that sort *x* along *dim*, equal elements in their order, by NumPy's sort.

    NaN count as the largest, so they are the first where it goes down.
    """
    if not down:
        return x.argsort(axis=dim, kind="stable")
    # The ascending order of the reversed, read backwards, leaves equal elements in their order.
    backwards = (slice(None),) * dim + (slice(None, None, -1),)
    order = x[backwards].argsort(axis=dim, kind="stable")[backwards]
    return np.subtract(x.shape[dim] - 1, order)


def sorted_order(x: Array, dim: int, down: bool) -> Array:
    """``stable_order``, by the quickest way for the array's dtype."""
    return _by_dtype.get(x.dtype, stable_order)(x, dim, down)


def counted_order(x: Array, n: int) -> Array:
    """The indices that sort a flat array of integers from 0 to *n* - 1, equal ones in their order.

    NumPy sorts 16-bit integers by their digits.
    """
    if n <= 1 << 16:
        return x.astype(np.uint16).argsort(kind="stable")
    return sorted_order(x.astype(np.int32) if n < 1 << 31 else x, 0, False)


def _ordered(x: Array) -> Array:
    """Integers in the order of the floats *x*: NaN last, the two zeros equal."""
    bits = np.dtype(f"i{x.itemsize}")
    # Adding 0 makes -0 into +0; one pattern for all NaN keeps their order.
    keys = np.asarray(np.add(x, np.array(0, x.dtype))).view(bits)
    top = np.iinfo(bits).max
    keys = np.where(keys < 0, keys ^ top, keys)
    keys[np.isnan(x)] = top
    return keys


def _by_short_keys(x: Array, dim: int, down: bool) -> Array:
    if x.ndim == 0:
        return np.zeros((), np.int64)
    keys = _ordered(x)  # of 16 bits, as above
    return (~keys if down else keys).argsort(axis=dim, kind="stable")


def _by_packed_keys(x: Array, dim: int, down: bool) -> Array:
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if x.size < _SMALL or x.shape[dim] >= 2**31:
        return stable_order(x, dim, down)
    # (key, index) in one integer: no two are equal, so the fast unstable sort is stable.
    keys = _ordered(x) if x.dtype.kind == "f" else x
    line = [1] * x.ndim
    line[dim] = x.shape[dim]
    packed = (~keys if down else keys).astype(np.int64)
    packed <<= 32
    packed |= np.arange(x.shape[dim]).reshape(line)
    packed.sort(axis=dim)
    packed &= 0xFFFFFFFF
    return packed


_ways = {"float16": _by_short_keys, "float32": _by_packed_keys, "int32": _by_packed_keys}
_by_dtype = {np.dtype(name): way for name, way in _ways.items()}


class _Stream(threading.local):
    """One Philox for each thread: setting its state takes a fifth of making a new one."""

    def __init__(self) -> None:
        self.philox = np.random.Philox(0)
        self.counter = np.zeros(4, np.uint64)
        self.key = np.zeros(2, np.uint64)
        self.state: Any = {
            "bit_generator": "Philox",
            "state": {"counter": self.counter, "key": self.key},
            "buffer": np.zeros(4, np.uint64),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }


_stream = _Stream()


def _words(key: tuple[int, int], offset: int, n: int) -> Array:
    stream = _stream
    # NumPy's Philox advances its counter before the first block.
    start = (offset - 1) % (1 << 256)
    counter = stream.counter
    for word in range(4):
        counter[word] = (start >> (64 * word)) & _WORD
    stream.key[:] = key
    stream.philox.state = stream.state
    return stream.philox.random_raw(n).view(np.int64)


TABLE.add("random_bits", (INTEGER,), lambda xp, dtype: _words)


_LOW = np.array(2**24 - 1, np.uint32)
_STEP = np.array(2.0**-24, np.float32)


def _draw(part: Array, key: tuple[int, int], offset: int, start: int) -> None:
    """Write the uniforms from *start* on, as whole multiples of ``_STEP``: without it."""
    block, before = divmod(start, 8)
    stop = before + len(part)
    # The halves of a word lie in memory in the order in which they are drawn.
    halves = _words(key, offset + block, -(-stop // 2)).view(np.uint32)[before:stop]
    part[...] = np.bitwise_and(halves, _LOW, halves).view(np.int32)


def _can_draw(dtype: dtype) -> bool:
    return dtype.name == "float32" and sys.byteorder == "little"


@TABLE.row("uniform", FLOAT)
def _uniform(xp: Any, dtype: dtype) -> Kernel | None:
    def uniform(key: tuple[int, int], offset: int, n: int) -> Array:
        made = np.empty(n, np.float32)
        for start in range(0, n, _DRAWN):
            part = made[start : start + _DRAWN]
            _draw(part, key, offset, start)
            np.multiply(part, _STEP, part)
        return made

    return uniform if _can_draw(dtype) else None


@TABLE.row("normal", FLOAT)
def _normal(xp: Any, dtype: dtype) -> Kernel | None:
    """The composition's steps in place, and some pieces long: half of its calls are copies."""
    one, factor = (np.array(value, np.float32) for value in (1, -2))
    turn = np.float32(2 * math.pi) * _STEP  # a power of two, which rounds nothing

    def normal(key: tuple[int, int], offset: int, n: int) -> Any:
        half = -(-n // 2)
        made = np.empty((2, half), np.float32)
        scratch = np.empty(min(half, _DRAWN), np.float32)
        few = half <= _DRAWN
        if few:  # the state is set once
            _draw(made.reshape(-1), key, offset, 0)
        for start in range(0, half, _DRAWN):
            radius, angle = made[:, start : start + _DRAWN]
            cosine = scratch[: len(radius)]
            if not few:
                _draw(radius, key, offset, start)
                _draw(angle, key, offset, half + start)
            np.subtract(one, np.multiply(radius, _STEP, radius), radius)
            np.multiply(np.log(radius, radius), factor, radius)
            np.sqrt(radius, radius)
            np.cos(np.multiply(angle, turn, angle), cosine)
            np.multiply(np.sin(angle, angle), radius, angle)
            np.multiply(cosine, radius, radius)
        flat = made.reshape(-1)
        return flat if 2 * half == n else flat[:n].copy()

    return normal if _can_draw(dtype) else None
