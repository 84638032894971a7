"""Gradients that travel together: flat tensors with a slice for each parameter's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.rows.layouts import is_dense

FIRST_BYTES = 1 << 20
"""The size of the first bucket: it is small, so that the first reduction starts soon."""


class Bucket:
    """One flat tensor; ``views[i]`` has the shape and strides of ``params[i]``'s gradient."""

    def __init__(self, index: int, indices: list[int], params: Sequence[Tensor]):
        self.index, self.indices = index, indices
        self.params = [params[i] for i in indices]
        self.missing = len(indices)
        """How many gradients have not come in this backward pass."""
        self.work: Any = None
        first = self.params[0]
        count = sum(p.numel() for p in self.params)
        self.flat = tensorbus.zeros(count, dtype=first.dtype, device=first.device)
        self.views = self.views_of(self.flat)

    def views_of(self, flat: Tensor) -> list[Tensor]:
        """The gradients in a flat tensor of this bucket's size."""
        views, at = [], 0
        with tensorbus.no_grad():
            for p in self.params:
                views.append(_view_like(flat[at : at + p.numel()], p))
                at += p.numel()
        return views


def _view_like(flat: Tensor, param: Tensor) -> Tensor:
    """The elements in the parameter's shape, and in its order of dimensions where it is dense."""
    shape, strides = tuple(param.shape), tuple(param.stride())
    if param.is_contiguous() or not is_dense(shape, strides):
        return flat.view(shape)
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    back = sorted(range(len(shape)), key=lambda i: order[i])
    return flat.view([shape[d] for d in order]).permute(back)


def assign(params: Sequence[Tensor], limits: Sequence[int]) -> list[Bucket]:
    """Buckets in the order in which gradients are expected: the last parameter's first.

    A bucket has gradients of one dtype and device and is full when its size reaches its limit in
    bytes; the last limit holds for all that follow.
    """
    closed: list[list[int]] = []
    open_: dict[Any, tuple[list[int], int, int]] = {}
    used: dict[Any, int] = {}
    for i in reversed(range(len(params))):
        p = params[i]
        key = (p.dtype, p.device)
        if key not in open_:
            turn = used[key] = used.get(key, -1) + 1
            open_[key] = ([], 0, limits[min(turn, len(limits) - 1)])
        indices, size, limit = open_.pop(key)
        indices.append(i)
        size += p.numel() * p.element_size()
        if size >= limit:
            closed.append(indices)
        else:
            open_[key] = (indices, size, limit)
    closed += [indices for indices, _, _ in open_.values()]
    # All gradients of a bucket must have come before it can go: its earliest parameter says when.
    closed.sort(key=lambda indices: -min(indices))
    return [Bucket(n, indices, params) for n, indices in enumerate(closed)]
