"""Losses."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tensorbus import dtypes
from tensorbus._tensor import Tensor
from tensorbus.ops.generate import core
from tensorbus.ops.layouts import broadcast_shapes


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _pair(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one shape; PyTorch's warning where they had to be broadcast."""
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=4,
        )
        shape = broadcast_shapes(tuple(input.shape), tuple(target.shape))
        return input.expand(shape), target.expand(shape)
    return input, target


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of squared differences."""
    a, b = _pair(input, target)
    d = (a - b).square()
    return _reduced(d if weight is None else d * weight, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of absolute differences."""
    a, b = _pair(input, target)
    d = (a - b).abs()
    return _reduced(d if weight is None else d * weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squares of differences below *beta*, absolute values beyond."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    a, b = _pair(input, target)
    return _reduced(core("smooth_l1")(a, b, float(beta)), reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``smooth_l1_loss`` times *delta*."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    a, b = _pair(input, target)
    loss = core("smooth_l1")(a, b, float(delta)) * delta
    return _reduced(loss if weight is None else loss * weight, reduction)


# -- classes ---------------------------------------------------------------------------------
def _class_rows(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Scores as (rows, C), class numbers as (rows,), and the shape of the losses."""
    if input.dim() == 1:
        if target.dim() != 0:
            raise RuntimeError(f"{name}: scores of shape {input.shape} need one class number")
        return input.unsqueeze(0), target.reshape(1), ()
    shape = (input.shape[0], *input.shape[2:])
    if tuple(target.shape) != shape:
        if target.dim() and input.shape[0] != target.shape[0]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                f"({target.shape[0]})."
            )
        raise RuntimeError(f"Expected target size {list(shape)}, got {list(target.shape)}")
    if input.dim() == 2:
        return input, target, shape
    c = input.shape[1]
    return input.movedim(1, -1).reshape(-1, c), target.reshape(-1), shape


def _class_loss(
    row: str,
    name: str,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
) -> Tensor:
    if target.dtype is not dtypes.int64:
        if target._k.dtype.category != dtypes.INTEGER:
            found = target._k.dtype.legacy.removesuffix("Tensor")
            raise RuntimeError(f"expected scalar type Long but found {found}")
        target = target.long()
    rows, classes, shape = _class_rows(name, input, target)
    c = rows.shape[1]
    if row == "cross_entropy_rows" and weight is None and reduction == "mean" and rows.numel():
        return _checked(classes, "cross_entropy_mean", rows, classes, ignore_index)
    counted = classes != ignore_index
    loss = _checked(classes, row, rows, classes, counted)
    if weight is not None:
        if weight.dim() != 1 or weight.shape[0] != c:
            raise RuntimeError(
                f"weight tensor should be defined either for all {c} classes or no classes but "
                f"got weight tensor of shape: {list(weight.shape)}"
            )
        each = weight.index_select(0, classes * counted.long()) * counted.to(weight.dtype)
        loss = loss * each
    if reduction == "none":
        return loss.reshape(shape)
    total = loss.sum()
    if reduction == "sum":
        return total
    if reduction != "mean":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    count = counted.to(loss.dtype).sum() if weight is None else each.sum()
    return total / count


def _checked(classes: Tensor, row: str, *operands: Any) -> Tensor:
    """The row's result; a class number outside the scores is named as such."""
    try:
        return core(row)(*operands)
    except IndexError as error:
        wrong = getattr(error, "value", None)
        if wrong is None:
            raise
        raise IndexError(f"Target {wrong} is out of bounds.") from None


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The negated log-probability of each row's class, averaged by the classes' weights."""
    return _class_loss("nll_rows", "nll_loss", input, target, weight, ignore_index, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``nll_loss`` of ``log_softmax``; targets are class numbers, or probabilities of all classes.

    *input* is (N, C), (C,) or (N, C, d1, ...).
    """
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.shape == input.shape and target.is_floating_point():
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    if label_smoothing == 0.0:
        return _class_loss(
            "cross_entropy_rows", "cross_entropy", input, target, weight, ignore_index, reduction
        )
    return _smoothed(input, target, weight, ignore_index, reduction, label_smoothing)


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    dim = 0 if input.dim() == 1 else 1
    if smoothing:
        target = target * (1 - smoothing) + smoothing / input.shape[dim]
    log_p = input.log_softmax(dim)
    if weight is not None:
        log_p = log_p * weight.view(-1, *(1,) * (input.dim() - dim - 1))
    loss = -(log_p * target).sum(dim)
    if reduction == "mean":
        return loss.sum() / max(input.numel() // input.shape[dim], 1)
    return _reduced(loss, reduction)


def _smoothed(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore: int,
    reduction: str,
    smoothing: float,
) -> Tensor:
    log_p = input.log_softmax(0 if input.dim() == 1 else 1)
    nll = nll_loss(log_p, target, weight, None, ignore, None, reduction)
    rows, classes, shape = _class_rows("cross_entropy", log_p, target)
    c = rows.shape[1]
    counted = (classes != ignore).to(rows.dtype)
    spread = -(rows if weight is None else rows * weight).sum(1) * counted
    if reduction == "none":
        smooth = spread.reshape(shape)
    elif reduction == "sum":
        smooth = spread.sum()
    elif weight is None:
        smooth = spread.sum() / counted.sum()
    else:
        each = weight.index_select(0, classes * counted.long()) * counted
        smooth = spread.sum() / each.sum()
    return nll * (1 - smoothing) + smooth * (smoothing / c)


# -- probabilities ---------------------------------------------------------------------------
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy of probabilities; logarithms are cut at -100."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    loss = -(
        target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100)
    )
    return _reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``binary_cross_entropy`` of ``sigmoid(input)``, without overflow."""
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    if pos_weight is None:
        loss = core("bce_logits")(input, target)
    else:
        log_weight = (pos_weight - 1) * target + 1
        loss = (1 - target) * input - log_weight * core("log_sigmoid")(input)
    return _reduced(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities *input* from *target*."""
    if log_target:
        loss = target.exp() * (target - input)
    else:
        positive = target > 0
        safe = target.masked_fill(~positive, 1.0)
        loss = target * (safe.log() - input)
    if reduction == "batchmean":
        return loss.sum() / input.shape[0]
    return _reduced(loss, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The negated log-likelihood of Poisson counts."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, reduction)


# -- margins ---------------------------------------------------------------------------------
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The distance itself for target 1, what it lacks of the margin for -1."""
    positive = input.masked_fill(target != 1, 0)
    negative = (margin - input).clamp(min=0).masked_fill(target == 1, 0)
    return _reduced(positive + negative, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``."""
    return _reduced((-target * input).exp().log1p(), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` for target 1, what the cosine exceeds the margin by for -1."""
    dim = target.dim()
    if input1.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    floor = 1e-12
    product = (input1 * input2).sum(dim)
    squares = ((input1 * input1).sum(dim) + floor) * ((input2 * input2).sum(dim) + floor)
    cosine = product / squares.sqrt()
    loss = (1 - cosine).masked_fill(target != 1, 0)
    return _reduced(loss + (cosine - margin).clamp(min=0).masked_fill(target != -1, 0), reduction)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of the differences along the last dimension."""
    d = (x1 - x2 + eps).abs()
    if p == math.inf:
        return d.amax(-1, keepdim)
    return d.pow(p).sum(-1, keepdim).pow(1.0 / p)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    norms = [x.square().sum(dim, keepdim=True).sqrt().clamp(min=eps) for x in (x1, x2)]
    return (x1 / norms[0] * (x2 / norms[1])).sum(dim)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = core("minimum")(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp(min=0), reduction)


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "hinge_embedding_loss", "huber_loss", "kl_div",
    "l1_loss", "margin_ranking_loss", "mse_loss", "nll_loss", "pairwise_distance",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip
