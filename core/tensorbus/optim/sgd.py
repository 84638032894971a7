"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.cores import core
from tensorbus.optim._shared import check_lr, check_not_negative, downwards, in_lists
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


class SGD(Optimizer):
    """p -= lr g; with momentum, v = momentum v + (1 - dampening) g and p -= lr v.

    The first v is g itself. Nesterov momentum uses g + momentum v instead of v.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: learning rate.
        momentum: weight of the velocity.
        dampening: how much less of the gradient enters the velocity.
        weight_decay: this much of the parameter is added to its gradient.
        nesterov: needs a momentum and zero dampening.
        maximize: go up instead of down.
        foreach, fused: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.

    Example:
        >>> weight = nn.Parameter(tensorbus.tensor([1.0, 2.0]))
        >>> optimizer = optim.SGD([weight], lr=0.1, momentum=0.9)
        >>> optimizer.zero_grad()
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("momentum", momentum)
        check_not_negative("weight_decay", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults: dict[str, Any] = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        momentum, decay = group["momentum"], group["weight_decay"]
        kept = 1 - group["dampening"]
        each: Iterable[tuple[bool, list[list[Tensor]]]]
        if momentum:
            each = in_lists(self._members(group))
        else:
            lists: list[list[Tensor]] = [[], [], []]
            for param, grad in self._gradients(group):
                lists[0].append(param)
                lists[1].append(grad)
            each = [(False, lists)]
        for first, lists in each:
            _step(
                *lists, float(group["lr"]), momentum, kept, decay,
                first, kept != 1, group["nesterov"], decay != 0, group["maximize"],
            )  # fmt: skip

    def _take_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        lr = float(group["lr"])
        if not group["momentum"] and not group["weight_decay"]:
            param.add_(grad, alpha=lr if group["maximize"] else -lr)
            return
        direction = -grad if group["maximize"] else grad
        if group["weight_decay"]:
            direction = direction + param * group["weight_decay"]  # refused, as in PyTorch
        if group["momentum"]:
            state = self.state[param]
            before = state.get("momentum_buffer")
            if before is None:
                velocity = direction.clone()
            else:
                kept = direction * (1 - group["dampening"])
                velocity = before * group["momentum"] + kept
            state["momentum_buffer"] = velocity = velocity.coalesce()
            more = direction + velocity * group["momentum"]
            direction = more if group["nesterov"] else velocity
        param.add_(direction, alpha=-lr)

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        for param, grad in self._gradients(group):
            state = self.state[param]
            first = state.get("momentum_buffer") is None
            if first:
                state["momentum_buffer"] = tensorbus.zeros_like(grad)
            yield first, (param, grad, state["momentum_buffer"])


def _sgd_step(
    F: Any, p: Any, g: Any, v: Any, lr: Any, momentum: Any, kept: Any, decay: Any,
    first: bool, dampened: bool, nesterov: bool, decays: bool, maximize: bool,
) -> Any:  # fmt: skip
    g = downwards(F, p, g, decay, decays, maximize)
    if v is None:
        return F.sub(p, F.mul(g, lr)), None
    v = g if first else F.add(F.mul(v, momentum), F.mul(g, kept) if dampened else g)
    direction = F.add(g, F.mul(v, momentum)) if nesterov else v
    return F.sub(p, F.mul(direction, lr)), v


row(
    "sgd_step",
    "p:T*!, g:T*, v:T*!, lr:number, momentum:number, kept:number, decay:number, "
    "first, dampened, nesterov, decays, maximize",
    "list",
    domain="float",
    doc="v = momentum v + kept g, or v = g where it is the *first*, and p -= lr v, or lr (g + "
    "momentum v) with *nesterov*, or lr g where there is no v; where *maximize*, g is negated "
    "first, and where it *decays*, decay p is added to it; *kept* is 1 where v is not "
    "*dampened*.",
    composite=_sgd_step,
)
_step = core("sgd_step")
