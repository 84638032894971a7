"""Views with the strides that users expect, and without NumPy's slow Python wrappers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.runtime import ArrayRuntime
from tensorbus.plugin.array_library.table import ALL

TABLE = Table()


_backend = ArrayRuntime()
view, address, extent, root = (
    _backend.strided_view,
    _backend.address,
    _backend.extent,
    _backend.root,
)


@TABLE.row("expand", *ALL)
def _expand(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)
    ndarray = np.ndarray

    def expand(x: Array, shape: tuple[int, ...]) -> Array:
        old, strides = x.shape, x.strides
        if len(old) != len(shape):
            missing = len(shape) - len(old)
            old, strides = (1,) * missing + old, (0,) * missing + strides
        strides = tuple([s if n == m else 0 for s, n, m in zip(strides, old, shape, strict=True)])
        if x.flags.c_contiguous:
            return ndarray(shape, own, x, 0, strides)
        if x.flags.f_contiguous:
            return ndarray(shape, own, x.T, 0, strides)
        return view(x, tuple(shape), own, address(x) - extent(root(x))[0], strides)

    return expand


@TABLE.row("unsqueeze", *ALL)
def _unsqueeze(xp: Any, dtype: dtype) -> Kernel:
    own = np.dtype(dtype.name)

    def unsqueeze(x: Array, dim: int) -> Array:
        shape = (*x.shape[:dim], 1, *x.shape[dim:])
        if x.flags.c_contiguous:
            return x.reshape(shape)
        # Indexing by None gives a stride of 0: right for the library, but nobody expects it.
        step = x.shape[dim] * x.strides[dim] if dim < x.ndim else x.itemsize
        strides = (*x.strides[:dim], step, *x.strides[dim:])
        return view(x, shape, own, address(x) - extent(root(x))[0], strides)

    return unsqueeze
