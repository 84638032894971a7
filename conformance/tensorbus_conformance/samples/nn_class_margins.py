"""Losses with margins between classes, and of Gaussian outputs, by loops over their definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus_conformance.op import I, S, T
from tensorbus_conformance.samples.nn_losses import loss_op
from tensorbus_conformance.samples.nn_margins import distance


def _classes(
    x: np.ndarray, y: np.ndarray, p: int = 1, margin: float = 1.0, weight: Any = None
) -> np.ndarray:
    found = np.zeros(len(x))
    for n, row in enumerate(x):
        for i in range(len(row)):
            if i != y[n]:
                term = max(0.0, margin - row[y[n]] + row[i]) ** p
                found[n] += term * (1 if weight is None else weight[y[n]]) / len(row)
    return found


def _labels(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = np.zeros(len(x))
    for n, row in enumerate(x):
        named = y[n].tolist()
        named = named[: named.index(-1)] if -1 in named else named
        for j in named:
            for i in set(range(len(row))) - set(named):
                found[n] += max(0.0, 1 - (row[j] - row[i])) / len(row)
    return found


def _soft(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray((np.logaddexp(0, x) - y * x).mean(-1))


def _gauss(
    x: np.ndarray, y: np.ndarray, var: np.ndarray, full: bool = False, eps: float = 1e-6
) -> np.ndarray:
    v = np.maximum(var, eps)
    constant = math.log(2 * math.pi) if full else 0.0
    return 0.5 * (np.log(v) + (x - y) ** 2 / v + constant)


def _gauss_scale(x: np.ndarray, y: np.ndarray, var: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    return np.abs(np.log(var)) + (np.abs(x) + np.abs(y)) ** 2 / var + 1


def _triplet(
    anchor: np.ndarray,
    positive: np.ndarray,
    negative: np.ndarray,
    margin: float = 1.0,
    swap: bool = False,
) -> np.ndarray:
    far = distance(anchor, negative)
    if swap:
        far = np.minimum(far, distance(positive, negative))
    return np.maximum(distance(anchor, positive) - far + margin, 0)


def _scale(*operands: Any, **_: Any) -> np.ndarray:
    """What the terms of a row are about as large as."""
    floats = [
        np.abs(a).sum(-1) for a in operands if isinstance(a, np.ndarray) and a.dtype.kind == "f"
    ]
    return sum(floats, np.full(len(operands[0]), 2.0))


_LABELS = np.array([[1, 0, -1, 2], [3, -1, 0, 0], [-1, 0, 1, 2]])


def scores() -> tuple[T, ...]:
    """Scores of four classes, far from the margins, and a class for each row."""
    far = [[0.3, -0.6, 1.1, 0.2], [-0.9, 0.75, 0.45, 1.3], [0.1, 1.7, -0.4, -1.2]]
    return T(data=far), I([0, 3, 2])


def several() -> tuple[T, ...]:
    """Scores of four classes, and the classes of each row."""
    return T(3, 4), I(_LABELS.tolist())


def truths() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of="fraction", grad=False)


def gauss() -> tuple[T, ...]:
    return T(3, 4), T(3, 4), T(3, 4, of=(0.3, 2.0))


def triple() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of=(-2.0, 2.0)), T(3, 4, of=(0.0, 2.0))


OPS = [
    loss_op("multi_margin_loss", _classes, scores,
            S("squared", *scores(), p=2, margin=0.5), scale=_scale, ulp=8),
    loss_op("multilabel_margin_loss", _labels, several, scale=_scale, ulp=8),
    loss_op("multilabel_soft_margin_loss", _soft, truths, scale=_scale, ulp=8,
            refused="is not valid"),
    loss_op("gaussian_nll_loss", _gauss, gauss,
            S("full", *gauss(), full=True), scale=_gauss_scale, ulp=8,
            refused="is not valid"),
    loss_op("triplet_margin_with_distance_loss", _triplet, triple,
            S("swapped", *triple(), margin=2.0, swap=True), scale=_scale, ulp=16),
]  # fmt: skip
