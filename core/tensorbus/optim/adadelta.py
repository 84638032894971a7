"""Adadelta: steps scaled by running averages of gradients and steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.cores import core
from tensorbus.optim._shared import (
    check_lr,
    check_not_negative,
    count_step,
    downwards,
    in_lists,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


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
        rho, decay = group["rho"], group["weight_decay"]
        for _, lists in in_lists(self._members(group)):
            _step(
                *lists, float(group["lr"]), rho, 1 - rho, group["eps"], decay,
                decay != 0, group["maximize"],
            )  # fmt: skip

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        for param, grad, state in self._with_state(group):
            if not state:
                state.update(
                    step=new_step(),
                    square_avg=tensorbus.zeros_like(param),
                    acc_delta=tensorbus.zeros_like(param),
                )
            count_step(state)
            yield None, (param, grad, state["square_avg"], state["acc_delta"])


def _adadelta_step(
    F: Any, p: Any, g: Any, v: Any, u: Any, lr: Any, rho: Any, rest: Any, eps: Any, decay: Any,
    decays: bool, maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays, maximize)
    v = F.add(F.mul(v, rho), F.mul(F.mul(g, rest), g))
    change = F.mul(F.div(F.sqrt(F.add(u, eps)), F.sqrt(F.add(v, eps))), g)
    u = F.add(F.mul(u, rho), F.mul(F.mul(change, rest), change))
    return F.sub(p, F.mul(change, lr)), v, u


row(
    "adadelta_step",
    "p:T*!, g:T*, v:T*!, u:T*!, lr:number, rho:number, rest:number, eps:number, decay:number, "
    "decays, maximize",
    "list",
    domain="float",
    doc="v = rho v + rest g^2, d = sqrt(u + eps) / sqrt(v + eps) g, u = rho u + rest d^2 and p -= "
    "lr d; where *maximize*, g is negated first, and where it *decays*, decay p is added to it.",
    composite=_adadelta_step,
)
_step = core("adadelta_step")
