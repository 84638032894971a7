"""``gather``, ``scatter`` and ``put`` by linear offsets: one index per element, not one per dim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.index import UPDATES, check, grid
from tensorbus.plugin.array_library.table import ALL

TABLE = Table()

_FEW_PASSES = 8
_WHOLE = (slice(None),)


def linear(i: Array, dim: int, shape: tuple[int, ...]) -> Array:
    """The linear index of each element of *i*, an index of *dim*, in a contiguous array."""
    inner = math.prod(shape[dim + 1 :])
    index = i * inner if inner != 1 else i
    for d, n in enumerate(shape):
        if d != dim and n > 1:
            step = math.prod(shape[d + 1 :])
            line = [1] * len(shape)
            line[d] = i.shape[d]
            index = index + (np.arange(i.shape[d]) * step).reshape(line)
    return index


@TABLE.row("gather", *ALL)
def _gather(xp: Any, dtype: dtype) -> Kernel:
    def gather(x: Array, dim: int, i: Array) -> Array:
        check(i, x.shape[dim], dim)
        if x.flags.c_contiguous:
            return x.reshape(-1).take(linear(i, dim, x.shape))
        if x.size <= 4 * i.size:
            return x.flatten().take(linear(i, dim, x.shape))
        return x[grid(np, i, dim)]

    return gather


@TABLE.row("scatter", *ALL)
def _scatter(xp: Any, dtype: dtype) -> Kernel:
    half = dtype.name == "float16"

    def scatter(out: Array, dim: int, i: Array, src: Array, op: str) -> Array:
        check(i, out.shape[dim], dim)
        if i.size == 0:
            return out
        if op == "set":
            if out.flags.c_contiguous:
                out.reshape(-1)[linear(i, dim, out.shape)] = src
            else:
                out[grid(np, i, dim)] = src
            return out
        values = np.broadcast_to(src, i.shape).reshape(-1)
        if out.flags.c_contiguous or out.size <= 16 * i.size:
            apply(out, linear(i, dim, out.shape).reshape(-1), values, op, half)
        else:
            key = grid(np, i, dim)
            _, first, inverse = np.unique(linear(i, dim, out.shape), True, True)
            near = np.broadcast_arrays(*key)
            few = tuple([k.reshape(-1)[first] for k in near])
            touched = out[few]
            apply(touched, inverse.reshape(-1), values, op, half)
            out[few] = touched
        return out

    return scatter


def apply(out: Array, indices: Array, values: Array, op: str, half: bool) -> None:
    """Apply each of *values* at its index in the flattened *out*, in one dimension."""
    flat = out.reshape(-1) if out.flags.c_contiguous else out.flatten()
    target = flat.astype(np.float32) if half else flat
    with np.errstate(all="ignore"):
        getattr(np, UPDATES[op]).at(target, indices, values)
    if half:
        # Only the elements written: a NaN elsewhere keeps its bits.
        flat[indices] = target[indices]
    if not out.flags.c_contiguous:
        out[...] = flat.reshape(out.shape)


@TABLE.row("put", *ALL)
def _put(xp: Any, dtype: dtype) -> Kernel:
    half = dtype.name == "float16"

    def put(out: Array, dim: int, i: Array, src: Array, op: str, wrap: bool = False) -> Array:
        n = out.shape[dim]
        check(i, n, dim, wrap)
        if op == "set":
            out[_WHOLE * dim + (i,)] = src
            return out
        if i.size == 0 or out.size == 0:
            return out
        rows = np.moveaxis(out, dim, 0) if dim else out
        i = i.reshape(-1)
        if wrap:
            i = np.where(i < 0, i + n, i)
        values = np.broadcast_to(src, out.shape[:dim] + i.shape + out.shape[dim + 1 :])
        if dim:
            values = np.moveaxis(values, dim, 0)
        order = i.argsort(kind="stable")
        ranks = _ranks(i[order])
        passes = int(ranks.max()) + 1
        if passes == 1 or (passes <= _FEW_PASSES and not half and rows.ndim > 1):
            _by_passes(rows, i, values, op, order, ranks, passes)
        else:
            _by_rows(rows, i, values, op, half)
        return out

    return put


def _ranks(sorted_index: Array) -> Array:
    """How many equal indices stand before each one."""
    position = np.arange(len(sorted_index))
    starts = np.concatenate(([True], sorted_index[1:] != sorted_index[:-1]))
    return position - np.maximum.accumulate(np.where(starts, position, 0))


def _by_passes(
    rows: Array, i: Array, values: Array, op: str, order: Array, ranks: Array, passes: int
) -> None:
    """The first occurrence of every index in the first pass, the second in the second..."""
    function = getattr(np, UPDATES[op])
    with np.errstate(all="ignore"):
        for k in range(passes):
            now = order[ranks == k] if passes > 1 else slice(None)
            rows[i[now]] = function(rows[i[now]], values[now])


def _by_rows(rows: Array, i: Array, values: Array, op: str, half: bool) -> None:
    """Gather the rows in question, update them element by element, and put them back."""
    touched, inverse = np.unique(i, return_inverse=True)
    some = rows[touched]
    some = some if some.flags.c_contiguous else some.copy()
    width = some.size // len(touched)
    indices = (inverse.reshape(-1, 1) * width + np.arange(width)).reshape(-1)
    apply(some, indices, values.reshape(-1), op, half)
    rows[touched] = some
