"""Connectionist temporal classification: the loss of sequences whose alignment is not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.classification import TARGET
from tensorbus.nn.functional.reduction import chosen, reduced
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_device, not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.plugin.faults import told

_CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"


@composed(autocast="float32")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negated log-probability of *targets*, summed over their alignments to *log_probs*.

    *log_probs* is (T, N, C) or (T, C), a ``log_softmax`` over the classes; *targets* is (N, S), or
    all labels of the batch in one dimension. Lengths are integers: tensors, or sequences. The mean
    is that of the losses divided by the lengths of their targets. *zero_infinity* makes losses 0,
    and their gradients, where the target does not fit into its steps. The gradient is the one for
    the scores below the ``log_softmax``; it has none itself.

    >>> even = tensorbus.full((3, 1, 2), 0.5).log()
    >>> loss = tensorbus.nn.functional.ctc_loss(even, tensorbus.tensor([[1]]), [3], [1])
    >>> loss.exp()  # six of the eight paths are alignments
    tensor(1.3333)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.ctc_loss.html
    """
    reduction = chosen(reduction)
    single = log_probs.dim() == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    steps = _lengths("input_lengths", input_lengths)
    lengths = _lengths("target_lengths", target_lengths)
    _check(x, targets, len(steps), len(lengths), blank)
    y = _rows(targets, steps, lengths, x)
    counts = FUNCTIONS["tensor"](lengths, device=x.device)
    options = FUNCTIONS["tensor"](steps, device=x.device), counts, int(blank)
    loss = told(TARGET, x._k.backend.traits.host_sync, core("ctc_loss"), x, y, *options)[0]
    if zero_infinity:
        loss = loss.masked_fill(loss.isinf(), 0)
    if reduction == "mean":
        loss = loss / counts.clamp(min=1).to(loss.dtype)
    return loss.squeeze(0) if single and reduction == "none" else reduced(loss, reduction)


def _lengths(name: str, given: Any) -> np.ndarray:
    """Lengths as integers on the host, 0 where there are no values; RuntimeError for floats."""
    if not isinstance(given, Tensor):
        return np.array([int(n) for n in given], np.int64)
    if given._k.dtype.category != dtypes.INTEGER:
        raise RuntimeError(f"{name} must be integral")
    if not given._k.has_values:
        return np.zeros(given._s.numel(), np.int64)
    return np.asarray(every_value(given)).astype(np.int64).reshape(-1)


def _check(x: Tensor, targets: Tensor, steps: int, lengths: int, blank: int) -> None:
    if not x._s.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    check_device(x, targets)
    if x.dim() != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {x.dim()}-dimensional tensor for argument #1 "
            f"'log_probs' {_CHECKING}"
        )
    if not 1 <= targets.dim() <= 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for argument "
            f"#2 'targets' {_CHECKING}"
        )
    if not 0 <= blank < x.shape[2]:
        raise RuntimeError("blank must be in label range")
    if x._k.dtype.category != dtypes.FLOAT or x._k.dtype in dtypes.HALVES:
        raise not_implemented("ctc_loss_cpu", x)
    for name, count in (("input_lengths", steps), ("target_lengths", lengths)):
        if count != x.shape[1]:
            raise RuntimeError(f"{name} must be of size batch_size")


def _rows(targets: Tensor, steps: np.ndarray, lengths: np.ndarray, x: Tensor) -> Tensor:
    """The targets as (N, S), once all lengths are found to be in their bounds."""
    for n in lengths.tolist():
        if n < 0:
            _out_of_bounds("target_lengths", "least", 0, n)
    flat, most = targets.dim() == 1, int(lengths.max())
    wanted = int(lengths.sum()) if flat else len(lengths)
    if targets.shape[0] != wanted and (targets._k.has_values or not flat):
        _wrong_size(f"size {wanted}", 0, targets.shape[0])
    if not flat and targets.shape[1] < most:
        _wrong_size(f"size at least {most}", 1, targets.shape[1])
    for n in steps.tolist():
        if n < 0:
            _out_of_bounds("input_lengths", "least", 0, n)
        if n > x.shape[0]:
            _out_of_bounds("input_lengths", "most", x.shape[0], n)
    labels = targets.long()
    if not flat:
        return labels[:, :most]
    if not most:
        return labels[:0].reshape(len(lengths), 0)
    starts = np.cumsum(lengths) - lengths
    places = np.minimum(starts[:, None] + np.arange(most), max(wanted - 1, 0))
    return labels[FUNCTIONS["tensor"](places, device=x.device)]


def _out_of_bounds(name: str, bound: str, limit: int, found: int) -> None:
    raise RuntimeError(
        f"Expected {name} to have value at {bound} {limit}, but got value {found} {_CHECKING}"
    )


def _wrong_size(wanted: str, dim: int, found: int) -> None:
    raise RuntimeError(
        f"Expected tensor to have {wanted} at dimension {dim}, but got size {found} for argument "
        f"#2 'targets' {_CHECKING}"
    )
