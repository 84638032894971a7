"""Cross-entropy of class scores, forward and backward, without an array of log-probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, IndexFault, Kernel, dtype
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT

TABLE = Table()


def _rows(i: Array, ignore: int, classes: int) -> Any:
    """The rows that count: all of them as a slice, else their numbers."""
    if not (i == ignore).any():
        counted, rows = i, slice(None)
    else:
        rows = np.flatnonzero(i != ignore)
        counted = i[rows]
    if counted.size and (counted.min() < 0 or counted.max() >= classes):
        wrong = counted[(counted < 0) | (counted >= classes)][0]
        raise IndexFault(int(wrong), 1, classes)
    return counted, rows


@TABLE.row("cross_entropy_mean", FLOAT)
def _mean(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)

    def cross_entropy_mean(x: Array, i: Array, ignore: int) -> Array:
        counted, rows = _rows(i, ignore, x.shape[1])
        n = len(counted)
        d = np.subtract(x[rows], x[rows].max(1, keepdims=True), dtype=wide)
        chosen = d[np.arange(n), counted]
        np.exp(d, d)
        total = np.log(d.sum(1)).sum() - chosen.sum()
        return np.asarray(np.true_divide(total, n), own)

    return quiet(cross_entropy_mean)


@TABLE.row("cross_entropy_mean_backward", FLOAT)
def _mean_backward(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)

    def cross_entropy_mean_backward(g: Array, x: Array, i: Array, ignore: int) -> Array:
        counted, rows = _rows(i, ignore, x.shape[1])
        n = len(counted)
        p = np.subtract(x[rows], x[rows].max(1, keepdims=True), dtype=wide)
        np.exp(p, p)
        p *= np.true_divide(np.true_divide(g, n, dtype=wide), p.sum(1, keepdims=True))
        p[np.arange(n), counted] -= np.true_divide(g, n, dtype=wide)
        if n == len(x):
            return p.astype(own, copy=False)
        out = np.zeros(x.shape, own)
        out[rows] = p
        return out

    return quiet(cross_entropy_mean_backward)
