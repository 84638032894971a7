"""Losses of class scores."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.nn.functional.domains import refuse_complex, refuse_gradient, refuse_integers
from tensorbus.nn.functional.reduction import chosen, reduced
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.plugin.faults import Wording, told


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


def _rows_of_classes(
    name: str, input: Tensor, target: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """As ``_class_rows``, after all checks, with classes of int64."""
    k, at = input._k, target._s
    if weight is None and k.is_float and target._k is k.i64 and len(input._s) == 2 and len(at) == 1:
        (rows_of_input, _), (rows_of_target,) = input._s, at
        if rows_of_input == rows_of_target:  # nothing to check is left
            return input, target, at
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
    _check_class_weight(weight, input, rows.shape[1])
    return rows, classes, shape


def _weights(weight: Tensor, classes: Tensor, counted: Tensor) -> Tensor:
    """The weight of each row's class, 0 for rows that do not count, be it NaN or infinite."""
    at = classes * counted.long()
    picked = told(TARGET, classes._k.backend.traits.host_sync, weight.index_select, 0, at)
    return picked.masked_fill(~counted, 0)


def _checked(classes: Tensor, row: str, *operands: Any) -> Any:
    """The row's result; a class number outside the scores is named as such."""
    _, n = operands[0]._s
    if not n and classes.numel():
        raise IndexError("Targets are out of bounds: the scores have no classes.")
    return told(TARGET, classes._k.backend.traits.host_sync, core(row), *operands)


TARGET = Wording("Target {value} is out of bounds.")
"""How a class outside the scores is told."""


@composed(node=lambda input, *_, **__: _loss_node(input), autocast="float32")
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
    rows, classes, shape = _rows_of_classes("nll_loss", input, target, weight)
    counted = classes != ignore_index
    loss = _checked(classes, "nll_rows", rows, classes, counted)
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


def _loss_node(input: Tensor) -> str:
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
    if target._s == input._s:
        if not target.is_floating_point():
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                f"{scalar_name(target._k.dtype)}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    return _of_classes(input, target, weight, ignore_index, reduction, float(label_smoothing))


def _of_classes(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    smoothing: float,
) -> Tensor:
    rows, classes, shape = _rows_of_classes("cross_entropy", input, target, weight)
    if input._k.dtype in dtypes.HALVES:
        rows, weight = rows.float(), None if weight is None else weight.float()
    options = int(ignore_index), smoothing, reduction
    loss: Tensor = _checked(classes, "cross_entropy", rows, classes, weight, *options)[0]
    if reduction == "none" and loss._s != shape:
        loss = loss.reshape(shape)
    if loss._k is not input._k:
        loss = loss.to(input.dtype)
    if loss._e is not None and (smoothing or loss._k is not rows._k or len(input._s) != 2):
        name_node(loss, "AddBackward0" if smoothing else _loss_node(input))
    return loss


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
