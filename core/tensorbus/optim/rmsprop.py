"""RMSprop: steps scaled by a running average of squared gradients."""

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
        alpha, decay = group["alpha"], group["weight_decay"]
        for _, lists in in_lists(self._members(group)):
            _step(
                *lists, float(group["lr"]), alpha, 1 - alpha, group["eps"], group["momentum"],
                decay, decay != 0, group["maximize"],
            )  # fmt: skip

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        momentum, centered = group["momentum"] > 0, group["centered"]
        for param, grad, state in self._with_state(group):
            if not state:
                names = ["square_avg"]
                if momentum:
                    names.append("momentum_buffer")
                if centered:
                    names.append("grad_avg")
                zeros = {name: tensorbus.zeros_like(param) for name in names}
                state.update(step=new_step(), **zeros)
            count_step(state)
            mean = state["grad_avg"] if centered else None
            velocity = state["momentum_buffer"] if momentum else None
            yield None, (param, grad, state["square_avg"], mean, velocity)


def _rmsprop_step(
    F: Any, p: Any, g: Any, v: Any, mean: Any, velocity: Any, lr: Any, alpha: Any, rest: Any,
    eps: Any, momentum: Any, decay: Any, decays: bool, maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays, maximize)
    v = F.add(F.mul(v, alpha), F.mul(F.mul(g, rest), g))
    variance = v
    if mean is not None:
        mean = F.add(F.mul(mean, alpha), F.mul(g, rest))
        variance = F.sub(v, F.mul(mean, mean))
    root = F.add(F.sqrt(variance), eps)
    if velocity is None:
        return F.sub(p, F.div(F.mul(g, lr), root)), v, mean, None
    velocity = F.add(F.mul(velocity, momentum), F.div(g, root))
    return F.sub(p, F.mul(velocity, lr)), v, mean, velocity


row(
    "rmsprop_step",
    "p:T*!, g:T*, v:T*!, mean:T*!, velocity:T*!, lr:number, alpha:number, rest:number, "
    "eps:number, momentum:number, decay:number, decays, maximize",
    "list",
    domain="float",
    doc="v = alpha v + rest g^2, d = g / (sqrt(v) + eps) and p -= lr d; with *mean*, which becomes "
    "alpha mean + rest g, its square is taken from v in d; with *velocity*, which becomes "
    "momentum velocity + d, that stands for d; where *maximize*, g is negated first, and where "
    "it *decays*, decay p is added to it.",
    composite=_rmsprop_step,
)
_step = core("rmsprop_step")
