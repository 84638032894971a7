"""``gather``, ``scatter`` and ``put`` by linear offsets: one index per element, not one per dim."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quietly
from tensorbus.plugin.array_library.index import UPDATES, check, grid
from tensorbus.plugin.array_library.table import ALL
from tensorbus_cpu_numpy import sparse
from tensorbus_cpu_numpy.loops import are_many, blocks
from tensorbus_cpu_numpy.ordering import counted_order
from tensorbus_cpu_numpy.threads import buffer

TABLE = Table()

_FEW = 32
"""So few slices are joined one after the other."""
_FEW_ROWS = 16
_FEW_STEPS = 8
"""So few rows get what is left for them one after the other, if it is more than so many values."""
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


def _by_lines(x: Array, dim: int, i: Array) -> bool:
    """Whether *i* has many elements, each an index into the line of *x* in its line's place."""
    lines = dim == x.ndim - 1 and x.shape[:-1] == i.shape[:-1] and are_many(i)
    return lines and x.size > 0 and x.flags.c_contiguous and i.flags.c_contiguous


@functools.lru_cache(maxsize=8)
def _offsets(lines: int, n: int, m: int) -> Array:
    """Where the line begins, of *n* elements each, for *m* indices of each line.

    As many as the indices: NumPy adds a column to rows at half the speed.
    """
    made = np.repeat(np.arange(0, lines * n, n), m)
    made.setflags(write=False)
    return made


def _blocks(x: Array, y: Array, i: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Some lines of *x*, flat; those of *y* in their place, and where in the lines *i* points.

    In memory indices take twice what float32 values do; these are overwritten in the cache.
    """
    n, m = x.shape[-1], i.shape[-1]
    lines, others, indices = x.reshape(-1, n), y.reshape(-1, m), i.reshape(-1, m)
    for part in blocks(indices):
        at = indices[part].reshape(-1)
        if len(at) > m:
            few, at = at, buffer("indices", at.shape, at.dtype)
            np.add(few, _offsets(len(few) // m, n, m), out=at)
        yield lines[part].reshape(-1), others[part].reshape(-1), at


@TABLE.row("gather", *ALL)
def _gather(xp: Any, dtype: dtype) -> Kernel:
    def gather(x: Array, dim: int, i: Array) -> Array:
        check(i, x.shape[dim], dim)
        if _by_lines(x, dim, i):
            made = np.empty(i.shape, x.dtype)
            for lines, into, at in _blocks(x, made, i):
                lines.take(at, out=into, mode="clip")  # else NumPy writes into a buffer first
            return made
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
        if _by_lines(out, dim, i):
            each = np.broadcast_to(src, i.shape)
            if op == "add" and sparse.add_to_lines(out, i, each):
                return out
            for lines, values, at in _blocks(out, each, i):
                apply(lines, at, values, op, half)
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
    if op != "add" or not sparse.add(target, indices, values):
        quietly(getattr(np, UPDATES[op]).at, target, indices, values)
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
        if len(i) <= _FEW and not half:
            quietly(_few_rows, rows, i, values, op)
        elif op == "add" and sparse.add(rows, i, values):
            pass
        elif rows.ndim == 1:
            _by_elements(rows, i, values, op, half)
        else:
            quietly(_by_segments, rows, i, values, op, half)
        return out

    return put


def _few_rows(rows: Array, i: Array, values: Array, op: str) -> None:
    function, places = getattr(np, UPDATES[op]), i.tolist()
    first = dict(zip(reversed(places), range(len(places) - 1, -1, -1), strict=True))
    if len(first) == len(places):
        rows[i] = function(rows[i], values)
        return
    some = list(first)
    rows[some] = function(rows[some], values[list(first.values())])
    for number, at in enumerate(places):
        if number != first[at]:
            rows[at] = function(rows[at], values[number])


def _by_segments(rows: Array, i: Array, values: Array, op: str, half: bool) -> None:
    """The first value of every row in the first step, the second in the second...

    The rows that get most values stand first, so those that get one more are always the first few.
    """
    order = counted_order(i, len(rows))
    index = i[order]
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    counts = np.diff(np.append(starts, len(i)))
    steps = int(counts.max())
    most = counted_order(steps - counts, steps)
    starts, counts, wanted = starts[most], counts[most], index[starts[most]]
    lefts = np.searchsorted(-counts, -np.arange(steps)).tolist()
    function = getattr(np, UPDATES[op])
    some = rows[wanted].astype(np.float32) if half else rows[wanted]
    # ``take`` is the quicker way, but copies the whole of what is not contiguous.
    dense = values.flags.c_contiguous
    scratch = buffer("rows", some.shape, values.dtype) if dense else None
    step = 0
    while step < steps and (lefts[step] > _FEW_ROWS or steps - step <= _FEW_STEPS):
        chosen, now = order[starts[: lefts[step]] + step], some[: lefts[step]]
        function(now, _taken(values, chosen, scratch), out=now)
        step += 1
    for row in range(lefts[step] if step < steps else 0):
        rest = values[order[starts[row] + step : starts[row] + counts[row]]]
        some[row] = function(some[row], function.reduce(rest, 0, some.dtype))
    rows[wanted] = some


def _taken(values: Array, chosen: Array, scratch: Array | None) -> Array:
    """``values[chosen]``; into *scratch*, where there is one."""
    if scratch is None:
        return values[chosen]
    return values.take(chosen, 0, scratch[: len(chosen)], "clip")


def _by_elements(row: Array, i: Array, values: Array, op: str, half: bool) -> None:
    """One number after the other."""
    touched, inverse = np.unique(i, return_inverse=True)
    some = row[touched]
    apply(some, inverse.reshape(-1), values, op, half)
    row[touched] = some
