"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from tensorbus._tensor.tensor import Tensor
from tensorbus.optim.adam import Adam
from tensorbus.optim.optimizer import ParamsT


class AdamW(Adam):
    """Adam with decoupled weight decay: each step also shrinks parameters by lr weight_decay.

    Args: as for ``Adam``, with *weight_decay* 0.01 by default.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
