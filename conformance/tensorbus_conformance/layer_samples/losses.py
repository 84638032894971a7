"""Losses as layers; weights of classes and elements are buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.layer import Layer, State
from tensorbus_conformance.op import I, S, T
from tensorbus_conformance.samples import nn_class_margins, nn_classes, nn_losses, nn_margins

_FUNCTIONS = {
    op.name.removeprefix("nn.functional."): op.reference
    for op in (*nn_losses.OPS, *nn_classes.OPS, *nn_margins.OPS, *nn_class_margins.OPS)
}


def _loss(name: str, of: str, inputs: tuple[T, ...], variant: str = "mean", **kwargs: Any) -> Layer:
    """A loss: its arguments are those of the function, tensors among them as buffers."""
    known = {k: v for k, v in kwargs.items() if not isinstance(v, T)}

    def reference(state: State, *operands: np.ndarray) -> Any:
        return _FUNCTIONS[of](*operands, **known, **state)

    return Layer(name, variant, S("", **kwargs), inputs, reference)


def _near() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of=(-3.0, 3.0))


def _fractions() -> tuple[T, ...]:
    return T(3, 4, of=(0.2, 0.8)), T(3, 4, of="fraction")


def _classes() -> tuple[T, ...]:
    return T(4, 3), I([2, 0, -100, 1])


def _vectors() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of=(0.2, 2.0))


def _weight(*shape: int) -> T:
    return T(*shape, of="positive", grad=False)


_SIGNS = T(data=[1.0, -1.0, -1.0], grad=False)
_TRIPLE = (T(3, 4), T(3, 4, of=(-2.0, 2.0)), T(3, 4, of=(0.0, 2.0)))

LAYERS = [
    _loss("L1Loss", "l1_loss", nn_losses.apart()),
    _loss("L1Loss", "l1_loss", nn_losses.apart(), "none", reduction="none"),
    _loss("MSELoss", "mse_loss", _near()),
    _loss("MSELoss", "mse_loss", _near(), "sum", reduction="sum"),
    _loss("SmoothL1Loss", "smooth_l1_loss", _near(), "beta", beta=0.4),
    _loss("HuberLoss", "huber_loss", _near(), "delta", delta=0.4),
    _loss("NLLLoss", "nll_loss", _classes()),
    _loss("NLLLoss", "nll_loss", _classes(), "weight", weight=_weight(3), reduction="sum"),
    _loss("CrossEntropyLoss", "cross_entropy", _classes()),
    _loss("CrossEntropyLoss", "cross_entropy", (T(3, 4), I([3, 0, 1])), "ignored", ignore_index=0),
    _loss(
        "CrossEntropyLoss", "cross_entropy", _classes(), "weight", weight=_weight(3),
        label_smoothing=0.2,
    ),
    _loss("CrossEntropyLoss", "cross_entropy", (T(4, 3), T(4, 3, of="fraction")), "soft"),
    _loss("BCELoss", "binary_cross_entropy", _fractions()),
    _loss("BCELoss", "binary_cross_entropy", _fractions(), "weight", weight=_weight(3, 4)),
    _loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", _vectors()),
    _loss(
        "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", _vectors(), "weights",
        weight=_weight(4), pos_weight=_weight(4), reduction="none",
    ),
    _loss("KLDivLoss", "kl_div", _vectors(), "batchmean", reduction="batchmean"),
    _loss("KLDivLoss", "kl_div", _vectors(), "log-target", reduction="sum", log_target=True),
    _loss("PoissonNLLLoss", "poisson_nll_loss", _vectors()),
    _loss("PoissonNLLLoss", "poisson_nll_loss", _fractions(), "linear", log_input=False, eps=0.1),
    _loss("SoftMarginLoss", "soft_margin_loss", (T(3), _SIGNS)),
    _loss("HingeEmbeddingLoss", "hinge_embedding_loss", (T(3), _SIGNS)),
    _loss("MarginRankingLoss", "margin_ranking_loss", (T(3), T(3, of="positive"), _SIGNS), "margin",
          margin=0.7),
    _loss("CosineEmbeddingLoss", "cosine_embedding_loss", (*_vectors(), _SIGNS), "margin",
          margin=0.1),
    _loss("TripletMarginLoss", "triplet_margin_loss", _TRIPLE),
    _loss("TripletMarginLoss", "triplet_margin_loss", _TRIPLE, "swap", swap=True, margin=2.0),
    _loss("MultiMarginLoss", "multi_margin_loss", nn_class_margins.scores()),
    _loss("MultiMarginLoss", "multi_margin_loss", nn_class_margins.scores(), "squared", p=2),
    _loss("MultiLabelMarginLoss", "multilabel_margin_loss", nn_class_margins.several()),
    _loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", nn_class_margins.truths()),
    _loss("GaussianNLLLoss", "gaussian_nll_loss", nn_class_margins.gauss(), "full", full=True),
    _loss(
        "TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss",
        nn_class_margins.triple(), "swapped", margin=2.0, swap=True,
    ),
]  # fmt: skip
