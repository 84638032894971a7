"""Sums, means and maxima of bags of embeddings."""

from __future__ import annotations

from functools import partial
from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.linear import (
    check_frequency,
    check_indices,
    divided_by_frequency,
    renormalise,
)
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.plugin.faults import Wording, told

_INDEX = Wording(
    "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {value}",
    RuntimeError,
)


@composed(node="EmbeddingBagBackward0")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or max over each bag of the rows of *weight* that integers name.

    *input* is (B, N), a bag in each row, or holds all bags in one dimension, where *offsets* says
    at which index each begins, and with *include_last_offset* where the last one ends. An empty bag
    gives zeros. *padding_idx* names a row that is in no bag. The embeddings themselves are not
    made. Where a device finds bad indices and offsets late, their errors come later.

    >>> table = tensorbus.arange(6.0).view(3, 2)
    >>> indices, offsets = tensorbus.tensor([0, 1, 2]), tensorbus.tensor([0, 2])
    >>> tensorbus.nn.functional.embedding_bag(indices, table, offsets, mode="sum")
    tensor([[2., 4.],
            [4., 5.]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.embedding_bag.html
    """
    if weight.dtype is dtypes.int64 and input.is_floating_point():
        warn_user(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    factors = per_sample_weights
    if factors is not None and input.shape != factors.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must "
            f"have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    _check_form(input, offsets)
    _check_mode(mode, scale_grad_by_freq, sparse, factors)
    if max_norm is not None:
        check_indices("embedding_renorm_", input, 2)
        renormalise(input, weight, max_norm, norm_type)
    _check_operands(input, weight, offsets, factors)
    padding = _padding(padding_idx, weight.shape[0])

    indices = input.long().reshape(-1)
    bounds = _bounds(input, offsets, include_last_offset)
    table = divided_by_frequency(weight, indices) if scale_grad_by_freq else weight
    sync = weight._k.backend.traits.host_sync
    if mode == "max":
        return told(_INDEX, sync, core("bag_max"), table, indices, bounds, padding)[0]
    factors = None if factors is None else factors.reshape(-1)
    if sparse and weight.requires_grad:
        check_frequency(scale_grad_by_freq)
        bags = partial(registered.bags_with_sparse_gradient, weight, factors, indices, bounds)
    else:
        bags = partial(core("bag_sum"), table, indices, bounds, factors)
    total = told(_INDEX, sync, bags, padding)
    return total if mode == "sum" else total / _counts(total, weight, indices, bounds, padding)


def _check_form(input: Tensor, offsets: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if input.dim() == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
            f"fixed length sequences. However, found offsets of type {type(offsets)}"
        )
    if input.dim() == 2 and not input.shape[1]:
        raise RuntimeError("step must be nonzero")
    if input.dim() == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets is not None and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")


def _check_mode(mode: str, by_frequency: bool, sparse: bool, factors: Tensor | None) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )


def _check_operands(
    input: Tensor, weight: Tensor, offsets: Tensor | None, factors: Tensor | None
) -> None:
    for t in (input, offsets):
        if t is not None:
            check_indices("embedding_bag", t)
            check_device(weight, t)
    if weight._k.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            f"Half, BFloat16, Float, Double; but got {weight.type()} instead (while checking "
            "arguments for embedding_bag)"
        )
    if factors is not None and factors._k is not weight._k:
        check_device(weight, factors)
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {weight.type()} does not equal {factors.type()} "
            "(while checking arguments for embedding_bag)"
        )


def _padding(given: int | None, n: int) -> int:
    if given is None:
        return -1
    if not -n <= given < n:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-n} through {n - 1}, but got "
            f"{given}"
        )
    return given % n


def _bounds(input: Tensor, offsets: Tensor | None, with_last: bool) -> Tensor:
    """Where the bags begin, and where the last one ends."""
    n = input.shape.numel()
    if offsets is None:
        options = {"dtype": dtypes.int64, "device": input.device}
        return FUNCTIONS["arange"](0, n + 1, input.shape[1], **options)
    if with_last and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    offsets = offsets.long()
    _check_offsets(offsets, n)
    return offsets if with_last else FUNCTIONS["cat"]([offsets, offsets.new_full((1,), n)])


def _check_offsets(offsets: Tensor, n: int) -> None:
    """What a device that raises at once is asked for; others find it as an index fault."""
    if not offsets.shape[0] or not offsets._k.backend.traits.host_sync:
        return
    values: Any = offsets._k.every_value(offsets._a)
    first, last = values[..., 0], values[..., -1]
    if (first != 0).any():
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {first.ravel()[0]}"
        )
    if (last > n).any():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of "
            f"{last.ravel()[0]}"
        )
    if (values[..., 1:] < values[..., :-1]).any():
        raise RuntimeError(
            "offsets have to ascend: each is where a bag begins, and the one before ends"
        )


def _counts(total: Tensor, weight: Tensor, indices: Tensor, bounds: Tensor, padding: int) -> Tensor:
    """How many embeddings there are in each bag, at least one, as a column."""
    if padding < 0:
        found = (bounds[1:] - bounds[:-1]).to(total.dtype).unsqueeze(1)
    else:
        ones = weight.new_ones(weight.shape[0], 1)
        found = core("bag_sum")(ones, indices, bounds, None, padding)
    return found.clamp(min=1)
