"""Joining arrays, and finding what is not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import ALL

TABLE = Table()


@TABLE.row("concatenate", *ALL)
def _concatenate(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)

    def concatenate(arrays: list[Array], dim: int) -> Array:
        shape = list(arrays[0].shape)
        shape[dim] = sum(x.shape[dim] for x in arrays)
        # NumPy's own choice of order follows its inputs; the result is to be row-major.
        return np.concatenate(arrays, dim, np.empty(shape, own))

    return concatenate


@TABLE.row("flatnonzero", *ALL)
def _flatnonzero(xp: Any, dtype: dtype) -> Kernel:
    return lambda x: x.nonzero()[0]
