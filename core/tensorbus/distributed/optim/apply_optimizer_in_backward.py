"""Optimizers that step within the backward pass, each parameter when its gradient is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.module import Module
from tensorbus.optim.optimizer import Optimizer


def _apply_optimizer_in_backward(
    optimizer_class: Callable[..., Optimizer],
    params: Iterable[Tensor],
    optimizer_kwargs: dict[str, Any],
    register_hook: bool = True,
) -> None:
    """Let each parameter be stepped when its gradient has come, which is None afterwards.

    Each gets an optimizer of its own, and several where this is called again; without
    *register_hook* it is the program that steps them.
    """
    for param in params:
        first = not hasattr(param, "_in_backward_optimizers")
        if first:
            param._in_backward_optimizers = []  # type: ignore[attr-defined]
            param._optimizer_classes = []  # type: ignore[attr-defined]
            param._optimizer_kwargs = []  # type: ignore[attr-defined]
        param._in_backward_optimizers.append(  # type: ignore[attr-defined]
            optimizer_class([param], **optimizer_kwargs)
        )
        param._optimizer_classes.append(optimizer_class)  # type: ignore[attr-defined]
        param._optimizer_kwargs.append(optimizer_kwargs)  # type: ignore[attr-defined]
        if register_hook and first:
            param.register_post_accumulate_grad_hook(_stepped)


def _stepped(param: Tensor) -> None:
    for optimizer in param._in_backward_optimizers:  # type: ignore[attr-defined]
        optimizer.step()
    param.grad = None


def _get_in_backward_optimizers(module: Module) -> list[Optimizer]:
    """The optimizers that step a module's parameters in the backward pass."""
    return [
        optimizer
        for param in module.parameters()
        for optimizer in getattr(param, "_in_backward_optimizers", [])
    ]
