"""The largest and the least elements along a dimension, without sorting the others.

A bound is found first: the k-th largest of the largest elements of parts of a row is reached by at
least k elements of that row. Those that reach it are few, and they alone are sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import FLOAT, INTEGER
from tensorbus_cpu_numpy.ordering import counted_order, sorted_order, stable_order

TABLE = Table()

_SMALL = 2048
"""Below so many elements sorting them all costs less than the calls."""
_BLOCK = 1 << 18
"""Elements of the rows that are searched together: they stay in the cache."""
_PARTS = 512
"""At least so many parts of a row: neighbours in memory that one instruction compares."""
_WIDE = ("float32", "float64", "int8", "uint8", "int16", "int32", "int64")


def _last(x: Array, dim: int) -> Array:
    """A contiguous matrix of the lines along *dim*."""
    lines = np.moveaxis(x, dim, -1)
    return np.ascontiguousarray(lines).reshape(-1, x.shape[dim])


def _unfolded(made: Array, x: Array, dim: int) -> Array:
    """The lines of a result where those of *x* are."""
    shape = (*x.shape[:dim], *x.shape[dim + 1 :], made.shape[-1])
    return np.ascontiguousarray(np.moveaxis(made.reshape(shape), -1, dim))


def _candidates(rows: Array, k: int, largest: bool) -> Array | None:
    """Where the *k* first of each row and few others lie in memory; None: too many, or NaN."""
    count, n = rows.shape
    parts = max(8 * k, _PARTS)
    if 2 * parts > n:
        parts = n
    taps = n // parts
    fold, reaches = (np.maximum, np.greater_equal) if largest else (np.minimum, np.less_equal)
    place = parts - k if largest else k - 1
    step = max(1, _BLOCK // n)
    found = []
    for start in range(0, count, step):
        block = rows[start : start + step]
        best = fold.reduce(block[:, : taps * parts].reshape(-1, taps, parts), 1)
        best.partition(place, 1)
        # NaN stand last: among the largest they are in the way, of the least they are none.
        if (
            rows.dtype.kind == "f"
            and np.isnan(best[:, place:] if largest else best[:, place]).any()
        ):
            return None
        hits = np.flatnonzero(reaches(block, best[:, place : place + 1]))
        if len(hits) > 4 * k * len(block) + _PARTS:
            return None
        hits += start * n
        found.append(hits)
    return np.concatenate(found)


def top_indices(x: Array, dim: int, k: int, largest: bool) -> Array:
    """The indices of the *k* largest or least elements along *dim*, in order, stable."""
    n = x.shape[dim] if x.ndim else 1
    near = None
    if k and 2 * k <= n and x.size >= _SMALL:
        rows = _last(x, dim)
        near = _candidates(rows, k, largest)
    if near is None:
        whole = sorted_order(x, dim, largest)
        return np.ascontiguousarray(whole[(slice(None),) * dim + (slice(0, k),)])
    row = near // n
    order = stable_order(rows.reshape(-1)[near], 0, largest)
    order = order[counted_order(row[order], len(rows))]
    starts = np.searchsorted(row, np.arange(len(rows)))
    chosen = near[order[starts[:, None] + np.arange(k)]]
    return _unfolded(chosen - np.arange(len(rows))[:, None] * n, x, dim)


def kth_index(x: Array, dim: int, k: int) -> Array:
    """The index of the element that stands at place *k* of the ascending stable order."""
    n = x.shape[dim] if x.ndim else 1
    if x.size < _SMALL:
        return _placed(x, dim, k)
    rows = _last(x, dim)
    step = max(1, _BLOCK // n)
    made = np.empty((len(rows), 1), np.int64)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        values = block.copy()
        values.partition(k, 1)
        value = values[:, k : k + 1]
        if rows.dtype.kind == "f" and np.isnan(value).any():
            return _placed(x, dim, k)
        before = np.count_nonzero(block < value, 1)
        row, place = np.nonzero(block == value)
        first = np.searchsorted(row, np.arange(len(block)))
        made[start : start + step, 0] = place[first + k - before]
    return _unfolded(made, x, dim)


def _placed(x: Array, dim: int, k: int) -> Array:
    whole = sorted_order(x, dim, False)
    return np.ascontiguousarray(whole[(slice(None),) * dim + (slice(k, k + 1),)])


@TABLE.row("top_indices", FLOAT, INTEGER)
def _top_indices(xp: Any, dtype: dtype) -> Kernel | None:
    return top_indices if dtype.name in _WIDE else None


@TABLE.row("kth_index", FLOAT, INTEGER)
def _kth_index(xp: Any, dtype: dtype) -> Kernel | None:
    return kth_index if dtype.name in _WIDE else None
