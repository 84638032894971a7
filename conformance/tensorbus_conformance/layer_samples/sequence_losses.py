"""Layers of bags, of label sequences, of many classes: what has a table or a map inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.layer import Layer, State
from tensorbus_conformance.op import I, S, T
from tensorbus_conformance.samples import nn_sequence_losses
from tensorbus_conformance.samples.nn_bags import embedding_bag
from tensorbus_conformance.samples.nn_classes import cross_entropy


def _bags(**known: Any) -> Any:
    def reference(state: State, indices: np.ndarray, offsets: Any = None, each: Any = None) -> Any:
        table = state["weight"]
        return embedding_bag(indices, table, offsets, per_sample_weights=each, **known)

    return reference


def _uniform(**known: Any) -> Any:
    """Of inputs that are log-probabilities already: all classes are alike."""

    def reference(state: State, log_p: np.ndarray, *rest: Any) -> Any:
        return nn_sequence_losses.ctc(log_p, *rest, **known)

    return reference


def _mapped(state: State, x: np.ndarray, target: np.ndarray) -> Any:
    return cross_entropy(x @ state["linear.weight"].T + state["linear.bias"], target)


def _log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(-1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(-1, keepdims=True)))


def _adaptive(state: State, x: np.ndarray, target: np.ndarray) -> Any:
    """A head of two classes and two clusters, which begin at 2 and 4."""
    head = _log_softmax(x @ state["head.weight"].T)
    found = np.zeros(len(target))
    for n, c in enumerate(target.tolist()):
        if c < 2:
            found[n] = head[n, c]
            continue
        cluster, start = (0, 2) if c < 4 else (1, 4)
        down, up = (state[f"tail.{cluster}.{i}.weight"] for i in (0, 1))
        found[n] = head[n, 2 + cluster] + _log_softmax(x[n] @ down.T @ up.T)[c - start]
    return found, -found.mean()


_EVEN = T(data=np.full((4, 2, 2), np.log(0.5)), grad=False)

LAYERS = [
    Layer("EmbeddingBag", "rows", S("", 5, 3), (I([[1, 0], [3, 1]]),), _bags()),
    Layer("EmbeddingBag", "offsets", S("", 5, 3, mode="max", padding_idx=1),
          (I([1, 0, 3, 1]), I([0, 1])), _bags(mode="max", padding_idx=1)),
    Layer("EmbeddingBag", "factors", S("", 5, 3, mode="sum", include_last_offset=True),
          (I([1, 0, 3, 1]), I([0, 1, 4]), T(4)), _bags(mode="sum", include_last_offset=True)),
    Layer("CTCLoss", "mean", S(""), (_EVEN, I([[1, 1], [1, 0]]), I([4, 3]), I([2, 1])),
          _uniform(), gradient=False),
    Layer("CTCLoss", "sum", S("", 1, "sum", True),
          (_EVEN, I([[0, 0, 0], [0, 0, 0]]), I([4, 3]), I([3, 1])),
          _uniform(blank=1, reduction="sum", zero_infinity=True), gradient=False),
    Layer("LinearCrossEntropyLoss", "plain", S("", 3, 4, bias=True),
          (T(2, 3), I([3, 1])), _mapped),
    Layer("AdaptiveLogSoftmaxWithLoss", "plain", S("", 4, 6, [2, 4], 2.0),
          (T(5, 4), I([0, 5, 2, 1, 3])), _adaptive),
]  # fmt: skip
