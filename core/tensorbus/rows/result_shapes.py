"""Shape rules of primitives: the result's shape from the operands, for results of nothing."""

from __future__ import annotations

from typing import Any

from tensorbus.rows.layouts import broadcast_shapes

Shape = tuple[int, ...]


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape")


def broadcast(*operands: Any) -> Shape:
    """The shape that all arrays broadcast to."""
    return tuple(broadcast_shapes(*(tuple(x.shape) for x in operands if _is_array(x))))


def reduced(x: Any, dims: Any) -> Shape:
    """The first operand's without the dimensions that are reduced."""
    gone = dims if isinstance(dims, tuple) else (dims,)
    return tuple(n for d, n in enumerate(x.shape) if d not in gone)


def same(x: Any, *_: Any) -> Shape:
    """The first operand's."""
    return tuple(x.shape)


def product(a: Any, b: Any) -> Shape:
    """Of matrices: batch dimensions broadcast."""
    return (*broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])), a.shape[-2], b.shape[-1])


def taken(x: Any, dim: int, i: Any, *_: Any) -> Shape:
    """One dimension as long as the index."""
    return (*x.shape[:dim], i.shape[0], *x.shape[dim + 1 :])


def of_index(x: Any, dim: int, i: Any) -> Shape:
    """The index's."""
    return tuple(i.shape)


def counted(n: int, *_: Any) -> Shape:
    """One dimension of that size."""
    return (n,)
