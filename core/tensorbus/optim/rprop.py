"""Rprop: steps by the signs of gradients."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import (
    add_product_,
    check_lr,
    count_step,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


class Rprop(Optimizer):
    """Each element has a step of its own, which grows while the gradient keeps its sign.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: the first step.
        etas: factors of the step when the sign changes and when it stays.
        step_sizes: the smallest and the largest step.
        maximize: go up instead of down.
        foreach, capturable: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults: dict[str, Any] = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        for param, grad, state in self._with_state(group):
            if not state:
                state.update(
                    step=new_step(),
                    prev=tensorbus.zeros_like(param),
                    step_size=tensorbus.full_like(grad, float(group["lr"])),
                )
            count_step(state)
            agreement = grad * state["prev"]
            turned, kept = agreement < 0, agreement > 0
            factor = tensorbus.ones_like(grad).masked_fill_(turned, shrink)
            factor.masked_fill_(kept, grow)
            step_size = state["step_size"].mul_(factor).clamp_(smallest, largest)
            # Where the sign has changed, wait for one step.
            grad = grad.masked_fill(turned, 0)
            add_product_(param, grad.sign(), step_size, -1)
            state["prev"].copy_(grad)
