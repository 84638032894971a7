"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import (
    check_lr,
    check_not_negative,
    count_step,
    new_coefficient,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


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
        lr, lambd = float(group["lr"]), group["lambd"]
        for param, grad, state in self._with_state(group, group["weight_decay"]):
            if not state:
                state.update(
                    step=new_step(),
                    eta=new_coefficient(param, lr),
                    mu=new_coefficient(param, 1.0),
                    ax=tensorbus.zeros_like(param),
                )
            steps = count_step(state)
            eta, mu = state["eta"].item(), state["mu"].item()
            param.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
            average = state["ax"]
            if mu == 1:
                average.copy_(param)
            else:
                average.add_(param.sub(average), alpha=mu)
            state["eta"].fill_(lr / (1 + lambd * lr * steps) ** group["alpha"])
            state["mu"].fill_(1 / max(1, steps - group["t0"]))
