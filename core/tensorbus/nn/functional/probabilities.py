"""Losses of probabilities, their logarithms and their logits."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import (
    check_fits,
    promoted,
    refuse_gradient,
    refuse_integers,
)
from tensorbus.nn.functional.reduction import chosen, reduced
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.ops.reduce.value_checks import refuse_values


@composed(node="BinaryCrossEntropyBackward0", autocast="cpu float32, device refuse")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy of probabilities; logarithms are cut at -100.

    RuntimeError for a probability outside [0, 1]: devices that compute later raise it at the next
    read.
    """
    reduction = chosen(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if target._k is not input._k:
        check_device(input, target)
        raise RuntimeError(
            f"Found dtype {scalar_name(target._k.dtype)} but expected "
            f"{scalar_name(input._k.dtype)}: input and target must have one dtype"
        )
    refuse_gradient("binary_cross_entropy", weight=weight)
    check_fits(weight, input)
    _check_probabilities(input=input, target=target)
    return reduced(_scaled(core("bce")(input, target), weight), reduction)


def _scaled(loss: Tensor, weight: Tensor | None) -> Tensor:
    """The loss times weights that are converted to its dtype."""
    if weight is None:
        return loss
    if weight._k.dtype.category > loss._k.dtype.category:
        raise RuntimeError(
            f"result type {scalar_name(weight._k.dtype)} can't be cast to the desired output type "
            f"{scalar_name(loss._k.dtype)}"
        )
    return to_kind(loss * weight, loss._k)


def _check_probabilities(**operands: Tensor) -> None:
    """Refuse values outside [0, 1] and NaN."""
    if operands["input"]._k.is_float:
        wrong = {name: core("outside_unit")(x.detach()) for name, x in operands.items()}
        refuse_values(
            (wrong["input"], "all elements of input should be between 0 and 1"),
            (wrong["target"], "all elements of target should be between 0 and 1"),
        )


@composed(
    node="BinaryCrossEntropyWithLogitsBackward0", layout="order", operands=2, autocast="float32"
)
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
    reduction = chosen(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    refuse_integers("log_sigmoid_cpu", input)
    if target._k.dtype.category != dtypes.FLOAT:
        found = scalar_name(target._k.dtype)
        raise RuntimeError(
            f"result type {scalar_name(input._k.dtype)} can't be cast to the desired output type "
            f"{found}: targets must be floating point"
        )
    name = "binary_cross_entropy_with_logits"
    refuse_gradient(name, weight=weight, pos_weight=pos_weight)
    check_fits(weight, input)
    check_fits(pos_weight, input)
    if pos_weight is None:
        loss = core("bce_logits")(*promoted("bce_logits", input, target))
    else:
        log_weight = (pos_weight - 1) * target + 1
        loss = (1 - target) * input - _scaled(core("log_sigmoid")(input), log_weight)
    return reduced(_scaled(to_kind(loss, target._k), weight), reduction)


@autocasts("float32")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities *input* from *target*."""
    named, reduction = reduction, chosen(reduction, size_average, reduce, "batchmean")
    for t in (input, target):
        if t._k.dtype.category != dtypes.FLOAT:
            kind = "Complex" if t._k.dtype.is_complex else "Integral"
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    if reduction == "mean":
        warn_user(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
        )
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    total = reduced(loss, "sum" if reduction == "batchmean" else reduction)
    # By its name it is divided, whatever the older flags say: so PyTorch has it.
    return total / input._s[0] if named == "batchmean" and input._s else total


@autocasts("float32")
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
    reduction = chosen(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss",
]  # fmt: skip
