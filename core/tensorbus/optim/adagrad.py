"""Adagrad: steps scaled by the sum of squared gradients."""

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
    with_values,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


class Adagrad(Optimizer):
    """p -= lr / (1 + (steps - 1) lr_decay) g / (sqrt(sum of all g^2) + eps).

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: learning rate.
        lr_decay: how fast the rate falls.
        weight_decay: this much of the parameter is added to its gradient.
        initial_accumulator_value: where the sum of squares starts.
        eps: added to the root.
        maximize: go up instead of down.
        foreach, fused: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("lr_decay", lr_decay)
        check_not_negative("weight_decay", weight_decay)
        check_not_negative("initial_accumulator_value", initial_accumulator_value)
        check_not_negative("epsilon", eps)
        defaults: dict[str, Any] = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            start = group["initial_accumulator_value"]
            for param in group["params"]:
                state = self.state[param]
                state["step"] = new_step()
                first = complex(start, start) if param.is_complex() else start
                state["sum"] = tensorbus.full_like(param, first)

    def _update(self, group: dict[str, Any]) -> None:
        lr, decay = float(group["lr"]), group["weight_decay"]
        for steps, lists in in_lists(self._members(group)):
            rate = lr / (1 + (steps - 1) * group["lr_decay"])
            _step(*lists, rate, group["eps"], decay, decay != 0, group["maximize"])

    def _take_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self.state[param]
        rate = float(group["lr"]) / (1 + (count_step(state) - 1) * group["lr_decay"])
        grad = grad.coalesce()
        if group["maximize"]:
            grad = -grad
        state["sum"].add_(grad * grad)
        root = state["sum"].sparse_mask(grad).values().sqrt() + group["eps"]
        param.add_(with_values(grad, grad.values() / root), alpha=-rate)

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        for param, grad, state in self._with_state(group):
            yield count_step(state), (param, grad, state["sum"])


def _adagrad_step(
    F: Any, p: Any, g: Any, total: Any, lr: Any, eps: Any, decay: Any, decays: bool, maximize: bool
) -> Any:
    g = downwards(F, p, g, decay, decays, maximize)
    total = F.add(total, F.mul(g, g))
    return F.sub(p, F.div(F.mul(g, lr), F.add(F.sqrt(total), eps))), total


row(
    "adagrad_step",
    "p:T*!, g:T*, total:T*!, lr:number, eps:number, decay:number, decays, maximize",
    "list",
    domain="float",
    doc="total += g^2 and p -= lr g / (sqrt(total) + eps); where *maximize*, g is negated first, "
    "and where it *decays*, decay p is added to it.",
    composite=_adagrad_step,
)
_step = core("adagrad_step")
