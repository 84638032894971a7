"""Losses of class scores."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import refuse_complex, refuse_gradient, refuse_integers
from tensorbus.nn.functional.reduction import chosen, reduced
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core


def _class_rows(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Scores as (rows, C), class numbers as (rows,), and the shape of the losses."""
    rank, at = len(input._s), len(target._s)
    if not rank:
        raise ValueError(f"{name}: Expected 1 or more dimensions (got 0)")
    if rank <= 2 and at > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if rank == 1:
        if target.numel() != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}"
            )
        return input.unsqueeze(0), target.reshape(1), ()
    batch = target._s[0] if at else 0
    if not at or input._s[0] != batch:
        raise ValueError(
            f"Expected input batch_size ({input._s[0]}) to match target batch_size ({batch})."
        )
    shape = (input._s[0], *input._s[2:])
    if tuple(target._s) != shape:
        raise RuntimeError(f"Expected target size {list(shape)}, got {list(target._s)}")
    if rank == 2:
        return input, target, shape
    c = input._s[1]
    return input.movedim(1, -1).reshape(-1, c), target.reshape(-1), shape


def _check_class_weight(weight: Tensor | None, input: Tensor, c: int) -> None:
    if weight is None:
        return
    check_device(input, weight)
    if len(weight._s) != 1 or weight._s[0] != c:
        raise RuntimeError(
            f"weight tensor should be defined either for all {c} classes or no classes but got "
            f"weight tensor of shape: {list(weight._s)}"
        )
    if weight._k is not input._k:
        raise RuntimeError(
            f"expected scalar type {scalar_name(input._k.dtype)}, as the scores have, but found "
            f"{scalar_name(weight._k.dtype)} for weight"
        )


@composed(node=lambda row, name, input, *_: _loss_node(input), autocast="float32")
def _class_loss(
    row: str,
    name: str,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
) -> Tensor:
    refuse_gradient("nll_loss_forward", weight=weight)
    refuse_complex("nll_loss_out_frame", input)
    refuse_integers("nll_loss_out_frame", input)
    check_device(input, target)
    rows, classes, shape = _class_rows(name, input, target)
    if target.dtype is not dtypes.int64:
        if target.dtype is not dtypes.uint8 or len(input._s) > 2:
            raise RuntimeError(
                f"expected target dtype to be Long or Byte, but got {scalar_name(target._k.dtype)}"
            )
        classes = classes.long()
    c = rows.shape[1]
    _check_class_weight(weight, input, c)
    if row == "cross_entropy_rows" and weight is None and reduction == "mean" and rows.numel():
        return _checked(classes, "cross_entropy_mean", rows, classes, ignore_index)
    counted = classes != ignore_index
    loss = _checked(classes, row, rows, classes, counted)
    if weight is not None:
        each = _weights(weight, classes, counted)
        loss = loss * each
    if reduction == "none":
        return loss.reshape(shape)
    total = loss.sum()
    if reduction == "sum":
        return total
    count = counted.to(loss.dtype).sum() if weight is None else each.sum()
    return total / count


def _weights(weight: Tensor, classes: Tensor, counted: Tensor) -> Tensor:
    """The weight of each row's class, 0 for rows that do not count, be it NaN or infinite."""
    return weight.index_select(0, classes * counted.long()).masked_fill(~counted, 0)


def _checked(classes: Tensor, row: str, *operands: Any) -> Tensor:
    """The row's result; a class number outside the scores is named as such."""
    if classes.numel() and not operands[0]._s[1]:
        raise IndexError("Targets are out of bounds: the scores have no classes.")
    try:
        return core(row)(*operands)
    except IndexError as error:
        wrong = getattr(error, "value", None)
        if wrong is None:
            raise
        raise IndexError(f"Target {wrong} is out of bounds.") from None


@autocasts("float32")
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
    reduction = chosen(reduction, size_average, reduce)
    return _class_loss("nll_rows", "nll_loss", input, target, weight, ignore_index, reduction)


def _loss_node(input: Tensor, *_: Any, **__: Any) -> str:
    return "NllLossBackward0" if len(input._s) <= 2 else "NllLoss2DBackward0"


@autocasts("float32")
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
    reduction = chosen(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.shape == input.shape:
        if not target.is_floating_point():
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                f"{scalar_name(target._k.dtype)}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
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
    _check_class_weight(weight, input, input.shape[dim])
    if smoothing:
        target = target * (1 - smoothing) + smoothing / max(input.shape[dim], 1)
    log_p = input.log_softmax(dim)
    if weight is not None:
        log_p = log_p * weight.view(-1, *(1,) * (input.dim() - dim - 1))
    loss = -(log_p * target).sum(dim)
    if reduction == "mean":
        return loss.sum() / (loss.numel() if input.shape[dim] else 0)
    return reduced(loss, reduction)


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
    counts = classes != ignore
    counted = counts.to(rows.dtype)
    spread = -(rows if weight is None else rows * weight).sum(1).masked_fill(~counts, 0)
    if reduction == "none":
        smooth = spread.reshape(shape)
    elif reduction == "sum":
        smooth = spread.sum()
    elif weight is None:
        smooth = spread.sum() / counted.sum()
    else:
        smooth = spread.sum() / _weights(weight, classes, counts).sum()
    return nll * (1 - smoothing) + smooth * (smoothing / c)
