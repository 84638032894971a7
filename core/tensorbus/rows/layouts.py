"""The strides that results have: pointwise ops keep their inputs' order of dimensions.

Source: https://pytorch.org/docs/stable/tensor_view.html and the behaviour of PyTorch 2.13.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tensorbus._base.formats import (
    channels_last,
    channels_last_3d,
    channels_last_rank,
    contiguous_format,
)
from tensorbus._base.size import broadcast_shapes, contiguous_strides

Shape = tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def pointwise_strides(shape: Shape, *operands: tuple[Shape, Shape]) -> Shape:
    """The result's strides for operands given as (shape, strides).

    Dimensions are ordered by the first operand that orders two of them; broadcast ones say
    nothing.
    """
    rank = len(shape)
    expanded = []
    for own, strides in operands:
        lead = rank - len(own)
        expanded.append(
            [0] * lead
            + [0 if n == 1 and m != 1 else s for n, m, s in zip(own, shape[lead:], strides)]  # noqa: B905
        )
    if all(s == expanded[0] for s in expanded) and is_dense(shape, tuple(expanded[0])):
        return tuple(expanded[0])
    result, step = [0] * rank, 1
    for dim in fastest_first(shape, expanded):
        result[dim] = step
        step *= max(shape[dim], 1)
    return tuple(result)


def fastest_first(shape: Shape, operands: list[list[int]]) -> list[int]:
    """The dimensions from the innermost on, by the first operand's strides that order two."""
    rank = len(shape)
    order = list(reversed(range(rank)))
    for i in range(1, rank):
        moving = i
        for other in reversed(range(i)):
            verdict = _compare(order[other], order[moving], shape, operands)
            if verdict > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif verdict < 0:
                break
    return order


def _compare(inner: int, outer: int, shape: Shape, operands: list[list[int]]) -> int:
    """Above 0 if *inner* should be the outer of the two, below if not, 0 where nobody knows."""
    for strides in operands:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether the elements fill their memory without gaps or overlaps, in some order."""
    expected = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= n
    return True


def channels_last_strides(shape: Shape) -> Shape:
    """The strides of a dense tensor whose dimension 1, the channels, lies innermost."""
    order = (0, *range(2, len(shape)), 1)
    inner = contiguous_strides(tuple(shape[d] for d in order))
    return tuple(inner[order.index(d)] for d in range(len(shape)))


def column_major_strides(shape: Shape) -> Shape:
    """The strides of dense matrices that lie column by column, one after the other.

    >>> column_major_strides((2, 3, 4))
    (12, 1, 3)
    """
    *batch, m, n = shape
    *outer, columns, _ = contiguous_strides((*batch, n, m))
    return (*outer, 1, columns)


def strides_in_format(format: Any, shape: Shape, strides: Shape | None = None) -> Shape:
    """The strides of a new tensor in a memory format; *strides* are those of one it is like.

    None and ``preserve_format`` keep the order of dimensions of that one. RuntimeError where the
    format is for tensors of another rank.
    """
    rank = channels_last_rank(format)
    if rank:
        if len(shape) != rank:
            name = repr(format).removeprefix("torch.")
            raise RuntimeError(f"required rank {rank} tensor to use {name} format")
        return channels_last_strides(shape)
    if format is contiguous_format or (format is None and strides is None):
        return contiguous_strides(shape)
    if strides is None:
        raise RuntimeError(
            "unsupported memory format Preserve: there is no tensor whose format could be kept"
        )
    return pointwise_strides(shape, (shape, strides))


def suggested_format(shape: Shape, strides: Shape) -> Any:
    """The format with the channels last that a tensor's strides say it has, else row-major.

    Dimensions of size 1 leave more than one reading; where nothing says that the channels are
    last, they are not.
    """
    format = {4: channels_last, 5: channels_last_3d}.get(len(shape))
    if format is None or strides[1] == 0:
        return contiguous_format
    least = 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if not shape[d] or strides[d] < least or (d == 0 and least == strides[1]):
            return contiguous_format
        least = strides[d] * shape[d]
    return format


def in_format(format: Any, shape: Shape, strides: Shape) -> bool:
    """Whether the elements lie in a memory format without gaps; sizes of 1 have any stride."""
    rank = channels_last_rank(format)
    if rank and len(shape) != rank:
        return False
    wanted = channels_last_strides(shape) if rank else contiguous_strides(shape)
    return all(n == 1 or s == w for n, s, w in zip(shape, strides, wanted, strict=True))


def empty_in_layout(kind: Any, shape: Shape, strides: Shape) -> Any:
    """A new array with dense strides in any order of dimensions."""
    if 1 in shape and 0 not in shape:  # the stride of such a dimension says nothing of the order
        return kind.as_strided(kind.empty((math.prod(shape),)), shape, strides, 0)
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    flat = kind.empty(tuple(shape[d] for d in order))
    if order == list(range(len(shape))):
        return flat
    return kind.permute(flat, tuple(order.index(d) for d in range(len(shape))))


def view_strides(shape: Shape, strides: Shape, new: Shape) -> Shape | None:
    """The strides of a view of another shape, or None where only a copy can have it.

    >>> view_strides((2, 3), (3, 1), (6,)), view_strides((2, 3), (1, 2), (6,))
    ((1,), None)
    """
    if 0 in shape:
        return contiguous_strides(new)
    result = []
    at = len(new) - 1
    block, step = 1, strides[-1] if shape else 1
    for dim in reversed(range(len(shape))):
        block *= shape[dim]
        joins = dim > 0 and (
            shape[dim - 1] == 1 or strides[dim - 1] == shape[dim] * strides[dim]
        )  # the next dimension continues this one
        if joins and shape[dim - 1] == 1 and strides[dim - 1] != shape[dim] * strides[dim]:
            # A size of 1 joins whatever its stride says; keep the inner stride for the next.
            strides = (*strides[: dim - 1], shape[dim] * strides[dim], *strides[dim:])
        if joins:
            continue
        covered = 1
        while at >= 0 and (covered < block or new[at] == 1):
            result.append(covered * step)
            covered *= new[at]
            at -= 1
        if covered != block:
            return None
        if dim > 0:
            block, step = 1, strides[dim - 1]
    while at >= 0:
        result.append(result[-1] if result else 1)
        at -= 1
    return tuple(reversed(result))


__all__ = [
    "broadcast_shapes",
    "channels_last_strides",
    "column_major_strides",
    "contiguous_strides",
    "empty_in_layout",
    "in_format",
    "is_dense",
    "pointwise_strides",
    "strides_in_format",
    "suggested_format",
    "view_strides",
]
