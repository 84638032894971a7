"""RAdam: Adam whose early steps are rectified."""

from __future__ import annotations

import math
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
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


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
        lr, decay = float(group["lr"]), group["weight_decay"]
        beta1, beta2 = map(float, group["betas"])
        decoupled = group["decoupled_weight_decay"] and decay != 0
        for steps, lists in in_lists(self._members(group)):
            rate = lr / (1 - beta1**steps)
            rectified = _rectification(beta2, steps)
            if rectified is not None:
                rate *= rectified * math.sqrt(1 - beta2**steps)
            _step(
                *lists, beta1, 1 - beta1, beta2, 1 - beta2, rate, group["eps"],
                1 - lr * decay if decoupled else decay,
                rectified is not None, decay != 0, decoupled, group["maximize"],
            )  # fmt: skip

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        for param, grad, state in self._with_state(group):
            if not state:
                state.update(
                    step=new_step(),
                    exp_avg=tensorbus.zeros_like(param),
                    exp_avg_sq=tensorbus.zeros_like(param),
                )
            yield count_step(state), (param, grad, state["exp_avg"], state["exp_avg_sq"])


def _rectification(beta2: float, steps: float) -> float | None:
    """The factor that evens out the variance of the step, or None while there is too little."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * steps * beta2**steps / (1 - beta2**steps)
    if length <= 5.0:
        return None
    above = (length - 4) * (length - 2) * longest
    below = (longest - 4) * (longest - 2) * length
    return math.sqrt(above / below)


def _radam_step(
    F: Any, p: Any, g: Any, m: Any, v: Any, beta1: Any, rest1: Any, beta2: Any, rest2: Any,
    lr: Any, eps: Any, decay: Any, rectified: bool, decays: bool, decoupled: bool, maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays and not decoupled, maximize)
    if decoupled:
        p = F.mul(p, decay)
    m = F.add(F.mul(m, beta1), F.mul(g, rest1))
    v = F.add(F.mul(v, beta2), F.mul(F.mul(g, rest2), g))
    change = F.mul(m, lr)
    if rectified:
        change = F.div(change, F.add(F.sqrt(v), eps))
    return F.sub(p, change), m, v


row(
    "radam_step",
    "p:T*!, g:T*, m:T*!, v:T*!, beta1:number, rest1:number, beta2:number, rest2:number, "
    "lr:number, eps:number, decay:number, rectified, decays, decoupled, maximize",
    "list",
    domain="float",
    doc="m = beta1 m + rest1 g, v = beta2 v + rest2 g^2 and p -= lr m, or where *rectified* "
    "p -= lr m / (sqrt(v) + eps); where *maximize*, g is negated first, and where it *decays*, "
    "decay p is added to it, or where *decoupled* p is multiplied by *decay*.",
    composite=_radam_step,
)
_step = core("radam_step")
