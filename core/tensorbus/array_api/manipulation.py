"""The standard's functions that rearrange, join and index arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus import Tensor
from tensorbus.array_api._operands import Axis, dims, one_dim


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The arrays in their common shape."""
    return tuple(tensorbus.broadcast_tensors(*arrays))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of such shapes."""
    return tuple(tensorbus.broadcast_shapes(*shapes))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """x repeated to a shape."""
    return tensorbus.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays one after another along an axis; flattened first where that is None."""
    if axis is None:
        arrays, axis = [a.flatten() for a in arrays], 0
    d = arrays[0].dtype
    for a in arrays[1:]:
        d = tensorbus.promote_types(d, a.dtype)
    dims(axis, arrays[0])
    return tensorbus.cat([a.to(d) for a in arrays], axis)


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """x with new dimensions of size 1 where they are to stand in the result."""
    wanted = (axis,) if isinstance(axis, int) else axis
    rank = x.ndim + len(wanted)
    for dim in wanted:
        if not -rank <= dim < rank:
            raise IndexError(
                f"axis {dim} is out of bounds: {-rank} to {rank - 1} are allowed in the result"
            )
    for dim in sorted(dim % rank for dim in wanted):
        x = x.unsqueeze(dim)
    return x


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """x with the order of its elements reversed along some axes, or all."""
    return tensorbus.flip(x, dims(axis, x))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """x with some of its dimensions at other positions."""
    return tensorbus.moveaxis(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """x with its dimensions in another order."""
    return tensorbus.permute(x, tuple(axes))


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element, or slice along an axis, several times."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(x.device)
    return tensorbus.repeat_interleave(x, repeats, dim=axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """x in another shape of as many elements; ValueError where copy is False and one is needed."""
    if copy:
        return x.clone().reshape(tuple(shape))
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ValueError(
                f"reshape(): copy=False forbids the copy that is needed: {error}"
            ) from None
    return x.reshape(tuple(shape))


def roll(x: Tensor, /, shift: Any, *, axis: Axis = None) -> Tensor:
    """x with its elements moved on along some axes; what falls out comes in at the other end."""
    if axis == ():
        return x.clone()
    return tensorbus.roll(x, shift, axis) if axis is not None else tensorbus.roll(x, shift)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """x without some dimensions of size 1; ValueError where one has another size."""
    found = dims(axis, x)
    for dim in found:
        if x.shape[dim] != 1:
            raise ValueError(f"squeeze(): axis {dim} has size {x.shape[dim]}, not 1")
    return tensorbus.squeeze(x, found)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape side by side along a new axis."""
    d = arrays[0].dtype
    for a in arrays[1:]:
        d = tensorbus.promote_types(d, a.dtype)
    return tensorbus.stack([a.to(d) for a in arrays], axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices of x at some indices along an axis."""
    dim = one_dim(axis, x, "take")
    flat = indices.to(tensorbus.int64).reshape(-1)
    flat = tensorbus.where(flat < 0, flat + x.shape[dim], flat)
    made = tensorbus.index_select(x, dim, flat)
    return made.reshape((*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :]))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each position the element of x at an index along an axis."""
    dim = dims(axis, x)[0]
    indices = indices.to(tensorbus.int64)
    indices = tensorbus.where(indices < 0, indices + x.shape[dim], indices)
    return tensorbus.take_along_dim(x, indices, dim)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """x several times in each direction."""
    return tensorbus.tile(x, tuple(repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of x along an axis."""
    return tuple(tensorbus.unbind(x, axis))


__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip",
    "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "take",
    "take_along_axis", "tile", "unstack",
]  # fmt: skip
