"""Losses with margins between classes, of several labels, and of Gaussian outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules.distance import PairwiseDistance
from tensorbus.nn.modules.loss import _Loss, _WeightedLoss

__all__ = [
    "GaussianNLLLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class MultiMarginLoss(_WeightedLoss):
    """The mean over classes of max(0, margin - x[y] + x[i])^p, of all but the target y.

    Shapes: the input is (N, C) or (C,), the target (N,) or (), the weight (C,).

    Raises:
        ValueError: *p* is not 1 or 2, or the weight has not one dim.

    Example:
        >>> nn.MultiMarginLoss()(tensorbus.tensor([[0.1, 0.2, 0.4]]), tensorbus.tensor([2]))
        tensor(0.5000)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiMarginLoss.html
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{weight.dim()}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, self.p, self.margin, self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """The mean over classes of max(0, 1 - (x[y] - x[i])), summed over targets y and others i.

    Shapes: input and target are (N, C) or (C,); the targets of a sample are the classes before the
    first -1.

    Example:
        >>> x = tensorbus.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiLabelMarginLoss()(x, tensorbus.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelMarginLoss.html
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the binary cross entropies of logits.

    Shapes: input and target are (N, C), the weight (C,); the result is reduced from (N,).

    Example:
        >>> nn.MultiLabelSoftMarginLoss()(tensorbus.zeros(2, 3), tensorbus.ones(2, 3))
        tensor(0.6931)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelSoftMarginLoss.html
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """(log(v) + (x - y)^2 / v) / 2 with v = max(var, eps); *full* adds log(2 pi) / 2.

    Called with input, target and var, which is a number, has the input's shape, or lacks its last
    dim or has it with size 1. ValueError for other sizes, and where a variance is negative.

    Example:
        >>> nn.GaussianNLLLoss()(tensorbus.zeros(2, 3), tensorbus.ones(2, 3), tensorbus.ones(2, 3))
        tensor(0.5000)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.GaussianNLLLoss.html
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for a distance d.

    Args:
        distance_function: d, of two tensors; ``PairwiseDistance()`` unless given.
        margin: above 0.
        swap: whether d(positive, negative) is used where it is less than d(anchor, negative).

    Raises:
        ValueError: *margin* is not above 0.

    Example:
        >>> loss = nn.TripletMarginWithDistanceLoss(margin=2.0)
        >>> loss(tensorbus.zeros(1, 4), tensorbus.zeros(1, 4), tensorbus.full((1, 4), 0.5))
        tensor(1.0000)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.TripletMarginWithDistanceLoss.html
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(None, None, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin}"
                " instead"
            )
        self.distance_function: Any = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip
