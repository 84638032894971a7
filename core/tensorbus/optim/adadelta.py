"""Adadelta: steps scaled by running averages of gradients and steps."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import (
    add_product_,
    check_lr,
    check_not_negative,
    count_step,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


class Adadelta(Optimizer):
    """p -= lr sqrt(u + eps) / sqrt(v + eps) g; v and u are means of g^2 and of the steps squared.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: factor of the step.
        rho: how much of the old means remains.
        eps: added before the roots.
        weight_decay: this much of the parameter is added to its gradient.
        maximize: go up instead of down.
        foreach, capturable: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon", eps)
        check_not_negative("weight_decay", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        lr, rho, eps = float(group["lr"]), group["rho"], group["eps"]
        for param, grad, state in self._with_state(group, group["weight_decay"]):
            if not state:
                state.update(
                    step=new_step(),
                    square_avg=tensorbus.zeros_like(param),
                    acc_delta=tensorbus.zeros_like(param),
                )
            count_step(state)
            square, moved = state["square_avg"], state["acc_delta"]
            add_product_(square.mul_(rho), grad, grad, 1 - rho)
            delta = moved.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
            add_product_(moved.mul_(rho), delta, delta, 1 - rho)
            param.add_(delta, alpha=-lr)
