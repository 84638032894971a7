"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import check_lr, check_not_negative
from tensorbus.optim.optimizer import Optimizer, ParamsT


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
        minus_lr = -float(group["lr"])
        momentum = group["momentum"]
        for param, grad in self._gradients(group, group["weight_decay"]):
            if momentum:
                grad = self._with_momentum(param, grad, group)
            param.add_(grad, alpha=minus_lr)

    def _with_momentum(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
        state = self.state[param]
        velocity = state.get("momentum_buffer")
        if velocity is None:
            velocity = state["momentum_buffer"] = grad.clone().detach()
        else:
            velocity.mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])
        if group["nesterov"]:
            return grad.add(velocity, alpha=group["momentum"])
        return velocity
