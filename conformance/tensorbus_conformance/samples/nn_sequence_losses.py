"""Losses of label sequences, by sums over alignments, and of scores that are a linear map."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.formats import FLOAT32, FLOAT64
from tensorbus_conformance.op import E, I, Op, S, T
from tensorbus_conformance.samples.nn_classes import cross_entropy

_F = "nn.functional."


def ctc(
    scores: np.ndarray,
    targets: np.ndarray,
    steps: Any,
    lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> np.ndarray:
    """Of scores, which are normalised first: probabilities of paths, added in a loop over time."""
    single = scores.ndim == 2
    scores = scores[:, None] if single else scores
    p = np.exp(scores - scores.max(2, keepdims=True))
    p = p / p.sum(2, keepdims=True)
    steps, lengths = np.ravel(steps), np.ravel(lengths)
    starts = np.cumsum(lengths) - lengths
    losses = np.zeros(p.shape[1])
    for n, (t, m) in enumerate(zip(steps, lengths, strict=True)):
        labels = targets[starts[n] : starts[n] + m] if targets.ndim == 1 else targets[n, :m]
        losses[n] = -np.log(_probability(p[:t, n], labels.tolist(), blank))
    if zero_infinity:
        losses[np.isinf(losses)] = 0
    if reduction == "mean":
        return np.asarray((losses / np.maximum(lengths, 1)).mean())
    if reduction == "sum":
        return np.asarray(losses.sum())
    return losses[0] if single else losses


def _probability(p: np.ndarray, labels: list[int], blank: int) -> float:
    """The sum over all ways to spell the labels, each of which takes the next or a blank."""
    ways = {(0, blank): 1.0}  # how many labels there are, and the class last seen
    for row in p:
        after: dict[tuple[int, int], float] = {}
        for (count, last), chance in ways.items():
            moves = [(count, blank)]
            if last != blank:
                moves.append((count, last))
            if count < len(labels) and labels[count] != last:
                moves.append((count + 1, labels[count]))
            for state in moves:
                after[state] = after.get(state, 0.0) + chance * row[state[1]]
        ways = after
    return sum(chance for (count, _), chance in ways.items() if count == len(labels))


def _ctc_of_scores(scores: Any, *args: Any, **kwargs: Any) -> Any:
    import tensorbus.nn.functional as F

    return F.ctc_loss(scores.log_softmax(-1), *args, **kwargs)


def spoken() -> tuple[T, ...]:
    """Scores of six steps, three samples and four classes; labels, some doubled; lengths."""
    return T(6, 3, 4), I([[1, 1, 3], [2, 3, 2], [3, 0, 0]]), I([6, 5, 4]), I([3, 3, 1])


def _linear_cross_entropy(
    x: np.ndarray,
    linear_weight: np.ndarray,
    target: np.ndarray,
    *,
    linear_bias: np.ndarray | None = None,
    ignore_index: int = -100,
    options: Any = None,
    **kwargs: Any,
) -> np.ndarray:
    scores = np.tensordot(x, linear_weight, (-1, -1))
    if linear_bias is not None:
        scores = scores + linear_bias
    return cross_entropy(scores, target, ignore_index=ignore_index, **kwargs)


def mapped() -> tuple[T, ...]:
    return T(5, 3), T(4, 3), I([0, 3, 1, 1, 2])


_EACH = {"weight": T(4, of="positive", grad=False)}

OPS = [
    Op(
        _F + "ctc_loss",
        ctc,
        [
            S("mean", *spoken()),
            S("sum", *spoken(), reduction="sum"),
            S("none", *spoken(), reduction="none"),
            S("blank", T(5, 2, 3), I([[0, 1], [1, 0]]), I([5, 4]), I([2, 2]), 2),
            S("joined", T(6, 3, 4), I([1, 1, 3, 2, 3, 2, 3]), I([6, 5, 4]), I([3, 3, 1])),
            S("lists", T(6, 2, 3), I([[1, 2], [2, 2]]), [6, 4], [2, 0], reduction="none"),
            S("single", T(5, 3), I([1, 1]), I([5]), I([2]), reduction="none"),
            S("misfit", T(4, 2, 3), I([[1, 1, 1], [1, 2, 0]]), I([4, 4]), I([3, 2]), 0, "none",
              True),
            S("nothing", T(3, 2, 3), I(np.zeros((2, 0), np.int64)), I([3, 2]), I([0, 0])),
        ],
        dtypes=(FLOAT32, FLOAT64),
        call=_ctc_of_scores,
        ulp=64,
        measure="norm",
        second=False,
        grad_ulp=256,
        errors=[
            E(
                "blank",
                RuntimeError,
                "blank must be in label range",
                *spoken(),
                4,
            ),
            E(
                "steps",
                RuntimeError,
                "Expected input_lengths to have value at most 6, but got value 7 "
                r"\(while checking arguments for ctc_loss_allocate_outputs\)",
                *spoken()[:2],
                [6, 7, 4],
                [3, 3, 1],
            ),
            E(
                "class",
                IndexError,
                r"Target -1 is out of bounds\.",
                T(3, 1, 2),
                I([[-1]]),
                [3],
                [1],
                trait="host_sync",
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "linear_cross_entropy",
        _linear_cross_entropy,
        [
            S("mean", *mapped()),
            S("none", *mapped(), linear_bias=T(4), reduction="none"),
            S("weighted", *mapped(), **_EACH, label_smoothing=0.1),
            S("ignored", *mapped(), ignore_index=1),
            S("probabilities", T(5, 3), T(4, 3), T(5, 4, of="fraction")),
            S("volume", T(2, 3), T(4, 2, 3), I([[0, 3], [1, 2]]), linear_bias=T(4, 2)),
        ],
        ulp=16,
        measure="norm",
        grad_ulp=64,
        errors=[
            E(
                "features",
                RuntimeError,
                r"expected equal input and linear_weight last dimensions \(in_features\), got 3 "
                "and 2, respectively",
                T(5, 3),
                T(4, 2),
                I([0, 3, 1, 1, 2]),
            ),
        ],
        family="nn",
    ),
]  # fmt: skip
