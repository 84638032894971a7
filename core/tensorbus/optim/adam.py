"""Adam and AdamW."""

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
        if foreach and not capturable and isinstance(lr, Tensor):
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_lr(lr)
        check_not_negative("epsilon", eps)
        check_betas(betas)
        if len({isinstance(b, Tensor) for b in betas}) > 1 or any(type(b) is int for b in betas):
            raise ValueError("betas must be either both floats or both Tensors")
        if foreach and not capturable and isinstance(betas[0], Tensor):
            raise ValueError(
                "betas[0] as a Tensor is not supported for capturable=False and foreach=True"
            )
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
        lr, decay = float(group["lr"]), group["weight_decay"]
        beta1, beta2 = map(float, group["betas"])
        decoupled = group["decoupled_weight_decay"] and decay != 0
        for steps, lists in in_lists(self._members(group)):
            # Both corrections as factors of the step and of eps: one pass less over the tensors.
            root_correction = math.sqrt(1 - beta2**steps)
            step_size = lr * root_correction / (1 - beta1**steps)
            _step(
                *lists, beta1, 1 - beta1, beta2, 1 - beta2, step_size,
                group["eps"] * root_correction, 1 - lr * decay if decoupled else decay,
                decay != 0, decoupled, group["maximize"],
            )  # fmt: skip

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        amsgrad = group["amsgrad"]
        for param, grad, state in self._with_state(group):
            if not state:
                _start(state, param, amsgrad)
            largest = state["max_exp_avg_sq"] if amsgrad else None
            operands = param, grad, state["exp_avg"], state["exp_avg_sq"], largest
            yield count_step(state), operands


def _start(state: dict[str, Any], param: Tensor, amsgrad: bool) -> None:
    names = ["exp_avg", "exp_avg_sq"]
    if amsgrad:
        names.append("max_exp_avg_sq")
    state.update(step=new_step(), **{name: tensorbus.zeros_like(param) for name in names})


def _adam_step(
    F: Any, p: Any, g: Any, m: Any, v: Any, largest: Any, beta1: Any, rest1: Any, beta2: Any,
    rest2: Any, lr: Any, eps: Any, decay: Any, decays: bool, decoupled: bool, maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays and not decoupled, maximize)
    if decoupled:
        p = F.mul(p, decay)
    m = F.add(F.mul(m, beta1), F.mul(g, rest1))
    v = F.add(F.mul(v, beta2), F.mul(F.mul(g, rest2), g))
    if largest is not None:
        largest = F.maximum(largest, v)
    root = F.add(F.sqrt(v if largest is None else largest), eps)
    return F.sub(p, F.div(F.mul(m, lr), root)), m, v, largest


row(
    "adam_step",
    "p:T*!, g:T*, m:T*!, v:T*!, largest:T*!, beta1:number, rest1:number, beta2:number, "
    "rest2:number, lr:number, eps:number, decay:number, decays, decoupled, maximize",
    "list",
    domain="float",
    doc="m = beta1 m + rest1 g, v = beta2 v + rest2 g^2 and p -= lr m / (sqrt(v) + eps), where "
    "*largest*, if given, becomes the larger of it and v, and stands for v; *lr* and *eps* "
    "bring the corrections for the start of m and v at zero; where *maximize*, g is negated "
    "first, and where it *decays*, decay p is added to it, or where *decoupled* p is multiplied "
    "by *decay*.",
    composite=_adam_step,
)
_step = core("adam_step")
