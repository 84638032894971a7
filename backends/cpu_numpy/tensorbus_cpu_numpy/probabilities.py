"""``softmax`` and ``log_softmax``, forward and backward, in blocks of rows for the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import matrix_rows
from tensorbus_cpu_numpy.loops import are_many, blocks, by_rows, offer_of_many
from tensorbus_cpu_numpy.sums import total

TABLE = Table()


def _centred(x: Array, dim: int, wide: np.dtype) -> Array:
    """x minus its maximum along *dim*, which keeps exp in range."""
    return np.subtract(x, np.maximum.reduce(x, dim, keepdims=True), dtype=wide)


def _sum_kept(x: Array, dim: int) -> Array:
    if x.size < 2048:
        return np.add.reduce(x, dim, keepdims=True)
    summed = total(x, (dim,)).astype(x.dtype, copy=False)
    return summed.reshape(*x.shape[:dim], 1, *x.shape[dim + 1 :])


def _in_rows(x: Array, dim: int) -> bool:
    """Whether there are many elements, in memory line by line."""
    return dim == x.ndim - 1 and are_many(x) and x.flags.c_contiguous


Rows = Callable[[Array], Array]


def _offer(op: str, of_one: float, finish: Callable[[Array, int], None], of_rows: Rows) -> None:
    """Offer *op*, which is *of_one* of a single element.

    *finish* works in place on what was centred, *of_rows* on a matrix of many elements.
    """

    def maker(xp: Any, dtype: dtype) -> Kernel:
        own = np.dtype(dtype.name)
        wide = np.dtype(np.float32 if dtype.itemsize == 2 else dtype.name)

        def kernel(x: Array, dim: int) -> Array:
            if x.ndim == 0:
                return np.asarray(x * 0 + of_one, own)
            if wide is own and _in_rows(x, dim):
                return by_rows(of_rows, x.reshape(-1, x.shape[-1])).reshape(x.shape)
            result = _centred(x, dim, wide)
            finish(result, dim)
            return result.astype(own, copy=False)

        return quiet(kernel)

    TABLE.add(op, (FLOAT,), maker)


def _softmax(centred: Array, dim: int) -> None:
    np.exp(centred, centred)
    centred /= _sum_kept(centred, dim)


def _log_softmax(centred: Array, dim: int) -> None:
    centred -= np.log(_sum_kept(np.exp(centred), dim))


def exponentials(x: Array, out: Array) -> Array | None:
    """Write ``exp(x)`` into a matrix *out*; the sums of its rows, or None where x is to be centred.

    Where a sum is finite and not far below 1, quotients of what underflows are next to 0 as well.
    """
    sums = _sums_of_exponentials(x, out)
    return sums if _are_usual(sums) else None


def _sums_of_exponentials(x: Array, out: Array) -> Array:
    np.exp(x, out=out, dtype=out.dtype)
    return total(out, (1,)).astype(out.dtype, copy=False)


def _are_usual(sums: Array) -> bool:
    return bool(np.minimum.reduce(sums) >= _LEAST and np.maximum.reduce(sums) < np.inf)


_LEAST = 0.5
"""From which sum of exponentials on rows are not centred."""
_FEW = 0.25
"""So much of the rows may be computed twice."""


def _softmax_of_rows(rows: Array) -> Array:
    made = np.empty_like(rows)
    direct = True
    for part in blocks(rows):
        x, y = rows[part], made[part]
        if direct:
            sums = _sums_of_exponentials(x, y)
            if not _are_usual(sums):
                # In causal attention these are the first few rows, which have few terms.
                unusual = np.flatnonzero(~((sums >= _LEAST) & (sums < np.inf)))
                direct = len(unusual) <= _FEW * len(sums)
                if direct:
                    y[unusual], sums[unusual] = _centred_exponentials(x[unusual])
        if not direct:
            _, sums = _centred_exponentials(x, y)
        y /= sums[:, None]
    return made


def _centred_exponentials(x: Array, out: Array | None = None) -> tuple[Array, Array]:
    """``exp(x - max(x))`` of each row, and the sums."""
    made = np.subtract(x, np.maximum.reduce(x, 1, keepdims=True), out=out)
    return made, _sums_of_exponentials(made, made)


def _log_softmax_of_rows(rows: Array) -> Array:
    made = np.empty_like(rows)
    for part in blocks(rows):
        y = made[part]
        np.subtract(rows[part], np.maximum.reduce(rows[part], 1, keepdims=True), out=y)
        y -= np.log(total(np.exp(y), (1,)).astype(y.dtype, copy=False))[:, None]
    return made


_offer("softmax", 1.0, _softmax, _softmax_of_rows)
_offer("log_softmax", 0.0, _log_softmax, _log_softmax_of_rows)


def softmax_backward(g: Array, out: Array, dim: int) -> Array:
    """``out * (g - sum(g * out))``, as a difference of products."""
    return _of_rows(_softmax_backward, g, out, dim)


def _softmax_backward(g: Array, out: Array) -> Array:
    made = np.empty_like(g)
    for part in blocks(g):
        y = made[part]
        np.multiply(g[part], out[part], out=y)
        sums = total(y, (1,)).astype(y.dtype, copy=False)
        matrix_rows.add_scaled(y, np.negative(sums, sums), out[part])
    return made


def log_softmax_backward(g: Array, out: Array, dim: int) -> Array:
    """``g - exp(out) * sum(g)``."""
    return _of_rows(_log_softmax_backward, g, out, dim)


def _log_softmax_backward(g: Array, out: Array) -> Array:
    made = np.empty_like(g)
    for part in blocks(g):
        y = made[part]
        np.exp(out[part], out=y)
        y *= total(g[part], (1,)).astype(y.dtype, copy=False)[:, None]
        np.subtract(g[part], y, out=y)
    return made


def _of_rows(function: Any, g: Array, out: Array, dim: int) -> Array:
    if not _in_rows(out, dim):
        return NotImplemented
    n = out.shape[-1]
    made = by_rows(function, np.ascontiguousarray(g).reshape(-1, n), out.reshape(-1, n))
    return made.reshape(out.shape)


offer_of_many(TABLE, "softmax_backward", softmax_backward)
offer_of_many(TABLE, "log_softmax_backward", log_softmax_backward)
