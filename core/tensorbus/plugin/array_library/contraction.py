"""``matmul``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.table import ALL, Table, into, quiet
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()


@TABLE.row("matmul", *ALL)
def _matmul(xp: Any, dtype: dtype) -> Kernel:
    if dtype.name == "float16":
        return quiet(_half(xp))
    if dtype.is_floating_point or dtype.is_complex:
        return _inexact(xp, np.dtype(dtype.name))
    return _integers(xp)


def _inexact(xp: Any, own: np.dtype) -> Kernel:
    product = xp.matmul

    def matmul(a: Array, b: Array, dtype: np.dtype, out: Array | None = None) -> Array:
        if dtype is own:
            return product(a, b, out=out)
        # Another result dtype, or a description equal to ours that is not the same object.
        return product(a.astype(dtype, copy=False), b.astype(dtype, copy=False), out=out)

    return matmul


def _half(xp: Any) -> Kernel:
    def matmul(a: Array, b: Array, dtype: np.dtype, out: Array | None = None) -> Array:
        wide = np.float32 if dtype.itemsize == 2 else dtype
        return into(out, xp.matmul(a.astype(wide), b.astype(wide)).astype(dtype, copy=False))

    return matmul


def _integers(xp: Any) -> Kernel:
    def matmul(a: Array, b: Array, dtype: np.dtype, out: Array | None = None) -> Array:
        return into(out, xp.matmul(a.astype(dtype, copy=False), b.astype(dtype, copy=False)))

    return matmul
