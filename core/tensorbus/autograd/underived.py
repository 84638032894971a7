"""Results whose derivative nobody has written: a backward pass through one is refused.

Without a history they would pass for constants, and gradients would be wrong in silence.
"""

from __future__ import annotations

import functools
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.autograd.node import name_node


def underived(
    made: list[Tensor], operands: tuple[Any, ...], error: Exception, node: str
) -> list[Tensor]:
    """New tensors, with a history that raises *error* where one of the operands has one.

    *node* is the name that PyTorch's has.
    """
    wants = [t for t in operands if isinstance(t, Tensor) and t.requires_grad]
    if not (wants and is_grad_enabled()):
        return made
    results = list(_refusing().apply(made, error, *wants))
    for t in results:
        if t.requires_grad:
            name_node(t, node)
    return results


def not_written(function: str) -> RuntimeError:
    """The error of what PyTorch's autograd does not know at all."""
    return RuntimeError(f"derivative for aten::{function} is not implemented")


@functools.cache
def _refusing() -> Any:
    from tensorbus.autograd.function import Function  # here: tensors compute without it

    class Underived(Function):
        @staticmethod
        def forward(ctx: Any, made: list[Tensor], error: Exception, *operands: Any) -> Any:
            ctx.error = error
            return tuple(made)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise ctx.error

    return Underived
