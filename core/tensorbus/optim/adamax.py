"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import (
    add_quotient_,
    check_betas,
    check_lr,
    check_not_negative,
    count_step,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


class Adamax(Optimizer):
    """Adam with the largest recent |g| in place of the root of the mean of squares.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: learning rate.
        betas: how much of the old mean, and of the old maximum, remains.
        eps: added to |g|.
        weight_decay: this much of the parameter is added to its gradient.
        maximize: go up instead of down.
        foreach, capturable: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon", eps)
        check_betas(betas)
        check_not_negative("weight_decay", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        lr, eps = float(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]
        for param, grad, state in self._with_state(group, group["weight_decay"]):
            if not state:
                state.update(
                    step=new_step(),
                    exp_avg=tensorbus.zeros_like(param),
                    exp_inf=tensorbus.zeros_like(param),
                )
            steps = count_step(state)
            mean = state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
            largest = tensorbus.maximum(state["exp_inf"].mul_(beta2), grad.abs().add_(eps))
            state["exp_inf"] = largest
            add_quotient_(param, mean, largest, -lr / (1 - beta1**steps))
