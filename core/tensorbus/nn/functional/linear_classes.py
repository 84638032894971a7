"""Cross entropy of scores that are a linear map of the input, in chunks of rows where asked for."""

from __future__ import annotations

import dataclasses
from typing import Literal

from tensorbus._base import dtypes
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.classification import cross_entropy
from tensorbus.nn.functional.linear import linear
from tensorbus.op_engine.names import FUNCTIONS

_ACCURACIES = ("auto", "accurate", "balanced", "compact")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How ``linear_cross_entropy`` cuts a batch, so that the scores of all rows are never together.

    Args:
        allow_retain_graph: kept; a second backward pass always works.
        batch_chunk_size: rows of a chunk.
        chunking_method: ``aspect_ratio`` makes the scores of a chunk about as large as the input,
            ``aspect_ratio:N`` N times smaller; ``auto`` is ``aspect_ratio:2``, or
            *batch_chunk_size* where that is given.
        acc_policy: ``auto``, ``accurate``, ``balanced`` or ``compact``; kept without effect.
        acc_dtype: a floating point dtype or None; kept without effect.

    Scores are computed again in the backward pass. ValueError for other values.

    >>> tensorbus.nn.LinearCrossEntropyOptions(batch_chunk_size=8).batch_chunk_size
    8

    Source: https://pytorch.org/docs/stable/generated/torch.nn.LinearCrossEntropyOptions.html
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: dtypes.dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _ACCURACIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        method = self.chunking_method
        if method not in (None, "auto", "aspect_ratio"):
            name, _, factor = str(method).partition(":")
            if name != "aspect_ratio" or not factor.isdigit() or not int(factor):
                raise ValueError(f"invalid chunking_method: {method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and not self.acc_dtype.is_floating_point:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )

    def _rows(self, rows: int, features: int, classes: int) -> int:
        """How many of the rows of a batch make a chunk."""
        size, method = self.batch_chunk_size, self.chunking_method
        if method is None or (method == "auto" and size is not None):
            return min(size or rows, rows)
        factor = int("2" if method == "auto" else method.partition(":")[2] or "1")
        target = -(-rows // max(-(-classes // max(features, 1)), 1))
        found = min((1 << max(target - 1, 0).bit_length()) // factor, rows)
        if size is not None and min(size, rows) != found:
            raise ValueError(
                f"batch_chunk_size (={size}) and chunking_method ('{method}') give different chunk "
                f"sizes ({size} vs {found}); pass only one."
            )
        return max(found, 1)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy`` of ``linear(input, linear_weight, linear_bias)``.

    *input* is (N, F) or (F), *linear_weight* (C, F), or (C, d1, ..., F) for a target of several
    dimensions. With *options* the batch is computed in chunks, so that less memory is needed.

    >>> x, w = tensorbus.zeros(2, 3), tensorbus.zeros(4, 3)
    >>> F = tensorbus.nn.functional
    >>> F.linear_cross_entropy(x, w, tensorbus.tensor([1, 3])).exp()
    tensor(4.)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.linear_cross_entropy.html
    """
    lead, classes, more = _checked(input, linear_weight, linear_bias)
    if target.shape == (*lead, classes, *more) and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    whole = bool(more) or label_smoothing != 0.0 or target.dtype is not dtypes.int64
    whole = whole or reduction not in ("mean", "sum", "none")
    if options is not None and whole:
        warn_user(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
            "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == "
            f"(). Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
            f"target.dtype={target.dtype}, out_features={tuple(more)}."
        )
    if options is not None and not whole and lead and input.shape[0]:
        rows = options._rows(input.shape[0], input.shape[1], classes)
        return _in_chunks(
            input, linear_weight, linear_bias, target, weight, reduction, ignored, rows
        )
    features = input.shape[-1]
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, features), bias)
    return cross_entropy(
        scores.reshape(*lead, classes, *more),
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _checked(
    input: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """The batch's shape, the number of classes, and the target's further dimensions."""
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        )
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    lead, classes, more = tuple(input.shape[:-1]), weight.shape[0], tuple(weight.shape[1:-1])
    if bias is not None and tuple(bias.shape) != (classes, *more):
        raise RuntimeError(
            f"expected linear_bias shape {(classes, *more)}, got {tuple(bias.shape)}"
        )
    if more and not lead:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    return lead, classes, more


def _in_chunks(
    input: Tensor,
    linear_weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignored: int,
    rows: int,
) -> Tensor:
    """The loss of chunks of rows, whose scores are made again for the backward pass."""
    from tensorbus.utils.checkpoint import checkpoint

    kind = "none" if reduction == "none" else "sum"

    def loss(x: Tensor, w: Tensor, b: Tensor | None, y: Tensor) -> Tensor:
        return cross_entropy(linear(x, w, b), y, weight, ignore_index=ignored, reduction=kind)

    losses = [
        checkpoint(loss, x, linear_weight, bias, y, use_reentrant=False)
        for x, y in zip(input.split(rows), target.split(rows), strict=True)
    ]
    if kind == "none":
        found: Tensor = FUNCTIONS["cat"](losses)
        return found
    total: Tensor = FUNCTIONS["stack"](losses).sum()
    if reduction == "sum":
        return total
    counted = target != ignored
    if weight is None:
        return total / counted.sum()
    return total / weight[target.masked_fill(~counted, 0)].masked_fill(~counted, 0).sum()
