"""Reductions and scans by functions: CuPy's universal functions reduce sums and products only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into
from tensorbus.plugin.array_library.reductions import accumulating
from tensorbus.plugin.array_library.table import ALL, ORDERED

TABLE = Table()


def _folding(method: str) -> Any:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        function = getattr(xp, method)

        def reduce(x: Array, dims: Any, dtype: np.dtype, out: Array | None = None) -> Array:
            return into(out, function(x, axis=dims, dtype=dtype))

        return accumulating(reduce) if dtype.is_floating_point else reduce

    return maker


def _extreme(method: str) -> Any:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        function = getattr(xp, method)
        return lambda x, dims, out=None: into(out, function(x, axis=dims))

    return maker


def _index(method: str) -> Any:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        function = getattr(xp, method)

        def index(x: Array, dim: int, out: Array | None = None) -> Array:
            return into(out, function(x, axis=dim).astype(np.int64, copy=False))

        return index

    return maker


def _scan(method: str) -> Any:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        function = getattr(xp, method)

        def scan(x: Array, dim: int, dtype: np.dtype, out: Array | None = None) -> Array:
            if x.ndim == 0:
                return into(out, x.astype(dtype))
            return into(out, function(x, axis=dim, dtype=dtype))

        return accumulating(scan) if dtype.is_floating_point else scan

    return maker


def _running(name: str) -> Any:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        better = getattr(xp, name)

        def scan(x: Array, dim: int, out: Array | None = None) -> Array:
            result = x.copy()
            if x.ndim == 0:
                return into(out, result)
            # Each round doubles the stretch that every element has seen.
            line = xp.moveaxis(result, dim, 0)
            step = 1
            while step < line.shape[0]:
                line[step:] = better(line[step:], line[:-step])
                step *= 2
            return into(out, result)

        return scan

    return maker


for _op, _name in (("sum", "sum"), ("prod", "prod")):
    TABLE.add(_op, ALL, _folding(_name))
for _op, _name in (("amax", "amax"), ("amin", "amin")):
    TABLE.add(_op, ORDERED, _extreme(_name))
for _op in ("argmax", "argmin"):
    TABLE.add(_op, ORDERED, _index(_op))
for _op in ("cumsum", "cumprod"):
    TABLE.add(_op, ALL, _scan(_op))
for _op, _name in (("cummax", "maximum"), ("cummin", "minimum")):
    TABLE.add(_op, ORDERED, _running(_name))
