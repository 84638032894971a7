"""ASGD: averaged stochastic gradient descent."""

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
    new_coefficient,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


class ASGD(Optimizer):
    """Gradient descent whose average of parameters, ``state[p]["ax"]``, starts after *t0* steps.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: learning rate.
        lambd: decay of the parameters, and of the rate.
        alpha: power of the rate's decay.
        t0: the step where averaging starts.
        weight_decay: this much of the parameter is added to its gradient.
        maximize: go up instead of down.
        foreach, capturable: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("weight_decay", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        decay = group["weight_decay"]
        for (eta, mu), lists in in_lists(self._members(group)):
            _step(
                *lists, 1 - group["lambd"] * eta, eta, mu, decay,
                mu == 1, decay != 0, group["maximize"],
            )  # fmt: skip

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        lr, lambd = float(group["lr"]), group["lambd"]
        for param, grad, state in self._with_state(group):
            if not state:
                state.update(
                    step=new_step(),
                    eta=new_coefficient(param, lr),
                    mu=new_coefficient(param, 1.0),
                    ax=tensorbus.zeros_like(param),
                )
            steps = count_step(state)
            numbers = state["eta"].item(), state["mu"].item()
            state["eta"].fill_(lr / (1 + lambd * lr * steps) ** group["alpha"])
            state["mu"].fill_(1 / max(1, steps - group["t0"]))
            yield numbers, (param, grad, state["ax"])


def _asgd_step(
    F: Any, p: Any, g: Any, average: Any, kept: Any, lr: Any, share: Any, decay: Any,
    whole: bool, decays: bool, maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays, maximize)
    p = F.sub(F.mul(p, kept), F.mul(g, lr))
    return p, p if whole else F.add(average, F.mul(F.sub(p, average), share))


row(
    "asgd_step",
    "p:T*!, g:T*, average:T*!, kept:number, lr:number, share:number, decay:number, "
    "whole, decays, maximize",
    "list",
    domain="float",
    doc="p = kept p - lr g and average += share (p - average), or average = p where *whole*, when "
    "share is 1; where *maximize*, g is negated first, and where it *decays*, decay p is added "
    "to it.",
    composite=_asgd_step,
)
_step = core("asgd_step")
