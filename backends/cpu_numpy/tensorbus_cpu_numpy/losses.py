"""Cross-entropy of class scores, forward and backward, without an array of log-probabilities."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, IndexFault, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.index import greatest
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy.loops import are_many, blocks
from tensorbus_cpu_numpy.probabilities import exponentials

TABLE = Table()


@functools.lru_cache(maxsize=64)
def _starts(n: int, classes: int) -> Array:
    """Where each row begins in the flat scores."""
    made = np.arange(0, n * classes, classes)
    made.setflags(write=False)
    return made


@functools.lru_cache(maxsize=64)
def _ones(n: int, dtype: np.dtype) -> Array:
    made = np.ones(n, dtype)
    made.setflags(write=False)
    return made


def _places(shape: tuple[int, ...], counted: Array) -> Array:
    """Where each row's class is in the flat scores."""
    return _starts(*shape) + counted


def _picked(x: Array, counted: Array) -> Array:
    """The score of each row's class."""
    if x.flags.c_contiguous:
        return x.take(_places(x.shape, counted))
    return x[_starts(len(x), 1), counted]


def _rows(i: Array, ignore: int, classes: int) -> tuple[Array, Any]:
    """The class numbers that count, and their rows: all of them as a slice, else their indices."""
    rows: Any = _ALL
    if ignore < 0 and greatest(i.view(_UNSIGNED)) < classes:  # as most are: none is below 0
        return i, rows
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
_UNSIGNED = np.dtype(np.uint64)
_SUMMED = 1024
"""So many numbers BLAS sums well, in 16 or more lanes."""
_maximum: Any = np.maximum.reduce  # positional arguments, which are the quickest, have no types


def _parts(x: Array, n: int) -> Iterable[slice]:
    """The counted rows, all of them or, where there are many elements, so many as are cached."""
    return blocks(x[:n]) if are_many(x) else (_ALL,)


def _spread(a: Array, rows: Array, n: int, fill: float) -> Array:
    """What the counted rows have, for all *n*."""
    made = np.full(n, fill, a.dtype)
    made[rows] = a
    return made


def cross_entropy(
    x: Array, i: Array, w: Array | None, ignore: int, smoothing: float, reduction: str
) -> Any:
    """The loss, and of each row a *top* that no overflow hangs on and the sum of ``exp(x - top)``.

    That is 0 where it may be, else the maximum; rows that do not count have infinity, and what is
    computed with it is 0.
    """
    if not x.size:
        return NotImplemented
    n, classes = x.shape
    counted, rows = _rows(i, ignore, classes)
    shares = None if w is None else w[counted]
    many = are_many(x)
    found = []
    if not (many or smoothing or shares is not None or rows is not _ALL):  # as a few rows are
        each, _, _, top, total = _losses(x, counted, many)
        return _reduced(each, x, len(counted), reduction), top, total
    for part in _parts(x, len(counted)):
        scores = x[part] if rows is _ALL else x[rows[part]]
        loss, centred, logarithms, *statistics = _losses(scores, counted[part], many)
        if shares is not None:
            loss *= shares[part]
        if smoothing:
            spread = _below(centred, logarithms, w)
            loss = loss * (1 - smoothing) + spread * (smoothing / classes)
        found.append((loss, *statistics))
    if len(found) > 1:
        each, top, total = (np.concatenate(parts) for parts in zip(*found, strict=True))
    else:
        each, top, total = found[0]
    if rows is not _ALL:
        top, total = _spread(top, rows, n, np.inf), _spread(total, rows, n, 1)
    if reduction == "none":
        each = each.astype(x.dtype, copy=False)
        return each if rows is _ALL else _spread(each, rows, n, 0), top, total
    count = len(counted) if shares is None else np.add.reduce(shares)
    return _reduced(each, x, count, reduction), top, total


def _reduced(each: Array, x: Array, count: Any, reduction: str) -> Array:
    if reduction == "none":
        return each
    loss = each.dot(_ones(len(each), each.dtype)) if len(each) <= _SUMMED else np.add.reduce(each)
    loss = loss / count if reduction == "mean" else loss
    return loss if loss.dtype is x.dtype else np.asarray(loss, x.dtype)


def _losses(x: Array, counted: Array, many: bool) -> tuple[Array, Array, Array, Array, Array]:
    """The loss of each of some rows, what it is the difference of, and the statistics."""
    if many:
        made = np.empty_like(x)
        sums = exponentials(x, made)
        if sums is not None:
            # In float64 the difference loses no digits where one class is nearly sure.
            logarithms = np.log(sums, dtype=np.float64)
            return logarithms - _picked(x, counted), x, logarithms, np.zeros_like(sums), sums
    top = _maximum(x, 1, None, None, True)
    d = np.subtract(x, top)
    e, classes = np.exp(d), x.shape[1]
    sums = e.dot(_ones(classes, e.dtype)) if classes <= _SUMMED else np.add.reduce(e, 1)
    logarithms = np.log(sums)
    return logarithms - _picked(d, counted), d, logarithms, top[:, 0], sums


def _below(x: Array, level: Array, w: Array | None) -> Array:
    """The sum of ``(level - x) * w`` along the rows."""
    if w is None:
        return level * x.shape[1] - np.add.reduce(x, 1)
    return level * np.add.reduce(w, dtype=np.float64) - np.vecdot(x, w)


def cross_entropy_backward(
    g: Array,
    x: Array,
    i: Array,
    w: Array | None,
    top: Array,
    total: Array,
    ignore: int,
    smoothing: float,
    reduction: str,
) -> Any:
    """The derivative of ``cross_entropy`` for *x*, times *g*."""
    if not x.size:
        return NotImplemented
    classes = x.shape[1]
    counted, rows = _rows(i, ignore, classes)
    n = len(counted)
    own: Any = g
    shares = None if w is None else w[counted]
    if reduction == "none":
        own = g[rows]
    elif reduction == "mean":
        own = g / (n if shares is None else np.add.reduce(shares))
    if smoothing:
        of_all = np.broadcast_to(own * np.array(smoothing / classes, x.dtype), (n,))
    if shares is not None:
        own = own * shares
    every = own
    if smoothing:
        own = own * np.array(1 - smoothing, x.dtype)
        every = own + of_all * np.array(classes if w is None else np.add.reduce(w), x.dtype)
    every = every / total[rows]
    made = np.empty((n, classes), x.dtype)
    for part in _parts(x, n):
        y = made[part]
        at = part if rows is _ALL else rows[part]
        centred = are_many(x) and not top[at].any()
        np.exp(x[at] if centred else np.subtract(x[at], top[at, None], y), y)
        y *= every[part, None]
        if smoothing:
            y -= of_all[part, None] if w is None else of_all[part, None] * w
        flat, places = y.reshape(-1), _places(y.shape, counted[part])
        flat[places] = flat.take(places) - (own[part] if own.ndim else own)
    if rows is _ALL:
        return made
    out = np.zeros(x.shape, x.dtype)
    out[rows] = made
    return out


def _offer(op: str, function: Kernel) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return quiet(may_decline(function)) if dtype.itemsize > 2 else None

    TABLE.add(op, (FLOAT,), maker)


_offer("cross_entropy", cross_entropy)
_offer("cross_entropy_backward", cross_entropy_backward)
