"""Losses of class scores, and one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.formats import COMPLEX64, FLOAT32, INT64
from tensorbus_conformance.op import E, I, Op, S, T

_F = "nn.functional."


def _nll(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> np.ndarray:
    """Minus the weighted score of each target class; the mean is over the weights that count."""
    scores = x[None] if x.ndim == 1 else x
    classes = np.reshape(target, (scores.shape[0], *scores.shape[2:]))
    weights = np.ones(scores.shape[1]) if weight is None else weight
    losses, counted = np.zeros(classes.shape), np.zeros(classes.shape)
    for at in np.ndindex(*classes.shape):
        c = classes[at]
        if c != ignore_index:
            losses[at] = -weights[c] * scores[(at[0], c, *at[1:])]
            counted[at] = weights[c]
    if reduction == "none":
        return losses.reshape(np.shape(target))
    return np.asarray(losses.sum() / (counted.sum() if reduction == "mean" else 1))


def _log_softmax(x: np.ndarray) -> np.ndarray:
    dim = 0 if x.ndim == 1 else 1
    shifted = x - x.max(dim, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(dim, keepdims=True)))


def cross_entropy(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> np.ndarray:
    """The cross-entropy with class numbers, smoothed or not, or with probabilities."""
    log_p, dim = _log_softmax(x), 0 if x.ndim == 1 else 1
    classes = x.shape[dim]
    if target.dtype.kind == "f":
        wanted = target * (1 - label_smoothing) + label_smoothing / classes
        per_class = _along(weight, x.ndim, dim)
        losses = -(per_class * wanted * log_p).sum(dim)
        if reduction == "none":
            return np.asarray(losses)
        return np.asarray(losses.sum() / (losses.size if reduction == "mean" else 1))
    hard = _nll(log_p, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return hard
    counted = target != ignore_index
    spread = -(_along(weight, x.ndim, dim) * log_p).sum(dim) * counted
    if reduction != "none":
        weights = np.ones(classes) if weight is None else weight
        over = weights[np.where(counted, target, 0)] * counted
        spread = spread.sum() / (over.sum() if reduction == "mean" else 1)
    return np.asarray((1 - label_smoothing) * hard + label_smoothing / classes * spread)


def _along(weight: np.ndarray | None, rank: int, dim: int) -> Any:
    return 1.0 if weight is None else weight.reshape(-1, *(1,) * (rank - dim - 1))


def _terms(x: np.ndarray, target: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
    """The sum of the sizes of what is added up, with the same averaging."""
    if target.dtype.kind == "f":
        return np.abs(cross_entropy(-_spread(x), target, *args, **kwargs)) + np.abs(x).max()
    hard = {k: v for k, v in kwargs.items() if k != "label_smoothing"}
    return np.abs(_nll(_spread(x), target, *args, **hard)) * 2


def _spread(x: np.ndarray) -> np.ndarray:
    """At least as large as any log-probability, in size."""
    reach = 2 * np.abs(x).max(initial=0) + np.log(x.shape[0 if x.ndim == 1 else 1])
    return np.full(x.shape, -reach)


def _weight(n: int) -> T:
    return T(n, of="positive", grad=False)


def _one_hot(classes: np.ndarray, num_classes: int = -1) -> np.ndarray:
    width = int(classes.max()) + 1 if num_classes == -1 else num_classes
    out: Any = np.zeros((*classes.shape, width), np.int64)
    for at in np.ndindex(*classes.shape):
        out[(*at, classes[at])] = 1
    return out


_CLASSES = [2, 0, 3, 1, 1]
_SOME = [2, -100, 3, 1, -100]
_PIXELS = [[[0, 2], [1, 1]], [[2, 2], [0, 1]]]
# A device that computes while the program goes on reports the fault later, as any index's.
_OUT_OF_BOUNDS = E(
    "class",
    IndexError,
    r"Target 4 is out of bounds\.|index 4 is out of bounds for dimension 1 with size 3",
    T(2, 3),
    I([0, 4]),
)
_BATCH = E(
    "batch",
    ValueError,
    r"Expected input batch_size \(2\) to match target batch_size \(3\)\.",
    T(2, 3),
    I([0, 1, 2]),
)
_FLOAT = E(
    "float-target",
    RuntimeError,
    "expected target dtype to be Long or Byte, but got Float",
    T(2, 3),
    T(2),
)
_COMMON = [
    S("mean", T(5, 4), I(_CLASSES)),
    S("sum", T(5, 4), I(_CLASSES), reduction="sum"),
    S("none", T(5, 4), I(_CLASSES), reduction="none"),
    S("weight", T(5, 4), I(_CLASSES), _weight(4)),
    S("weight-none", T(5, 4), I(_SOME), _weight(4), reduction="none"),
    S("ignored", T(5, 4), I(_SOME)),
    S("ignored-sum", T(5, 4), I(_SOME), reduction="sum"),
    S("ignore-index", T(5, 4), I(_CLASSES), ignore_index=1),
    S("ignored-weight", T(5, 4), I(_SOME), _weight(4)),
    S("all-ignored", T(2, 3, grad=False), I([-100, -100])),
    S("all-ignored-sum", T(2, 3), I([-100, -100]), reduction="sum"),
    S("pixels", T(2, 3, 2, 2), I(_PIXELS)),
    S("pixels-weight", T(2, 3, 2, 2), I(_PIXELS), _weight(3), ignore_index=2),
    S("pixels-none", T(2, 3, 2, 2), I(_PIXELS), reduction="none"),
    S("one", T(4), I(2)),
    S("empty-sum", T(0, 3), I(np.zeros(0, np.int64)), reduction="sum"),
    S("empty-mean", T(0, 3), I(np.zeros(0, np.int64))),
]

OPS = [
    Op(
        _F + "nll_loss",
        _nll,
        _COMMON,
        ulp=3,
        scale=lambda x, *args, **kwargs: np.abs(_nll(-np.abs(x), *args, **kwargs)),
        grad_ulp=8,
        errors=[
            _OUT_OF_BOUNDS,
            _BATCH,
            _FLOAT,
            E(
                "complex",
                NotImplementedError,
                "\"nll_loss_out_frame\" not implemented for 'ComplexFloat'",
                T(2, 3),
                I([0, 1]),
                dtype=COMPLEX64,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "cross_entropy",
        cross_entropy,
        [
            *_COMMON,
            S("smoothed", T(5, 4), I(_CLASSES), label_smoothing=0.2),
            S("smoothed-none", T(5, 4), I(_SOME), reduction="none", label_smoothing=0.2),
            S("smoothed-sum", T(5, 4), I(_SOME), reduction="sum", label_smoothing=0.2),
            S("smoothed-weight", T(5, 4), I(_SOME), _weight(4), label_smoothing=0.3),
            S("smoothed-pixels", T(2, 3, 2, 2), I(_PIXELS), label_smoothing=0.3),
            S("soft", T(5, 4), T(5, 4, of="fraction")),
            S("soft-sum", T(5, 4), T(5, 4, of="fraction"), reduction="sum"),
            S("soft-none", T(5, 4), T(5, 4, of="fraction"), reduction="none"),
            S("soft-weight", T(5, 4), T(5, 4, of="fraction"), _weight(4)),
            S("soft-smoothed", T(5, 4), T(5, 4, of="fraction"), label_smoothing=0.2),
            S("soft-pixels", T(2, 3, 2), T(2, 3, 2, of="fraction"), _weight(3)),
            S("soft-one", T(4), T(4, of="fraction")),
            S("large", T(data=[[300.0, -300.0, 0.0], [-250.0, -240.0, -260.0]]), I([1, 2])),
        ],
        ulp=4,
        scale=_terms,
        grad_ulp=16,
        errors=[
            _OUT_OF_BOUNDS,
            _BATCH,
            _FLOAT,
            E(
                "smoothing",
                RuntimeError,
                r"label_smoothing must be between 0\.0 and 1\.0\. Got: 1\.5",
                T(2, 3),
                I([0, 1]),
                label_smoothing=1.5,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "one_hot",
        _one_hot,
        [
            S("plain", I([0, 2, 1])),
            S("classes", I([[0, 2], [1, 1]]), 5),
            S("scalar", I(2), num_classes=4),
            S("empty", I(np.zeros((0, 2), np.int64)), 3),
        ],
        dtypes=(INT64,),
        result=INT64,
        ulp=0,
        gradient=False,
        errors=[
            E(
                "dtype",
                RuntimeError,
                r"one_hot is only applicable to index tensor of type LongTensor\.",
                T(3, dtype=FLOAT32),
            ),
            E(
                "empty",
                RuntimeError,
                r"Can not infer total number of classes from empty tensor\.",
                I(np.zeros(0, np.int64)),
            ),
            E(
                "classes",
                RuntimeError,
                r"Class values must be smaller than num_classes\.",
                I([0, 3]),
                2,
            ),
            E("negative", RuntimeError, r"Class values must be non-negative\.", I([0, -3]), 2),
        ],
        family="nn",
    ),
]
