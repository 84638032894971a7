"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.cores import core
from tensorbus.optim._shared import (
    check_betas,
    check_lr,
    check_not_negative,
    count_step,
    downwards,
    in_lists,
    new_coefficient,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


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
        lr, decay = float(group["lr"]), group["weight_decay"]
        beta1, beta2 = map(float, group["betas"])
        decoupled = group["decoupled_weight_decay"] and decay != 0
        for (steps, now, following, product), lists in in_lists(self._members(group)):
            _step(
                *lists, beta1, 1 - beta1, beta2, 1 - beta2, 1 - beta2**steps, group["eps"],
                lr * (1.0 - now) / (1.0 - product), lr * following / (1.0 - product * following),
                1 - lr * decay if decoupled else decay,
                decay != 0, decoupled, group["maximize"],
            )  # fmt: skip

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        beta1, speed = float(group["betas"][0]), group["momentum_decay"]

        def momentum_at(step: float) -> float:
            return beta1 * (1.0 - 0.5 * 0.96 ** (step * speed))

        for param, grad, state in self._with_state(group):
            if not state:
                state.update(
                    step=new_step(),
                    mu_product=new_coefficient(param, 1.0),
                    exp_avg=tensorbus.zeros_like(param),
                    exp_avg_sq=tensorbus.zeros_like(param),
                )
            steps = count_step(state)
            now, following = momentum_at(steps), momentum_at(steps + 1)
            product = state["mu_product"].mul_(now).item()
            operands = param, grad, state["exp_avg"], state["exp_avg_sq"]
            yield (steps, now, following, product), operands


def _nadam_step(
    F: Any, p: Any, g: Any, m: Any, v: Any, beta1: Any, rest1: Any, beta2: Any, rest2: Any,
    correction: Any, eps: Any, lr_g: Any, lr_m: Any, decay: Any, decays: bool, decoupled: bool,
    maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays and not decoupled, maximize)
    if decoupled:
        p = F.mul(p, decay)
    m = F.add(F.mul(m, beta1), F.mul(g, rest1))
    v = F.add(F.mul(v, beta2), F.mul(F.mul(g, rest2), g))
    root = F.add(F.sqrt(F.div(v, correction)), eps)
    p = F.sub(p, F.div(F.mul(g, lr_g), root))
    return F.sub(p, F.div(F.mul(m, lr_m), root)), m, v


row(
    "nadam_step",
    "p:T*!, g:T*, m:T*!, v:T*!, beta1:number, rest1:number, beta2:number, rest2:number, "
    "correction:number, eps:number, lr_g:number, lr_m:number, decay:number, "
    "decays, decoupled, maximize",
    "list",
    domain="float",
    doc="m = beta1 m + rest1 g, v = beta2 v + rest2 g^2 and p -= (lr_g g + lr_m m) / (sqrt(v / "
    "correction) + eps); where *maximize*, g is negated first, and where it *decays*, decay p "
    "is added to it, or where *decoupled* p is multiplied by *decay*.",
    composite=_nadam_step,
)
_step = core("nadam_step")
