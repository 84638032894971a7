"""Muon: momentum, made orthogonal."""

from __future__ import annotations

import math
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim.optimizer import Optimizer, ParamsT

_LARGEST_COUNT = 100


class Muon(Optimizer):
    """Steps of matrices along their momentum, of which all singular values are made about 1.

    v = momentum v + (1 - momentum) g, and p -= lr' O, where O is v, or with Nesterov's method
    momentum v + (1 - momentum) g, with other singular values: a polynomial of odd powers
    (Newton-Schulz) brings them near to 1, in bfloat16. It is for the matrices of hidden layers;
    other parameters go to another optimizer, such as ``AdamW``.

    Args:
        params: matrices, pairs of name and matrix, or groups.
        lr: learning rate.
        weight_decay: parameters shrink by lr weight_decay in each step.
        momentum: how much of the old momentum remains.
        nesterov: whether the gradient enters once more.
        ns_coefficients: those of x, x^3 and x^5 in the polynomial.
        eps: what the norm of a momentum is at least.
        ns_steps: how often the polynomial is applied.
        adjust_lr_fn: 'original' (the default) multiplies the rate by sqrt(max(1, rows / columns)),
            'match_rms_adamw' by 0.2 sqrt(max(rows, columns)).

    ValueError for parameters that are no matrices, RuntimeError for complex ones and for sparse
    gradients.

    Example:
        >>> weight = nn.Parameter(tensorbus.zeros(2, 2))
        >>> optimizer = optim.Muon([weight], lr=1.0)
        >>> (weight * tensorbus.tensor([[3.0, 0.0], [0.0, -3.0]])).sum().backward()
        >>> optimizer.step()
        >>> (weight.detach().abs() - tensorbus.eye(2)).abs().max() < 0.4
        tensor(True)

    Source: https://pytorch.org/docs/stable/generated/torch.optim.Muon.html
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for what, value in (
            ("Learning rate", lr),
            ("momentum", momentum),
            ("weight decay", weight_decay),
        ):
            if not value >= 0.0:
                raise ValueError(f"{what} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}"
                    )

    def _update(self, group: dict[str, Any]) -> None:
        lr, momentum = float(group["lr"]), group["momentum"]
        for param, grad in self._gradients(group):
            if param.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            if grad.is_sparse:
                raise RuntimeError("Muon does not support sparse gradients")
            state = self.state[param]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = tensorbus.zeros_like(grad)
            v = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            direction = grad.lerp(v, momentum) if group["nesterov"] else v
            update = _orthogonal(
                direction, group["ns_coefficients"], group["ns_steps"], group["eps"]
            )
            param.mul_(1 - lr * group["weight_decay"])
            param.add_(update, alpha=-lr * _factor(group["adjust_lr_fn"], *param.shape))


def _factor(adjust: str | None, rows: int, columns: int) -> float:
    """What the rate of a matrix is multiplied by."""
    if adjust == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """A matrix with the singular vectors of *matrix*, and singular values about 1."""
    if steps >= _LARGEST_COUNT:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = tensorbus.addmm(x, tensorbus.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
