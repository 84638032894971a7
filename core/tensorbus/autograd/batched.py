"""Gradients for a batch of gradients of the results: ``grad(..., is_grads_batched=True)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._base.registered import stack_tensors
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.gradient_edge import shape_of

Gradients = tuple[Any, ...]


def by_rows(
    one: Callable[[list[Tensor], bool], Gradients],
    outputs: Sequence[Any],
    grad_outputs: Any,
    keep: bool,
) -> Gradients:
    """What *one* gives for each row of *grad_outputs*, stacked along a first dimension."""
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
    rows = [one([g[i] for g in tensors], keep or i + 1 < sizes[0]) for i in range(sizes[0])]
    return tuple(None if None in each else stack_tensors(each) for each in zip(*rows, strict=True))
