"""``matmul``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.narrow import product
from tensorbus.plugin.array_library.table import ALL, Table, quiet, with_own
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()


@TABLE.row("matmul", *ALL)
def _matmul(xp: Any, dtype: dtype) -> Kernel:
    if dtype.name != "float16" and (dtype.is_floating_point or dtype.is_complex):
        return _inexact(xp, np.dtype(dtype.name))

    def matmul(a: Array, b: Array, dtype: np.dtype, out: Array | None = None) -> Array:
        return product(xp, a, b, dtype, out)

    return quiet(matmul)


def _inexact(xp: Any, own: np.dtype) -> Kernel:
    multiply = xp.matmul

    def matmul(a: Array, b: Array, dtype: np.dtype, out: Array | None = None) -> Array:
        if dtype is own:
            return multiply(a, b, out=out)
        # Another result dtype, or a description equal to ours that is not the same object.
        return product(xp, a, b, dtype, out)

    return with_own(matmul, own, multiply)
