"""RMSprop: steps scaled by a running average of squared gradients."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import (
    add_product_,
    add_quotient_,
    check_lr,
    check_not_negative,
    count_step,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


class RMSprop(Optimizer):
    """p -= lr g / (sqrt(v) + eps), v the running mean of g^2.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: learning rate.
        alpha: how much of the old mean remains.
        eps: added to the root.
        weight_decay: this much of the parameter is added to its gradient.
        momentum: weight of a velocity that sums the steps.
        centered: subtract the square of the gradient's mean from v.
        maximize: go up instead of down.
        foreach, capturable: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon", eps)
        check_not_negative("momentum", momentum)
        check_not_negative("weight_decay", weight_decay)
        check_not_negative("alpha", alpha)
        defaults: dict[str, Any] = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        lr, alpha, eps = float(group["lr"]), group["alpha"], group["eps"]
        momentum, centered = group["momentum"], group["centered"]
        for param, grad, state in self._with_state(group, group["weight_decay"]):
            if not state:
                names = ["square_avg"]
                if momentum > 0:
                    names.append("momentum_buffer")
                if centered:
                    names.append("grad_avg")
                zeros = {name: tensorbus.zeros_like(param) for name in names}
                state.update(step=new_step(), **zeros)
            count_step(state)
            variance = add_product_(state["square_avg"].mul_(alpha), grad, grad, 1 - alpha)
            if centered:
                mean = state["grad_avg"].mul_(alpha).add_(grad, alpha=1 - alpha)
                variance = variance - mean * mean
            root = variance.sqrt().add_(eps)
            if momentum > 0:
                velocity = add_quotient_(state["momentum_buffer"].mul_(momentum), grad, root)
                param.add_(velocity, alpha=-lr)
            else:
                add_quotient_(param, grad, root, -lr)
