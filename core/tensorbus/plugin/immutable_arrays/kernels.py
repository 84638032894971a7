"""Kernels that compute: boxes in, a function of the library between, a box out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbus._base.dtypes import float32, int64
from tensorbus._base.float_warnings import quietly
from tensorbus._base.size import broadcast_shapes, contiguous_strides
from tensorbus.plugin.backend import DType
from tensorbus.plugin.immutable_arrays.boxes import Box, Storage, places
from tensorbus.plugin.primitives import REDUCTIONS, SCANS

if TYPE_CHECKING:
    from tensorbus.plugin.immutable_arrays.runtime import ImmutableRuntime

Function = Callable[..., Any]


def into(b: ImmutableRuntime, out: Box | None, flat: Any, shape: Sequence[int]) -> Box:
    """A new box with *flat*, or *out* after that was written into it."""
    if out is None:
        return b.boxed(flat, shape)
    b.write(out, flat)
    return out


# -- pointwise -------------------------------------------------------------------------------
def pointwise(
    b: ImmutableRuntime, op: str, function: Function, *operands: Box, out: Box | None = None
) -> Box:
    """Arrays of one length, and numbers as arrays of one element."""
    shapes = {x.shape for x in operands}
    shape = shapes.pop() if len(shapes) == 1 else tuple(broadcast_shapes(*shapes))
    flats = [b.read(x.expanded(shape) if x.shape else x) for x in operands]
    return quietly(lambda: into(b, out, function(*flats), shape))


# -- lines of a matrix -----------------------------------------------------------------------
def extremes(d: DType) -> tuple[Any, Any]:
    """The least and the greatest value of a dtype."""
    if d.is_floating_point:
        return -np.inf, np.inf
    if d.name == "bool":
        return False, True
    bits = d.bits - d.is_signed
    return -(1 << bits) if d.is_signed else 0, (1 << bits) - 1


def neutral(op: str, d: DType) -> Any:
    """What stands behind the end of a line and changes no result; of scans it comes too late."""
    if op in ("amax", "argmax"):
        return extremes(d)[0]
    if op == "argsort" and d.is_floating_point:
        return np.nan
    if op in ("amin", "argmin", "argsort"):
        return extremes(d)[1]
    return int(op == "prod")


def block(b: ImmutableRuntime, x: Box, parts: Sequence[Sequence[int]], fill: Any) -> Any:
    """*x* as an array of one dimension for each part of its own, each padded with *fill*."""
    sizes = [[x.shape[d] for d in part] for part in parts]
    rooms = [b.capacity(prod(s)) for s in sizes]
    flat = b.contents(x.storage, x.dtype)
    in_order = [d for part in parts for d in part] == list(range(len(x.shape)))
    if in_order and x.contiguous and x.offset == 0 and len(flat) == x.size == prod(rooms):
        return flat.reshape(rooms)
    index = np.full((), x.offset, np.int64)
    for part, size, room in zip(parts, sizes, rooms, strict=True):
        index = np.add.outer(index, places(size, [x.strides[d] for d in part], 0, room))
    return b.pick(flat, b.array(index, int64), b.number(fill, x.dtype))


def unblocked(b: ImmutableRuntime, made: Any, shape: Sequence[int], parts: Any) -> Any:
    """The elements of such an array in *shape*'s own order, without the padding between them."""
    strides = [0] * len(shape)
    for step, part in zip(contiguous_strides(made.shape), parts, strict=True):
        for d, inner in zip(part, contiguous_strides([shape[d] for d in part]), strict=True):
            strides[d] = step * inner
    n = prod(shape)
    if prod(made.shape) == b.capacity(n) == n and tuple(strides) == contiguous_strides(shape):
        return made.reshape(-1)
    whole = Box(Storage(made, int64, 0), int64, tuple(shape), tuple(strides), 0)
    return b.pick(made, b.index_of(whole), np.zeros((), made.dtype))


def loaded(b: ImmutableRuntime, x: Box, dtype: DType) -> Box:
    """*x* in the dtype that a kernel was told to compute."""
    if x.dtype is dtype:
        return x
    return b.boxed(b.cast(b.read(x), x.dtype, dtype), x.shape)


def wide(b: ImmutableRuntime, function: Function, dtype: DType) -> Function:
    """*function*, which keeps half widths in float32 and rounds once."""
    if dtype.itemsize > 2 or not dtype.is_floating_point:
        return function
    return lambda *xs: b.cast(function(*[b.cast(x, dtype, float32) for x in xs]), float32, dtype)


def reduction(
    b: ImmutableRuntime,
    op: str,
    function: Function,
    x: Box,
    dims: Any,
    *dtype: DType,
    out: Any = None,
) -> Box:
    """``sum`` and ``prod`` over dims to a chosen dtype, ``amax`` over dims, ``argmax`` over one."""
    if dtype:
        x = loaded(b, x, dtype[0])
        function = wide(b, function, dtype[0])
    dims = [dims] if isinstance(dims, int) else list(dims)
    kept = [d for d in range(len(x.shape)) if d not in dims]
    lines = block(b, x, (kept, dims), neutral(op, x.dtype))
    return quietly(lambda: into(b, out, function(lines), [x.shape[d] for d in kept]))


def scan(
    b: ImmutableRuntime,
    op: str,
    function: Function,
    x: Box,
    dim: int,
    *dtype: DType,
    out: Any = None,
) -> Box:
    """Scans, to a chosen dtype or not, and ``argsort``: results of the operand's shape."""
    shape = x.shape
    if dtype:
        x = loaded(b, x, dtype[0])
        function = wide(b, function, dtype[0])
    if not shape:
        x = Box(x.storage, x.dtype, (1,), (1,), x.offset)
    parts = [d for d in range(len(x.shape)) if d != dim], [dim]
    made = quietly(function, block(b, x, parts, neutral(op, x.dtype)))
    return into(b, out, unblocked(b, made, x.shape, parts), shape)


def matmul(
    b: ImmutableRuntime, op: str, function: Function, x: Box, y: Box, dtype: DType, out: Any = None
) -> Box:
    """Products of matrices, the last two dimensions; padding adds products of zeros."""
    batch = tuple(broadcast_shapes(x.shape[:-2], y.shape[:-2]))
    blocks = []
    for operand in (loaded(b, x, dtype), loaded(b, y, dtype)):
        operand = operand.expanded((*batch, *operand.shape[-2:]))
        n = len(operand.shape)
        blocks.append(block(b, operand, (range(n - 2), [n - 2], [n - 1]), 0))
    made = quietly(wide(b, function, dtype), *blocks)
    shape = (*batch, x.shape[-2], y.shape[-1])
    n = len(shape)
    return into(b, out, unblocked(b, made, shape, (range(n - 2), [n - 2], [n - 1])), shape)


FAMILY: dict[str, Function] = {
    **dict.fromkeys(REDUCTIONS, reduction),
    **dict.fromkeys([*SCANS, "argsort"], scan),
    "matmul": matmul,
}
"""How each op that is not pointwise is called."""
