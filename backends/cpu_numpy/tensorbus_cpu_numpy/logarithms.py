"""``log1p`` of many elements by ``log``, where NumPy has no vectorised loop for it.

Without AVX-512 it calls the C library's ``log1p`` for each element, which takes more than twice as
long as ``log``. What ``u = 1 + x`` loses is known exactly: ``log(u) + (x - (u - 1)) / u`` is within
two units in the last place in float64, and rounded once in float32, which is computed in float64. A
few float32 numbers are computed in float64 too, and numbers that are not finite one by one, so that
float32 results depend neither on the number of elements nor on other elements' values.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy.loops import are_many

TABLE = Table()

_PIECE = 16384
"""Elements whose steps are taken together, in the processor's caches."""


@TABLE.row("log1p", FLOAT)
def _log1p(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.itemsize < 4 or not _one_by_one(np.dtype(dtype.name)):
        return None
    by_log = quiet(_by_log)
    few: Kernel = np.log1p
    if dtype.itemsize == 4:
        few = functools.partial(np.log1p, dtype=np.float64, casting="same_kind")

    def log1p(x: Array, out: Array | None = None) -> Array:
        if are_many(x):
            return by_log(x, out)
        return few(x, out=np.empty_like(x) if out is None else out)

    return log1p


def _one_by_one(dtype: np.dtype) -> bool:
    """Whether NumPy's loop on this processor is the one that runs on any."""
    found = np.lib.introspect.opt_func_info(func_name="^log1p$").get("log1p", {})
    loop = found.get(dtype.char * 2, {})
    return str(loop.get("current", "")).startswith("baseline")


def _by_log(x: Array, out: Array | None) -> Array:
    flat = np.ascontiguousarray(x).reshape(-1)
    made = np.empty_like(flat)
    scratch = np.empty((3, _PIECE))
    for start in range(0, flat.size, _PIECE):
        piece, result = flat[start : start + _PIECE], made[start : start + _PIECE]
        _finite(piece, result, *scratch[:, : piece.size])
        if not (np.minimum.reduce(piece) > -1.0 and np.maximum.reduce(piece) < np.inf):
            others = ~((piece > -1.0) & (piece < np.inf))
            result[others] = np.log1p(piece[others])
    return into(out, made.reshape(x.shape))


def _finite(x: Array, out: Array, wide: Array, u: Array, lost: Array) -> None:
    """The logarithms of numbers above -1 that are finite; the last three rows are float64."""
    if x.dtype != wide.dtype:
        wide[...] = x
        x = wide
    np.add(x, 1.0, u)
    np.subtract(u, 1.0, lost)
    np.subtract(x, lost, lost)
    lost /= u
    np.log(u, u)
    u += lost
    np.copysign(u, x, u)  # of -0, which the sum loses
    out[...] = u
