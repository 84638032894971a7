"""Running sums of many rows by matrix products.

Each sum of NumPy's scan waits for the one before. A product with a triangle of ones sums all parts
of a row at once, ``_PART`` elements each; then what stands before each part is added to it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.reductions import TABLE as GENERAL
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy.loops import are_many

TABLE = Table()

_PART = 16
_TOGETHER = 1 << 18
"""Elements of the rows that are summed together."""


@functools.cache
def _triangle(dtype: np.dtype) -> Array:
    """Ones on and above the diagonal, zeros below."""
    made = np.triu(np.ones((_PART, _PART), dtype))
    made.setflags(write=False)
    return made


@TABLE.row("cumsum", FLOAT)
def _cumsum(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in ("float32", "float64"):
        return None
    plain = GENERAL["cumsum"](xp, dtype)
    assert plain is not None
    own = np.dtype(dtype.name)

    def cumsum(x: Array, dim: int, dtype: np.dtype, out: Array | None = None) -> Array:
        last = dim == x.ndim - 1 and x.flags.c_contiguous and are_many(x)
        if not last or dtype is not own or x.shape[-1] <= _PART:
            return plain(x, dim, dtype, out)
        made = np.empty(x.shape, own)
        rows, sums = x.reshape(-1, x.shape[-1]), made.reshape(-1, x.shape[-1])
        step = max(1, _TOGETHER // x.shape[-1])
        for start in range(0, len(rows), step):
            few = rows[start : start + step]
            if not _by_parts(few, sums[start : start + step]):
                plain(few, 1, own, sums[start : start + step])
        return into(out, made)

    return quiet(cumsum)


def _by_parts(rows: Array, sums: Array) -> bool:
    """Write the running sums of *rows*; False where they are not finite.

    There a product is no sum: zeros meet what comes later in a part.
    """
    count, n = rows.shape
    parts, left = divmod(n, _PART)
    if left:
        parts += 1
        padded = np.zeros((count, parts * _PART), rows.dtype)
        padded[:, :n] = rows
        rows = padded
    made = np.empty(rows.shape, rows.dtype) if left else sums
    each = made.reshape(-1, _PART)
    np.matmul(rows.reshape(-1, _PART), _triangle(rows.dtype), out=each)
    before = np.zeros((count, parts + 1))
    np.add.accumulate(each[:, -1].reshape(count, parts), 1, np.float64, before[:, 1:])
    shares = before.astype(rows.dtype, copy=False)
    if not np.isfinite(shares).all():
        return False
    each += np.repeat(shares[:, :-1].reshape(-1), _PART).reshape(-1, _PART)
    if left:
        sums[...] = made[:, :n]
    return True
