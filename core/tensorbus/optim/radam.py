"""RAdam: Adam whose early steps are rectified."""

from __future__ import annotations

import math
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import (
    add_product_,
    add_quotient_,
    check_betas,
    check_lr,
    check_not_negative,
    count_step,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


class RAdam(Optimizer):
    """Adam that waits with the division by the root until its variance is small enough.

    Args: as for ``Adam``.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        lr, eps, decay = float(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        decoupled = group["decoupled_weight_decay"]
        for param, grad, state in self._with_state(group, 0.0 if decoupled else decay):
            if not state:
                state.update(
                    step=new_step(),
                    exp_avg=tensorbus.zeros_like(param),
                    exp_avg_sq=tensorbus.zeros_like(param),
                )
            steps = count_step(state)
            if decoupled and decay:
                param.mul_(1 - lr * decay)
            mean = state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
            square = add_product_(state["exp_avg_sq"].mul_(beta2), grad, grad, 1 - beta2)
            step_size = lr / (1 - beta1**steps)
            rectified = _rectification(beta2, steps)
            if rectified is None:
                param.add_(mean, alpha=-step_size)
            else:
                root_correction = math.sqrt(1 - beta2**steps)
                root = square.sqrt().add_(eps)
                add_quotient_(param, mean, root, -step_size * rectified * root_correction)


def _rectification(beta2: float, steps: float) -> float | None:
    """The factor that evens out the variance of the step, or None while there is too little."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * steps * beta2**steps / (1 - beta2**steps)
    if length <= 5.0:
        return None
    above = (length - 4) * (length - 2) * longest
    below = (longest - 4) * (longest - 2) * length
    return math.sqrt(above / below)
