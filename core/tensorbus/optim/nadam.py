"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

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
    new_coefficient,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


class NAdam(Optimizer):
    """Adam with Nesterov momentum: the step uses the mean as it will be one step later.

    Args: as for ``Adam``, and *momentum_decay*, how fast the momentum rises to the first beta.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative("momentum_decay", momentum_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        lr, eps, decay = float(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        decoupled = group["decoupled_weight_decay"]

        def momentum_at(step: float) -> float:
            return beta1 * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))

        for param, grad, state in self._with_state(group, 0.0 if decoupled else decay):
            if not state:
                state.update(
                    step=new_step(),
                    mu_product=new_coefficient(param, 1.0),
                    exp_avg=tensorbus.zeros_like(param),
                    exp_avg_sq=tensorbus.zeros_like(param),
                )
            steps = count_step(state)
            if decoupled and decay:
                param.mul_(1 - lr * decay)
            now, following = momentum_at(steps), momentum_at(steps + 1)
            product = state["mu_product"].mul_(now).item()
            mean = state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
            square = add_product_(state["exp_avg_sq"].mul_(beta2), grad, grad, 1 - beta2)
            root = square.div(1 - beta2**steps).sqrt_().add_(eps)
            add_quotient_(param, grad, root, -lr * (1.0 - now) / (1.0 - product))
            add_quotient_(param, mean, root, -lr * following / (1.0 - product * following))
