"""View kernels: the array type's own methods, which are faster than a general ``as_strided``."""

from __future__ import annotations

import operator
from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.table import ALL, Table
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()

_WHOLE = tuple((slice(None),) * n for n in range(65))
"""The key of the dimensions before the one in question, by how many they are."""


@TABLE.row("permute", *ALL)
def _permute(xp: Any, dtype: dtype) -> Kernel:
    return xp.ndarray.transpose


@TABLE.row("view", *ALL)
def _view(xp: Any, dtype: dtype) -> Kernel:
    return xp.ndarray.reshape


@TABLE.row("slice", *ALL)
def _slice(xp: Any, dtype: dtype) -> Kernel:
    def narrow(x: Array, dim: int, start: int, stop: int | None, step: int) -> Array:
        if dim == 0:
            return x[start:stop:step]
        return x[_WHOLE[dim] + (slice(start, stop, step),)]

    return narrow


@TABLE.row("select", *ALL)
def _select(xp: Any, dtype: dtype) -> Kernel:
    def select(x: Array, dim: int, i: int) -> Array:
        # The Ellipsis keeps a 0-d result an array.
        return x[(*_WHOLE[dim], i, ...)]

    return select


@TABLE.row("unsqueeze", *ALL)
def _unsqueeze(xp: Any, dtype: dtype) -> Kernel:
    def unsqueeze(x: Array, dim: int) -> Array:
        if x.flags.c_contiguous:
            return x.reshape((*x.shape[:dim], 1, *x.shape[dim:]))
        return x[(*_WHOLE[dim], None, ...)]

    return unsqueeze


@TABLE.row("leading", *ALL)
def _leading(xp: Any, dtype: dtype) -> Kernel:
    return operator.getitem


@TABLE.row("transpose", *ALL)
def _transpose(xp: Any, dtype: dtype) -> Kernel:
    return xp.ndarray.swapaxes
