"""Adam and AdamW."""

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


class Adam(Optimizer):
    """Steps by the mean of the gradients over the root of the mean of their squares.

    m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, and with both corrected for their
    start at zero, p -= lr m / (sqrt(v) + eps).

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: learning rate.
        betas: how much of the old means remains.
        eps: added to the root.
        weight_decay: this much of the parameter is added to its gradient.
        amsgrad: use the largest v so far.
        maximize: go up instead of down.
        decoupled_weight_decay: shrink parameters by lr weight_decay instead (AdamW).
        foreach, capturable, fused: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon", eps)
        check_betas(betas)
        if len({isinstance(b, Tensor) for b in betas}) > 1 or any(type(b) is int for b in betas):
            raise ValueError("betas must be either both floats or both Tensors")
        check_not_negative("weight_decay", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        lr = float(group["lr"])
        beta1, beta2 = map(float, group["betas"])
        eps, amsgrad, decay = group["eps"], group["amsgrad"], group["weight_decay"]
        decoupled = group["decoupled_weight_decay"]
        for param, grad, state in self._with_state(group, 0.0 if decoupled else decay):
            if not state:
                _start(state, param, amsgrad)
            steps = count_step(state)
            if decoupled and decay:
                param.mul_(1 - lr * decay)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            mean.mul_(beta1).add_(grad, alpha=1 - beta1)
            add_product_(square.mul_(beta2), grad, grad, 1 - beta2)
            if amsgrad:
                largest = tensorbus.maximum(state["max_exp_avg_sq"], square)
                square = state["max_exp_avg_sq"] = largest
            # Both corrections as factors of the step and of eps: one pass less over the tensors.
            root_correction = math.sqrt(1 - beta2**steps)
            step_size = lr * root_correction / (1 - beta1**steps)
            root = square.sqrt().add_(eps * root_correction)
            add_quotient_(param, mean, root, -step_size)


def _start(state: dict[str, Any], param: Tensor, amsgrad: bool) -> None:
    names = ["exp_avg", "exp_avg_sq"]
    if amsgrad:
        names.append("max_exp_avg_sq")
    state.update(step=new_step(), **{name: tensorbus.zeros_like(param) for name in names})
