"""Kernels that move elements by an index, and those that make them on the host.

An index fault is raised at once, so that the host has to see the indices anyway: it turns them
into places of the storage, and the library moves elements between places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbus._base.dtypes import float32, float64, int64
from tensorbus.plugin.array_library import order
from tensorbus.plugin.array_library.index import check
from tensorbus.plugin.backend import DType
from tensorbus.plugin.immutable_arrays.boxes import NOWHERE, Box, padded

if TYPE_CHECKING:
    from tensorbus.plugin.immutable_arrays.runtime import ImmutableRuntime


def indexed(
    b: ImmutableRuntime, box: Box, dim: int, i: Box, shape: Sequence[int], wrap: bool
) -> Any:
    """The places in *box*'s storage of ``box[.., i[..], ..]``, in *shape*'s row-major order."""
    found = b.host(b.read(i), int64)[: i.size].reshape(i.shape)
    check(found, box.shape[dim], dim, wrap)
    found = np.where(found < 0, found + box.shape[dim], found)
    if len(i.shape) != len(shape) or i.shape != tuple(shape):  # whole slices
        found = found.reshape([-1 if d == dim else 1 for d in range(len(shape))])
    place = found * box.strides[dim] + box.offset
    for d, n in enumerate(shape):
        if d != dim:
            column = [-1 if e == d else 1 for e in range(len(shape))]
            place = place + (np.arange(n) * box.strides[d]).reshape(column)
    flat = np.broadcast_to(place, shape).reshape(-1)
    return b.array(padded(flat, b.capacity(len(flat)), NOWHERE), int64)


def slices(box: Box, dim: int, i: Box) -> tuple[int, ...]:
    """The shape of as many slices of *box* as there are indices."""
    return (*box.shape[:dim], i.shape[0], *box.shape[dim + 1 :])


def _picked(b: ImmutableRuntime, x: Box, index: Any, shape: Sequence[int]) -> Box:
    flat = b.contents(x.storage, x.dtype)
    return b.boxed(b.pick(flat, index, b.number(0, x.dtype)), shape)


def take(b: ImmutableRuntime, x: Box, dim: int, i: Box, wrap: bool = False) -> Box:
    shape = slices(x, dim, i)
    return _picked(b, x, indexed(b, x, dim, i, shape, wrap), shape)


def gather(b: ImmutableRuntime, x: Box, dim: int, i: Box) -> Box:
    return _picked(b, x, indexed(b, x, dim, i, i.shape, False), i.shape)


def put(
    b: ImmutableRuntime, out: Box, dim: int, i: Box, src: Box, op: str, wrap: bool = False
) -> Box:
    shape = slices(out, dim, i)
    return _written(b, out, indexed(b, out, dim, i, shape, wrap), src, shape, op)


def scatter(b: ImmutableRuntime, out: Box, dim: int, i: Box, src: Box, op: str) -> Box:
    return _written(b, out, indexed(b, out, dim, i, i.shape, False), src, i.shape, op)


def _written(
    b: ImmutableRuntime, out: Box, index: Any, src: Box, shape: tuple[int, ...], op: str
) -> Box:
    dtype, values = out.dtype, b.read(src.expanded(shape) if src.shape else src)
    half = dtype.is_floating_point and dtype.itemsize == 2 and op != "set"
    with out.storage.lock:
        old = b.contents(out.storage, dtype)
        if half:  # added up in float32 and rounded once; what is not indexed keeps its bits
            total = b.cast(old, dtype, float32), index, b.cast(values, dtype, float32)
            sums = b.pick(b.placed(*total, op), index, b.number(0, float32))
            values, op = b.cast(sums, float32, dtype), "set"
        out.storage.held = b.placed(old, index, values, op), dtype
    return out


# -- made on the host ------------------------------------------------------------------------
_ARANGE: Any = order.TABLE["arange"](np, int64)
_RANDOM_BITS: Any = order.TABLE["random_bits"](np, int64)


def arange(b: ImmutableRuntime, n: int, start: float, step: float, dtype: DType) -> Box:
    whole = isinstance(start, int) and isinstance(step, int) and not dtype.is_floating_point
    work = int64 if whole else float64
    made = b.from_host(_ARANGE(n, start, step, np.dtype(work.name)), work, 0)
    return b.boxed(b.cast(b.read(made), work, dtype), (n,))


def random_bits(b: ImmutableRuntime, key: tuple[int, int], offset: int, n: int) -> Box:
    return b.from_host(_RANDOM_BITS(key, offset, n), int64, 0)


KERNELS = {f.__name__: f for f in (take, gather, put, scatter, arange, random_bits)}
"""Kernels that no function of the library is asked for."""
