"""Reductions and scans that CuPy's functions of the same name do not do as the contract wants."""

from __future__ import annotations

import functools
from typing import Any

import cupy
import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into
from tensorbus.plugin.array_library.reductions import accumulating
from tensorbus.plugin.array_library.table import ALL, ORDERED
from tensorbus.plugin.kernel_language.types import compute_type
from tensorbus_cuda_cupy.texts import PRELUDE

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


# CuPy's argmax gives any one of several NaN. Of equal elements, and of NaN, the first is wanted,
# in whichever order threads meet.
FIRST = """
template <class T> struct First {
    T value;
    i64 at;
    __device__ First() : value(0), at(-1) {}
    __device__ First(T v, i64 i) : value(v), at(i) {}
};
template <class T> FUNCTION First<T> first_of(First<T> a, First<T> b) {
    if (a.at < 0) return b;
    if (b.at < 0) return a;
    bool na = a.value != a.value, nb = b.value != b.value;
    if (na != nb) return na ? a : b;
    if (!na && a.value != b.value) return a.value BETTER b.value ? a : b;
    return a.at < b.at ? a : b;
}
"""


@functools.cache
def _index_kernel(dtype: dtype, sign: str) -> Any:
    kind = f"First<{compute_type(dtype)}>"
    return cupy.ReductionKernel(
        f"{dtype.name} x, int64 at", "int64 z", f"{kind}(x, at)", "first_of(a, b)", "z = a.at",
        f"{kind}()", f"tensorbus_first{'max' if sign == '>' else 'min'}", reduce_type=kind,
        preamble=PRELUDE + FIRST.replace("BETTER", sign),
    )  # fmt: skip


def _index(sign: str) -> Any:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        def index(x: Array, dim: int, out: Array | None = None) -> Array:
            if x.ndim == 0:
                return into(out, xp.zeros((), np.int64))
            places = xp.arange(x.shape[dim]).reshape((-1, *[1] * (x.ndim - dim - 1)))
            return into(out, _index_kernel(dtype, sign)(x, places, axis=dim))

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
TABLE.add("argmax", ORDERED, _index(">"))
TABLE.add("argmin", ORDERED, _index("<"))
for _op, _name in (("cumsum", "cumsum"), ("cumprod", "cumprod")):
    TABLE.add(_op, ALL, _scan(_name))
for _op, _name in (("cummax", "maximum"), ("cummin", "minimum")):
    TABLE.add(_op, ORDERED, _running(_name))
