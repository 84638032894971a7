"""Gradients for a batch of gradients of the results: ``grad(..., is_grads_batched=True)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.gradient_edge import shape_of
from tensorbus.op_engine.batches import enter, in_batch, in_current_batches, leave

Gradients = tuple[Any, ...]


def by_rows(
    one: Callable[[list[Tensor], bool], Gradients],
    outputs: Sequence[Any],
    grad_outputs: Any,
    keep: bool,
) -> Gradients:
    """What *one* gives for the rows of *grad_outputs*, all at once, along a first dimension."""
    given = [grad_outputs] if isinstance(grad_outputs, Tensor | None) else list(grad_outputs)
    sizes = []
    tensors: list[Tensor] = []
    for g, out in zip(given, outputs, strict=False):
        if not isinstance(g, Tensor) or not g.dim():
            raise ValueError(
                "is_grads_batched=True takes a tensor of at least one dimension, that of the "
                f"batch, for each output, not {g if g is None else 'a tensor of no dimensions'}"
            )
        shape = shape_of(out)
        if shape is not None and g.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension: the sizes of the others must be the shape of the output, "
                f"{tuple(shape)}, but the gradient has the shape {tuple(g.shape)}."
            )
        sizes.append(g.shape[0])
        tensors.append(g)
    if len(set(sizes)) != 1:
        raise ValueError(
            f"is_grads_batched=True: the sizes of the first dimensions differ: {sizes}"
        )
    if not sizes[0]:
        raise IndexError(
            "is_grads_batched=True: the first dimension has size 0: give a row or more"
        )
    inside = [enter(in_current_batches(g), sizes[0]) for g in tensors]
    with in_batch(sizes[0], "error"):
        found = one(inside, keep)
        return tuple(None if g is None else leave(in_current_batches(g)) for g in found)
