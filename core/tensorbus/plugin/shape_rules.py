"""The shape of each primitive's result from what it is called with: ``Primitive.shape``.

An operand is anything with ``.shape``; what has none, a number among the operands of a pointwise
primitive, is passed over. A rule never looks at values, so that it serves results of no elements,
the device ``meta`` and plugins alike.
"""

from __future__ import annotations

from typing import Any

from tensorbus._base.size import broadcast_shapes

Shape = tuple[int, ...]


def broadcast(*operands: Any) -> Shape:
    """The shape that all arrays broadcast to; RuntimeError where there is none."""
    return tuple(broadcast_shapes(*(tuple(x.shape) for x in operands if hasattr(x, "shape"))))


def reduced(x: Any, dims: Any, *_: Any) -> Shape:
    """The first operand's without the dimensions that are reduced."""
    gone = dims if isinstance(dims, tuple) else (dims,)
    return tuple(n for d, n in enumerate(x.shape) if d not in gone)


def same(x: Any, *_: Any) -> Shape:
    """The first operand's."""
    return tuple(x.shape)


def product(a: Any, b: Any, *_: Any) -> Shape:
    """Of matrices: batch dimensions broadcast; ValueError where the inner sizes differ."""
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"no product of matrices of {tuple(a.shape)} and {tuple(b.shape)}")
    return (*broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])), a.shape[-2], b.shape[-1])


def taken(x: Any, dim: int, i: Any, *_: Any) -> Shape:
    """One dimension as long as the index."""
    return (*x.shape[:dim], i.shape[0], *x.shape[dim + 1 :])


def of_index(x: Any, dim: int, i: Any) -> Shape:
    """The index's."""
    return tuple(i.shape)


def counted(n: int, *_: Any) -> Shape:
    """One dimension of the size that comes first."""
    return (n,)


def counted_last(key: Any, offset: int, n: int) -> Shape:
    """One dimension of the size that comes last."""
    return (n,)
