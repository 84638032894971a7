"""Reductions and scans."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.narrow import converted, narrow
from tensorbus.plugin.array_library.table import ALL, ORDERED, Table, into, quiet
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()


def accumulating(reduce: Kernel) -> Kernel:
    """*reduce* with half precision accumulated in float32; ``reduce(x, dims, dtype, out=None)``."""

    @quiet
    def accumulate(x: Array, dims: Any, dtype: np.dtype, out: Array | None = None) -> Array:
        way = narrow(dtype)
        if way is None:
            return reduce(x, dims, dtype, out)
        # Each element is converted as it is loaded.
        return into(out, way.narrowed(reduce(way.rounded(x), dims, np.float32, None)))

    return accumulate


_FEW = 128
"""So many terms may be added one after another, and the error stays that of pairwise sums."""


def _pairwise(xp: Any) -> Kernel:
    """Sums whose error grows with the logarithm of the number of terms.

    NumPy, and libraries that follow it, add pairwise along the last dimensions alone; others they
    add one by one.
    """

    def total(x: Array, dims: Any, dtype: Any, out: Array | None = None) -> Array:
        kept = [d for d in range(x.ndim) if d not in dims]
        terms = math.prod(x.shape[d] for d in dims)
        if terms > _FEW and not (kept == list(range(len(kept))) and x.flags.c_contiguous):
            rows = xp.ascontiguousarray(xp.transpose(x, (*kept, *dims)))
            x, dims = rows.reshape(*rows.shape[: len(kept)], terms), (len(kept),)
        return xp.add.reduce(x, dims, dtype, out)

    return total


@TABLE.row("sum", *ALL)
def _sum(xp: Any, dtype: dtype) -> Kernel:
    pairwise = accumulating(_pairwise(xp))
    if dtype.is_floating_point or dtype.is_complex:
        return pairwise

    def total(x: Array, dims: Any, dtype: Any, out: Array | None = None) -> Array:
        # Whether sums round depends on what they are kept in, not on what is added.
        return (pairwise if dtype.kind in "fc" else xp.add.reduce)(x, dims, dtype, out)

    return total


@TABLE.row("prod", *ALL)
def _prod(xp: Any, dtype: dtype) -> Kernel:
    return accumulating(xp.multiply.reduce)


# ``reduce`` takes (x, dims, ..., out=None): the kernel's own signature.
TABLE.add("amax", ORDERED, lambda xp, dtype: xp.maximum.reduce)
TABLE.add("amin", ORDERED, lambda xp, dtype: xp.minimum.reduce)


@TABLE.row("argmax", *ORDERED)
def _argmax(xp: Any, dtype: dtype) -> Kernel:
    return xp.ndarray.argmax


@TABLE.row("argmin", *ORDERED)
def _argmin(xp: Any, dtype: dtype) -> Kernel:
    return xp.ndarray.argmin


def _scan(name: str, xp: Any, dtype: dtype) -> Kernel:
    accumulate = accumulating(getattr(xp, name).accumulate)

    def scan(x: Array, dim: int, dtype: np.dtype, out: Array | None = None) -> Array:
        if x.ndim == 0:
            return into(out, converted(x, dtype))
        return accumulate(x, dim, dtype, out)

    return scan


def _running(name: str, xp: Any, dtype: dtype) -> Kernel:
    accumulate = getattr(xp, name).accumulate

    def scan(x: Array, dim: int, out: Array | None = None) -> Array:
        if x.ndim == 0:
            return into(out, x.copy())
        return accumulate(x, dim, None, out)

    return scan


TABLE.add("cumsum", ALL, lambda xp, dtype: _scan("add", xp, dtype))
TABLE.add("cumprod", ALL, lambda xp, dtype: _scan("multiply", xp, dtype))
TABLE.add("cummax", ORDERED, lambda xp, dtype: _running("maximum", xp, dtype))
TABLE.add("cummin", ORDERED, lambda xp, dtype: _running("minimum", xp, dtype))
