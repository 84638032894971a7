"""Adamax: Adam with the infinity norm."""

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
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


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
        beta1, beta2 = map(float, group["betas"])
        decay = group["weight_decay"]
        for steps, lists in in_lists(self._members(group)):
            rate = float(group["lr"]) / (1 - beta1**steps)
            _step(
                *lists, rate, beta1, 1 - beta1, beta2, group["eps"], decay,
                decay != 0, group["maximize"],
            )  # fmt: skip

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        for param, grad, state in self._with_state(group):
            if not state:
                state.update(
                    step=new_step(),
                    exp_avg=tensorbus.zeros_like(param),
                    exp_inf=tensorbus.zeros_like(param),
                )
            yield count_step(state), (param, grad, state["exp_avg"], state["exp_inf"])


def _adamax_step(
    F: Any, p: Any, g: Any, m: Any, largest: Any, lr: Any, beta1: Any, rest1: Any, beta2: Any,
    eps: Any, decay: Any, decays: bool, maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays, maximize)
    m = F.add(F.mul(m, beta1), F.mul(g, rest1))
    largest = F.maximum(F.mul(largest, beta2), F.add(F.abs(g), eps))
    return F.sub(p, F.div(F.mul(m, lr), largest)), m, largest


row(
    "adamax_step",
    "p:T*!, g:T*, m:T*!, largest:T*!, lr:number, beta1:number, rest1:number, beta2:number, "
    "eps:number, decay:number, decays, maximize",
    "list",
    domain="float",
    doc="m = beta1 m + rest1 g, largest = max(beta2 largest, |g| + eps) and p -= lr m / largest; "
    "where *maximize*, g is negated first, and where it *decays*, decay p is added to it.",
    composite=_adamax_step,
)
_step = core("adamax_step")
