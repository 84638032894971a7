"""Optimizers that scale each element's step: Adagrad, Adadelta, RMSprop, Adamax."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim._shared import (
    add_product_,
    add_quotient_,
    check_betas,
    check_lr,
    check_not_negative,
    count_step,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT


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
        differentiable: whether `step` is recorded by autograd.
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
                state["sum"] = tensorbus.full_like(param, start)

    def _update(self, group: dict[str, Any]) -> None:
        lr, lr_decay, eps = float(group["lr"]), group["lr_decay"], group["eps"]
        for param, grad in self._gradients(group, group["weight_decay"]):
            state = self.state[param]
            rate = lr / (1 + (count_step(state) - 1) * lr_decay)
            total = add_product_(state["sum"], grad, grad)
            add_quotient_(param, grad, total.sqrt().add_(eps), -rate)


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
        differentiable: whether `step` is recorded by autograd.
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
        lr, rho, eps = float(group["lr"]), group["rho"], group["eps"]
        for param, grad in self._gradients(group, group["weight_decay"]):
            state = self.state[param]
            if not state:
                state["step"] = new_step()
                state["square_avg"] = tensorbus.zeros_like(param)
                state["acc_delta"] = tensorbus.zeros_like(param)
            count_step(state)
            square, moved = state["square_avg"], state["acc_delta"]
            add_product_(square.mul_(rho), grad, grad, 1 - rho)
            delta = moved.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
            add_product_(moved.mul_(rho), delta, delta, 1 - rho)
            param.add_(delta, alpha=-lr)


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
        differentiable: whether `step` is recorded by autograd.
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
        lr, alpha, eps = float(group["lr"]), group["alpha"], group["eps"]
        momentum, centered = group["momentum"], group["centered"]
        for param, grad in self._gradients(group, group["weight_decay"]):
            state = self.state[param]
            if not state:
                state["step"] = new_step()
                state["square_avg"] = tensorbus.zeros_like(param)
                if momentum > 0:
                    state["momentum_buffer"] = tensorbus.zeros_like(param)
                if centered:
                    state["grad_avg"] = tensorbus.zeros_like(param)
            count_step(state)
            variance = add_product_(state["square_avg"].mul_(alpha), grad, grad, 1 - alpha)
            if centered:
                mean = state["grad_avg"].mul_(alpha).add_(grad, alpha=1 - alpha)
                variance = variance - mean * mean
            root = variance.sqrt().add_(eps)
            if momentum > 0:
                velocity = add_quotient_(state["momentum_buffer"].mul_(momentum), grad, root)
                param.add_(velocity, alpha=-lr)
            else:
                add_quotient_(param, grad, root, -lr)


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
        differentiable: whether `step` is recorded by autograd.
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
        lr, eps = float(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]
        for param, grad in self._gradients(group, group["weight_decay"]):
            state = self.state[param]
            if not state:
                state["step"] = new_step()
                state["exp_avg"] = tensorbus.zeros_like(param)
                state["exp_inf"] = tensorbus.zeros_like(param)
            steps = count_step(state)
            mean = state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
            largest = tensorbus.maximum(state["exp_inf"].mul_(beta2), grad.abs().add_(eps))
            state["exp_inf"] = largest
            add_quotient_(param, mean, largest, -lr / (1 - beta1**steps))
