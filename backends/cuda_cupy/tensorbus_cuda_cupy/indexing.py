"""The index kernels: indices are made safe on the device first, then used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library.index import UPDATES, grid
from tensorbus_cuda_cupy.faults import Faults

Maker = Callable[[Any, dtype, Faults, int], Kernel]


def _take(xp: Any, dtype: dtype, faults: Faults, index: int) -> Kernel:
    def take(x: Array, dim: int, i: Array, wrap: bool = False) -> Array:
        return xp.take(x, faults.checked(index, i, x.shape[dim], dim, wrap), axis=dim)

    return take


def _gather(xp: Any, dtype: dtype, faults: Faults, index: int) -> Kernel:
    def gather(x: Array, dim: int, i: Array) -> Array:
        return x[grid(xp, faults.checked(index, i, x.shape[dim], dim), dim)]

    return gather


def _put(xp: Any, dtype: dtype, faults: Faults, index: int) -> Kernel:
    def put(out: Array, dim: int, i: Array, src: Array, op: str, wrap: bool = False) -> Array:
        safe = faults.checked(index, i.reshape(-1), out.shape[dim], dim, wrap)
        rows = xp.moveaxis(out, dim, 0)
        values = xp.broadcast_to(src, (*out.shape[:dim], len(safe), *out.shape[dim + 1 :]))
        _write(xp, rows, safe, xp.moveaxis(values, dim, 0), op, dtype)
        return out

    return put


def _scatter(xp: Any, dtype: dtype, faults: Faults, index: int) -> Kernel:
    def scatter(out: Array, dim: int, i: Array, src: Array, op: str) -> Array:
        safe = faults.checked(index, i, out.shape[dim], dim)
        if op == "set":
            out[grid(xp, safe, dim)] = src
            return out
        shape = out.shape
        linear = safe * 0
        for d, part in enumerate(grid(xp, safe, dim)):
            linear = linear * shape[d] + part
        flat = out.reshape(-1)
        values = xp.broadcast_to(src, i.shape).reshape(-1)
        _write(xp, flat, linear.reshape(-1), values, op, dtype)
        # Where the flat form is a copy, only the elements in question go back: the other
        # elements may be anything that a write would disturb.
        if not out.flags.c_contiguous:
            key = grid(xp, safe, dim)
            out[key] = flat.take(linear)
        return out

    return scatter


def _write(xp: Any, rows: Array, i: Array, values: Array, op: str, dtype: dtype) -> None:
    """Write *values* at ``rows[i]``; the updates apply every one of equal indices."""
    if i.size == 0:
        return
    if op == "set":
        rows[i] = values
    elif op == "add":
        _add(xp, rows, i, values, dtype)
    else:
        _by_passes(xp, rows, i, values, getattr(xp, UPDATES[op]), dtype)


def _add(xp: Any, rows: Array, i: Array, values: Array, dtype: dtype) -> None:
    """Atomic additions, in a dtype that has them."""
    wide = _WIDER.get(dtype.name)
    if wide is None:
        xp.add.at(rows, i, values)
        return
    total = rows.astype(wide)
    xp.add.at(total, i, values.astype(wide))
    rows[i] = total[i].astype(rows.dtype)


_WIDER = {
    "float16": np.float32,
    "uint8": np.int32,
    "int8": np.int32,
    "int16": np.int32,
    # Two's complement sums are the same without a sign, and atomics on 64 bits have none.
    "int64": np.uint64,
}


def _by_passes(xp: Any, rows: Array, i: Array, values: Array, function: Any, dtype: dtype) -> None:
    """The k-th occurrence of every index in the k-th pass; how many there are is read back."""
    order = xp.argsort(i, kind="stable")
    ranked = i[order]
    position = xp.arange(len(i))
    fresh = xp.concatenate((xp.ones(1, np.bool_), ranked[1:] != ranked[:-1]))
    starts = xp.cumsum(fresh) - 1
    first = xp.nonzero(fresh)[0]
    rank = position - first[starts]
    wide = rows.astype(np.float32) if dtype.name == "float16" else rows
    for k in range(int(rank.max()) + 1):
        now = order[rank == k]
        wide[i[now]] = function(wide[i[now]], values[now])
    if wide is not rows:
        rows[i] = wide[i].astype(rows.dtype)


MAKERS: dict[str, Maker] = {"take": _take, "gather": _gather, "put": _put, "scatter": _scatter}
