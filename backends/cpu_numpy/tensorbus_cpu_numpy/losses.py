"""Cross-entropy of class scores, forward and backward, without an array of log-probabilities."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorbus.plugin import Array, IndexFault, Kernel, dtype
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT

TABLE = Table()


@functools.lru_cache(maxsize=64)
def _count(n: int) -> Array:
    made = np.arange(n)
    made.setflags(write=False)
    return made


def _rows(i: Array, ignore: int, classes: int) -> tuple[Array, Any]:
    """The class numbers that count, and their rows: all of them as a slice, else their indices."""
    rows: Any = _ALL
    least = np.minimum.reduce(i)
    if least >= 0 and (ignore < 0 or not (i == ignore).any()):
        counted = i
    else:
        rows = np.flatnonzero(i != ignore)
        counted = i[rows]
        least = np.minimum.reduce(counted) if counted.size else 0
    if counted.size and (least < 0 or np.maximum.reduce(counted) >= classes):
        wrong = counted[(counted < 0) | (counted >= classes)][0]
        raise IndexFault(int(wrong), 1, classes)
    return counted, rows


_ALL = slice(None)
_greatest: Any = np.maximum.reduce  # positional arguments, which are the quickest, have no types
_sum: Any = np.add.reduce


def _shifted(x: Array, rows: Any, wide: np.dtype) -> Array:
    """The scores of the rows less their maximum, in a fresh array."""
    x = x[rows]
    return np.subtract(x, _greatest(x, 1, None, None, True), dtype=wide)


@TABLE.row("cross_entropy_mean", FLOAT)
def _mean(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)

    def cross_entropy_mean(x: Array, i: Array, ignore: int) -> Array:
        counted, rows = _rows(i, ignore, x.shape[1])
        n = len(counted)
        d = _shifted(x, rows, wide)
        chosen = d[_count(n), counted]
        np.exp(d, d)
        each = np.log(np.add.reduce(d, 1))
        each -= chosen
        return np.asarray(np.true_divide(np.add.reduce(each), n), own)

    return quiet(cross_entropy_mean)


@TABLE.row("cross_entropy_mean_backward", FLOAT)
def _mean_backward(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)

    def cross_entropy_mean_backward(g: Array, x: Array, i: Array, ignore: int) -> Array:
        counted, rows = _rows(i, ignore, x.shape[1])
        n = len(counted)
        p = _shifted(x, rows, wide)
        np.exp(p, p)
        share = np.true_divide(g, n, dtype=wide)
        p *= np.true_divide(share, _sum(p, 1, None, None, True))
        p[_count(n), counted] -= share
        if rows is _ALL:
            return p.astype(own, copy=False)
        out = np.zeros(x.shape, own)
        out[rows] = p
        return out

    return quiet(cross_entropy_mean_backward)
