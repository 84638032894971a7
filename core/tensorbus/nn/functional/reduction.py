"""How losses are reduced: the names, and the two older flags."""

from __future__ import annotations

from typing import Any

from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The loss as a reduction that ``chosen`` has found valid makes it."""
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def meant_by_flags(size_average: Any, reduce: Any) -> str:
    """The reduction that the two older flags mean, where either is given."""
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def warn_of_flags(meant: str) -> None:
    """Warn of the two older flags, which mean a reduction."""
    warn_user(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead."
    )


def chosen(reduction: str, size_average: Any = None, reduce: Any = None, *also: str) -> str:
    """The reduction asked for, by its name or by the two older flags (with a warning).

    ValueError unless it is one of the three, or of *also*.
    """
    if size_average is not None or reduce is not None:
        meant = meant_by_flags(size_average, reduce)
        warn_of_flags(meant)
        return meant
    if reduction in ("mean", "sum", "none") or reduction in also:
        return reduction
    if reduction == "elementwise_mean":
        warn_user(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
        )
        return "mean"
    raise ValueError(f"{reduction} is not a valid value for reduction")


def weighted(loss: Tensor, weight: Tensor | None, input: Tensor, reduction: str) -> Tensor:
    """The reduced loss; a weighted mean divides by the sum of the weights."""
    if weight is None:
        return reduced(loss, reduction)
    check_weight(weight, input)
    total = reduced(loss * weight, "sum" if reduction == "mean" else reduction)
    return total / weight.sum() if reduction == "mean" else total


def check_weight(weight: Tensor, input: Tensor) -> None:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
