"""Kernels of the array library that need a word more over CuPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import ALL, ORDERED

TABLE = Table()


@TABLE.row("argsort", *ORDERED)
def _argsort(xp: Any, dtype: dtype) -> Kernel:
    def argsort(x: Array, dim: int) -> Array:
        if x.ndim == 0:
            return xp.zeros((), np.int64)
        # Adding 0 makes -0 into +0, for sorts that look at the bits.
        keys = x + x.dtype.type(0) if dtype.is_floating_point else x
        return xp.argsort(keys, axis=dim, kind="stable").astype(np.int64, copy=False)

    return argsort


@TABLE.row("expand", *ALL)
def _expand(xp: Any, dtype: dtype) -> Kernel:
    return xp.broadcast_to
