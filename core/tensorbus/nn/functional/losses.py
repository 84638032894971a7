"""Losses."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.nn.functional.domains import (
    check_fits,
    promoted,
    refuse_complex,
    refuse_gradient,
    refuse_integers,
)
from tensorbus.nn.functional.reduction import check_weight, chosen, reduced, weighted
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.rows.layouts import broadcast_shapes


def _pair(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one shape; PyTorch's warning where they had to be broadcast."""
    if input.shape != target.shape:
        warn_user(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
        )
        return _broadcast(input, target)
    return input, target


def _difference(input: Tensor, target: Tensor) -> Tensor:
    _pair(input, target)
    return input - target


def _broadcast(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    if a._s is b._s:
        return a, b
    shape = broadcast_shapes(tuple(a._s), tuple(b._s))
    return a.expand(shape), b.expand(shape)


@composed(node="MseLossBackward0", autocast="float32")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of squared differences."""
    reduction = chosen(reduction, size_average, reduce)
    if weight is not None:
        return weighted(_difference(input, target).square(), weight, input, reduction)
    a, b = _pair(*promoted("sub", input, target))
    refuse_complex("mse_cpu", a)
    refuse_integers("mse_cpu", a)
    return reduced((a - b).square(), reduction)


@autocasts("float32")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of absolute differences."""
    reduction = chosen(reduction, size_average, reduce)
    return weighted(_difference(input, target).abs(), weight, input, reduction)


@composed(node="SmoothL1LossBackward0", layout="order", operands=2, autocast="float32")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squares of differences below *beta*, absolute values beyond."""
    reduction = chosen(reduction, size_average, reduce)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(_difference(input, target).abs(), reduction)
    a, b = _pair(*promoted("smooth_l1", input, target))
    refuse_integers("smooth_l1_cpu", a)
    return reduced(core("smooth_l1")(a, b, float(beta)), reduction)


@composed(node="HuberLossBackward0", layout="order", operands=2, autocast="float32")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``smooth_l1_loss`` times *delta*."""
    reduction = chosen(reduction)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if input._k.dtype.category < target._k.dtype.category:
        raise RuntimeError(
            f"result type {scalar_name(target._k.dtype)} can't be cast to the desired output type "
            f"{scalar_name(input._k.dtype)}"
        )
    a, b = _pair(*promoted("smooth_l1", input, target))
    refuse_integers("huber_cpu", a)
    delta = float(delta)
    if delta > dtypes.finfo(a._k.dtype.to_real()).max:  # no difference is beyond it
        loss = (a - b).square() * 0.5
    else:
        loss = core("smooth_l1")(a, b, delta) * delta
    loss = to_kind(loss, input._k)
    if weight is not None:
        check_weight(weight, input)
    return reduced(loss if weight is None else loss * weight, reduction)


# -- margins ---------------------------------------------------------------------------------
@autocasts("float32")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The distance itself for target 1, what it lacks of the margin for -1."""
    reduction = chosen(reduction, size_average, reduce)
    positive = input.masked_fill(target == -1, 0)
    # The margin is of the input's dtype: integers stay integers.
    least = margin if input.is_floating_point() else input.new_full((), margin)
    negative = (least - input).clamp(min=0).masked_fill(target == 1, 0)
    return reduced(positive + negative, reduction)


@autocasts("float32")
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
    reduction = chosen(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


@composed(node="SoftMarginLossBackward0", autocast="float32")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``."""
    reduction = chosen(reduction, size_average, reduce)
    refuse_gradient("soft_margin_loss", target=target)
    check_fits(target, input)
    if target._k.dtype.category > input._k.dtype.category:
        raise RuntimeError(
            f"result type of input {scalar_name(input._k.dtype)} and target "
            f"{scalar_name(target._k.dtype)} can't be cast to the desired output type "
            f"{scalar_name(input._k.dtype)}"
        )
    refuse_integers("soft_margin_loss", input)
    each = (-(target * input)).exp().log1p()
    return reduced(each.to(input.dtype), reduction)


@autocasts("float32")
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
    reduction = chosen(reduction, size_average, reduce)
    dim = target.dim()
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != dim + 1 or input2.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    floor = 1e-12
    product = (input1 * input2).sum(dim)
    squares = ((input1 * input1).sum(dim) + floor) * ((input2 * input2).sum(dim) + floor)
    cosine = product / squares.sqrt()
    loss = (1 - cosine).masked_fill(target != 1, 0)
    return reduced(loss + (cosine - margin).clamp(min=0).masked_fill(target != -1, 0), reduction)


@composed(node="NormBackward1", autocast="device float32")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of the differences along the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@composed(node="PdistBackward0")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows: (N, M) to N * (N - 1) / 2 values."""
    if len(input._s) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input._s)}D")
    if input._k.dtype.category != dtypes.FLOAT:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    n = input.shape[0]
    first, second = FUNCTIONS["triu_indices"](n, n, 1, device=input.device)
    return (input[first] - input[second]).norm(p, 1)


@composed(node="SumBackward1", autocast="device float32")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    x1, x2 = _broadcast(*promoted("mul", x1, x2))
    if x1._k.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{scalar_name(x1._k.dtype)}"
        )
    norms = [x.norm(2, dim, True).clone() for x in (x1, x2)]
    with no_grad():  # the derivatives are those of the norms themselves, however small
        for norm in norms:
            norm.clamp_(min=eps)
    return (x1 / norms[0] * (x2 / norms[1])).sum(dim)


def check_ranks(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    """RuntimeError unless all have one rank."""
    ranks = [t.dim() for t in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative "
            f"{ranks[2]}D inputs"
        )


@autocasts("float32")
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
    reduction = chosen(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    check_ranks(anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced((near - far + margin).clamp(min=0), reduction)


__all__ = [
    "cosine_embedding_loss",
    "cosine_similarity", "hinge_embedding_loss", "huber_loss",
    "l1_loss", "margin_ranking_loss", "mse_loss", "pairwise_distance", "pdist",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip
