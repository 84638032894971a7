"""Losses with margins between classes, of several labels, and of Gaussian outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.nn.functional.activations import logsigmoid
from tensorbus.nn.functional.losses import check_ranks, pairwise_distance
from tensorbus.nn.functional.reduction import chosen, reduced
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.plugin.faults import Wording, told

__all__ = [
    "gaussian_nll_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _rows(input: Tensor) -> Tensor:
    """One row for each sample; RuntimeError for other ranks, or without classes."""
    if input.dim() > 2 or (input.dim() and not input.shape[-1]):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    return input if input.dim() == 2 else input.reshape(1, -1)


def _check_classes(target: Tensor) -> None:
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(target.dtype)}")


def _picked(x: Tensor, classes: Tensor, text: str) -> Tensor:
    if classes.device != x.device:
        return x.gather(1, classes)  # which refuses in its own words
    return told(Wording(text, RuntimeError), x._k.backend.traits.host_sync, x.gather, 1, classes)


@composed(node="MultiMarginLossBackward0", autocast="float32")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of ``max(0, margin - x[y] + x[i]) ** p``, of all but the target y.

    >>> x, y = tensorbus.tensor([[0.1, 0.2, 0.4]]), tensorbus.tensor([2])
    >>> tensorbus.nn.functional.multi_margin_loss(x, y)
    tensor(0.5000)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiMarginLoss.html
    """
    reduction = chosen(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    x = _rows(input)
    _check_classes(target)
    if target.numel() != x.shape[0] or target.dim() > 1:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{x.shape[0]}], but got "
            f"{list(target.shape)}. Input has shape {list(input.shape)}."
        )
    count = x.shape[1]
    if weight is not None and weight.shape[0] != count:
        raise RuntimeError(
            f"inconsistent weight size, expected {count} but got {list(weight.shape)}"
        )
    classes = target.reshape(-1, 1)
    terms = (margin - _picked(x, classes, "target out of range") + x).clamp(min=0)
    terms = terms * terms if p == 2 else terms
    if weight is not None:
        terms = terms * weight[classes]
    own = FUNCTIONS["arange"](count, device=x.device) == classes
    loss = terms.masked_fill(own, 0).sum(1) / count
    return reduced(loss if input.dim() == 2 else loss[0], reduction)


@composed(node="MultilabelMarginLossBackward0", autocast="float32")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of ``max(0, 1 - (x[y] - x[i]))``, summed over targets y and others i.

    The targets of a sample are the classes before the first -1.

    >>> x, y = tensorbus.tensor([0.1, 0.2, 0.4, 0.8]), tensorbus.tensor([3, 0, -1, 1])
    >>> tensorbus.nn.functional.multilabel_margin_loss(x, y)
    tensor(0.8500)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelMarginLoss.html
    """
    reduction = chosen(reduction, size_average, reduce)
    x = _rows(input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    _check_classes(target)
    count, y = x.shape[1], target.reshape(x.shape)
    used = (y == -1).cumsum(1) == 0
    # What is no class is one too many, which the look-up refuses on every device.
    wrong = (y < -1).logical_or(y >= count)
    classes = y.masked_fill(used.logical_not(), 0).masked_fill(wrong, count)
    picked = _picked(x, classes, "argument #2 'target' is out of range")
    named = FUNCTIONS["zeros_like"](y).scatter_add(1, classes, used.to(y.dtype)) > 0
    terms = (1 - picked.unsqueeze(2) + x.unsqueeze(1)).clamp(min=0)
    counts = used.unsqueeze(2).logical_and(named.logical_not().unsqueeze(1))
    loss = terms.masked_fill(counts.logical_not(), 0).sum((1, 2)) / count
    return reduced(loss if input.dim() == 2 else loss[0], reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes, the last dimension, of the binary cross entropies of logits.

    >>> x, y = tensorbus.zeros(2, 3), tensorbus.ones(2, 3)
    >>> tensorbus.nn.functional.multilabel_soft_margin_loss(x, y)
    tensor(0.6931)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelSoftMarginLoss.html
    """
    if size_average is not None or reduce is not None:
        reduction = chosen(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(-1) / input.shape[-1]
    return reduced(loss, _valid(reduction))


def _valid(reduction: str) -> str:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return reduction


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """``(log(max(var, eps)) + (input - target)**2 / max(var, eps)) / 2``; *full* adds its constant.

    *var* is a number, has the input's shape, or lacks its last dimension or has it with size 1.

    >>> x, y = tensorbus.zeros(2, 3), tensorbus.ones(2, 3)
    >>> tensorbus.nn.functional.gaussian_nll_loss(x, y, 1.0)
    tensor(0.5000)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.GaussianNLLLoss.html
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        v = var * FUNCTIONS["ones_like"](input)
    elif var._k.has_values and bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    else:
        v = var
    if v.shape != input.shape:
        if input.shape[:-1] == v.shape:
            v = v.unsqueeze(-1)
        elif input.shape[:-1] != v.shape[:-1] or v.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    _valid(reduction)
    v = v.clone()
    with no_grad():  # a variance that is too small keeps its gradient
        v.clamp_(min=eps)
    loss = 0.5 * (v.log() + (input - target) ** 2 / v)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` for a distance d.

    >>> x, y = tensorbus.zeros(1, 4), tensorbus.full((1, 4), 0.5)
    >>> tensorbus.nn.functional.triplet_margin_with_distance_loss(x, x, y, margin=2.0)
    tensor(1.0000)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.TripletMarginWithDistanceLoss.html
    """
    reduction = chosen(reduction)
    distance = pairwise_distance if distance_function is None else distance_function
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    check_ranks(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction)
