"""``take``, ``gather``, ``put`` and ``scatter``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus._base.float_warnings import quietly
from tensorbus.plugin.array_library.table import ALL, Table
from tensorbus.plugin.array_library.views import _WHOLE
from tensorbus.plugin.backend import Array, Kernel
from tensorbus.plugin.faults import IndexFault

TABLE = Table()

UPDATES = {"add": "add", "mul": "multiply", "amax": "maximum", "amin": "minimum"}
"""The module's function for each ``op`` of ``put`` and ``scatter`` but ``set``."""


def greatest(i: Array) -> Any:
    """The greatest of some indices. In NumPy a search begins in a fifth of a reduction's time."""
    return i.item(i.argmax()) if type(i) is np.ndarray else i.max()


def _least(i: Array) -> Any:
    return i.item(i.argmin()) if type(i) is np.ndarray else i.min()


def check(i: Array, n: int, dim: int, wrap: bool = False) -> None:
    """Raise ``IndexFault`` for the first index outside ``0..n-1``, or ``-n..n-1`` with *wrap*."""
    if i.size == 0:
        return
    low = -n if wrap else 0
    # One pass for both ends where it can be: a negative number is a huge one without its sign.
    if greatest(i) < n and _least(i) >= low if wrap else greatest(i.view(np.uint64)) < n:
        return
    flat = i.reshape(-1)
    bad = flat[(flat < low) | (flat >= n)]
    raise IndexFault(int(bad[0]), dim, n)


@TABLE.row("take", *ALL)
def _take(xp: Any, dtype: dtype) -> Kernel:
    def take(x: Array, dim: int, i: Array, wrap: bool = False) -> Array:
        check(i, x.shape[dim], dim, wrap)
        # The module's ``take`` first copies the whole of an array that is not contiguous.
        if x.flags.c_contiguous:
            return x.take(i, dim)
        return x[_WHOLE[dim] + (i,)]

    return take


@TABLE.row("put", *ALL)
def _put(xp: Any, dtype: dtype) -> Kernel:
    half = dtype.name == "float16"

    def put(out: Array, dim: int, i: Array, src: Array, op: str, wrap: bool = False) -> Array:
        n = out.shape[dim]
        check(i, n, dim, wrap)
        if op == "set":
            out[_WHOLE[dim] + (i,)] = src
            return out
        rows = out if dim == 0 else xp.moveaxis(out, dim, 0)
        if getattr(src, "ndim", 0) > 0 and dim:
            src = xp.moveaxis(src, dim, 0)
        update(xp, rows, i, src, op, half)
        return out

    return put


def update(xp: Any, out: Array, key: Any, src: Array, op: str, half: bool) -> None:
    """Apply every one of *src* at *key*, float16 by way of float32."""
    quietly(_update, getattr(xp, UPDATES[op]), out, key, src, half)


def _update(function: Any, out: Array, key: Any, src: Array, half: bool) -> None:
    if not half:
        function.at(out, key, src)
        return
    wide = out.astype(np.float32)
    function.at(wide, key, src)
    out[key] = wide[key]


@TABLE.row("gather", *ALL)
def _gather(xp: Any, dtype: dtype) -> Kernel:
    def gather(x: Array, dim: int, i: Array) -> Array:
        check(i, x.shape[dim], dim)
        return x[grid(xp, i, dim)]

    return gather


@TABLE.row("scatter", *ALL)
def _scatter(xp: Any, dtype: dtype) -> Kernel:
    half = dtype.name == "float16"

    def scatter(out: Array, dim: int, i: Array, src: Array, op: str) -> Array:
        check(i, out.shape[dim], dim)
        key = grid(xp, i, dim)
        if op == "set":
            out[key] = src
        else:
            update(xp, out, key, src, op, half)
        return out

    return scatter


def grid(xp: Any, i: Array, dim: int) -> tuple[Array, ...]:
    """The key that puts *i* at *dim* and each element's own indices at the other dims."""
    key = []
    for d, n in enumerate(i.shape):
        shape = [1] * i.ndim
        shape[d] = n
        key.append(i if d == dim else xp.arange(n).reshape(shape))
    return tuple(key)
