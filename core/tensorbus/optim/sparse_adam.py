"""Adam for gradients of sparse layout."""

from __future__ import annotations

import math
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim.optimizer import Optimizer, ParamsT


class SparseAdam(Optimizer):
    """Adam of those entries alone that a sparse gradient has.

    Means and parameters of other entries stay as they are, where Adam would go on with the old
    means. Such gradients come from ``nn.Embedding(sparse=True)``.

    Args:
        params: dense tensors, pairs of name and tensor, or groups.
        lr: learning rate.
        betas: how much of the old means remains.
        eps: added to the root.
        maximize: go up instead of down.

    ValueError for sparse and for complex parameters, RuntimeError for dense gradients.

    Example:
        >>> weight = nn.Parameter(tensorbus.ones(2))
        >>> optimizer = optim.SparseAdam([weight], lr=0.5)
        >>> weight.sum().backward()
        >>> optimizer.step()
        Traceback (most recent call last):
        RuntimeError: SparseAdam does not support dense gradients, please consider Adam instead

    Source: https://pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse("Sparse", lambda p: p.is_sparse, "requires dense parameter tensors")
        self._refuse("Complex", Tensor.is_complex, "does not support complex parameters")

    def _refuse(self, what: str, is_one: Any, why: str) -> None:
        found = [
            [index, position]
            for index, group in enumerate(self.param_groups)
            for position, param in enumerate(group["params"])
            if is_one(param)
        ]
        if found:
            raise ValueError(f"{what} params at indices {found}: SparseAdam {why}")

    def _update(self, group: dict[str, Any]) -> None:
        for _ in self._gradients(group):
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

    def _take_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        state = self.state[param]
        if not state:
            state["step"] = 0
            state["exp_avg"] = tensorbus.zeros_like(param)
            state["exp_avg_sq"] = tensorbus.zeros_like(param)
        state["step"] += 1
        _step(param, grad.coalesce(), state, group)


def _step(param: Tensor, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    indices, values = grad._indices(), grad._values()
    if not values.numel():
        return
    if group["maximize"]:
        values = -values
    (beta1, beta2), steps = group["betas"], state["step"]
    where = tuple(indices)
    means = []
    for name, beta, new in (("exp_avg", beta1, values), ("exp_avg_sq", beta2, values.square())):
        mean = state[name][where].lerp(new, 1 - beta)
        state[name].index_put_(where, mean)
        means.append(mean)
    first, second = means
    size = float(group["lr"]) * math.sqrt(1 - beta2**steps) / (1 - beta1**steps)
    param.index_put_(where, -size * first / second.sqrt().add_(group["eps"]), accumulate=True)
