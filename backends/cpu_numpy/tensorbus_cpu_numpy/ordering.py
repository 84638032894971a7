"""Sorting by packed keys, and the random stream of NumPy's own Philox."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import FLOAT, INTEGER

TABLE = Table()

_SMALL = 512
_WORD = (1 << 64) - 1


@TABLE.row("argsort", FLOAT, INTEGER)
def _argsort(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return _by_short_keys
    if dtype.name in ("float32", "int32"):
        return _by_packed_keys
    return None


def _ordered(x: Array) -> Array:
    """Integers in the order of the floats *x*: NaN last, the two zeros equal."""
    bits = np.dtype(f"i{x.itemsize}")
    # Adding 0 makes -0 into +0; one pattern for all NaN keeps their order.
    keys = np.asarray(np.add(x, np.array(0, x.dtype))).view(bits)
    top = np.iinfo(bits).max
    keys = np.where(keys < 0, keys ^ top, keys)
    keys[np.isnan(x)] = top
    return keys


def _by_short_keys(x: Array, dim: int) -> Array:
    if x.ndim == 0:
        return np.zeros((), np.int64)
    # NumPy sorts 16-bit integers by their digits.
    return _ordered(x).argsort(axis=dim, kind="stable")


def _by_packed_keys(x: Array, dim: int) -> Array:
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if x.size < _SMALL or x.shape[dim] >= 2**31:
        return x.argsort(axis=dim, kind="stable")
    # (key, index) in one integer: no two are equal, so the fast unstable sort is stable.
    keys = _ordered(x) if x.dtype.kind == "f" else x
    line = [1] * x.ndim
    line[dim] = x.shape[dim]
    packed = keys.astype(np.int64)
    packed <<= 32
    packed |= np.arange(x.shape[dim]).reshape(line)
    packed.sort(axis=dim)
    packed &= 0xFFFFFFFF
    return packed


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


@TABLE.row("random_bits", INTEGER)
def _random_bits(xp: Any, dtype: dtype) -> Kernel:
    def random_bits(key: tuple[int, int], offset: int, n: int) -> Array:
        stream = _stream
        # NumPy's Philox advances its counter before the first block.
        start = (offset - 1) % (1 << 256)
        counter = stream.counter
        for word in range(4):
            counter[word] = (start >> (64 * word)) & _WORD
        stream.key[:] = key
        stream.philox.state = stream.state
        return stream.philox.random_raw(n).view(np.int64)

    return random_bits
