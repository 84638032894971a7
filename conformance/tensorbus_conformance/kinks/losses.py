"""Losses at their margins and thresholds, of saturated inputs and of targets at their ends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tensorbus_conformance.kinks.program import Program

_INF, _NAN = math.inf, math.nan
_SOME = (-_INF, -100.0, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 100.0, _INF, _NAN)
_ENDS = (0.0, 0.5, 1.0)

# Every input beside every target.
SCORES = {"x": [v for v in _SOME for _ in _ENDS], "y": _ENDS * len(_SOME)}
CHANCES = {
    "x": [v for v in (0.0, 1e-30, 0.25, 1.0) for _ in _ENDS],
    "y": _ENDS * 4,
}
SIGNED = {"x": [v for v in _SOME for _ in (-1, 1)]}
SIGNS = f"T({[-1.0, 1.0] * len(_SOME)})"
NEAR = {"x": (0.0, 0.5, 1.0, -1.0, 2.0, 3.0, -2.0, _INF, -_INF, _INF, _NAN),
        "y": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, _INF, 0.0)}  # fmt: skip
CLASSES = {
    "x": ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (_INF, 0.0, 0.0), (-_INF, 0.0, 1.0),
          (-_INF, -_INF, -_INF), (100.0, -100.0, 0.0), (_NAN, 0.0, 0.0), (0.0, 1.0, 1.0))
}  # fmt: skip
LABELS = "T([0, 1, 0, 0, 0, 1, 0, 1])"

PAIRED = """
binary_cross_entropy ends CHANCES F.binary_cross_entropy(x, y, NONE)
binary_cross_entropy mean CHANCES F.binary_cross_entropy(x, y)
binary_cross_entropy sigmoid SCORES
    F.binary_cross_entropy(torch.sigmoid(2 * x[3:30]), y[3:30], NONE)
binary_cross_entropy weighted CHANCES F.binary_cross_entropy(x, y, T([0.0, 1.0, 2.0] * 4), NONE)
binary_cross_entropy above-one SCORES F.binary_cross_entropy(x[21:24], y[21:24])
binary_cross_entropy below-zero SCORES F.binary_cross_entropy(x[6:9], y[6:9])
binary_cross_entropy nan SCORES F.binary_cross_entropy(x[30:], y[30:])
binary_cross_entropy_with_logits ends SCORES F.binary_cross_entropy_with_logits(x, y, NONE)
binary_cross_entropy_with_logits positive SCORES
    F.binary_cross_entropy_with_logits(x, y, NONE, pos_weight=T(2.0))
binary_cross_entropy_with_logits mean SCORES F.binary_cross_entropy_with_logits(x[3:27], y[3:27])
kl_div ends SCORES F.kl_div(x, y, NONE)
kl_div log-target SCORES F.kl_div(x, y, NONE, log_target=True)
kl_div swapped SCORES F.kl_div(y, x, NONE)
kl_div mean SCORES F.kl_div(x[3:27], y[3:27], reduction='batchmean')
mse_loss none NEAR F.mse_loss(x, y, NONE)
mse_loss mean NEAR F.mse_loss(x[:7], y[:7])
l1_loss none NEAR F.l1_loss(x, y, NONE)
l1_loss mean NEAR F.l1_loss(x[:7], y[:7])
smooth_l1_loss none NEAR F.smooth_l1_loss(x, y, NONE)
smooth_l1_loss beta NEAR F.smooth_l1_loss(x, y, NONE, beta=2.0)
smooth_l1_loss zero-beta NEAR F.smooth_l1_loss(x, y, NONE, beta=0.0)
smooth_l1_loss mean NEAR F.smooth_l1_loss(x[:7], y[:7])
huber_loss none NEAR F.huber_loss(x, y, NONE)
huber_loss delta NEAR F.huber_loss(x, y, NONE, delta=2.0)
huber_loss mean NEAR F.huber_loss(x[:7], y[:7])
poisson_nll_loss log SCORES F.poisson_nll_loss(x, y, NONE)
poisson_nll_loss plain SCORES F.poisson_nll_loss(x, y, log_input=False, NONE)
poisson_nll_loss full SCORES F.poisson_nll_loss(y, x, full=True, NONE)
margin_ranking_loss zero NEAR F.margin_ranking_loss(x, y, T(1.0).expand(11), NONE)
margin_ranking_loss margin NEAR F.margin_ranking_loss(x, y, T(-1.0).expand(11), 1.0, NONE)
cosine_embedding_loss margin NEAR F.cosine_embedding_loss(x[:6].reshape(3, 2),
    y[1:7].reshape(3, 2), T([1.0, -1.0, -1.0]), NONE)
triplet_margin_loss margin NEAR F.triplet_margin_loss(x[:6].reshape(3, 2), y[:6].reshape(3,
    2), x[:6].reshape(3, 2), eps=0.0, NONE)
triplet_margin_loss at-margin NEAR F.triplet_margin_loss(x[:2].reshape(2, 1),
    y[:2].reshape(2, 1), x[1:3].reshape(2, 1) * 2, eps=0.0, NONE)
triplet_margin_loss swap NEAR F.triplet_margin_loss(x[:6].reshape(3, 2), y[:6].reshape(3, 2),
    x[1:7].reshape(3, 2), swap=True, NONE)
"""

SINGLE = """
soft_margin_loss signs SIGNED F.soft_margin_loss(x, SIGNS, NONE)
cosine_embedding_loss zeros CLASSES
    F.cosine_embedding_loss(x[:2], x[:2].flip(0), T([1.0, -1.0]), 0.5, NONE)
hinge_embedding_loss signs SIGNED F.hinge_embedding_loss(x, SIGNS, NONE)
hinge_embedding_loss margin SIGNED F.hinge_embedding_loss(x, SIGNS, 2.0, NONE)
nll_loss none CLASSES F.nll_loss(x, LABELS, NONE)
nll_loss mean CLASSES F.nll_loss(x[:2], LABELS[:2])
nll_loss weighted CLASSES F.nll_loss(x[:2], LABELS[:2], T([0.0, 1.0, 2.0]))
nll_loss ignored CLASSES F.nll_loss(x[:2], LABELS[:2], ignore_index=1)
nll_loss all-ignored CLASSES F.nll_loss(x[:1], LABELS[:1], ignore_index=0)
nll_loss planes CLASSES F.nll_loss(x[:2].reshape(1, 3, 2), T([[0, 2]]))
cross_entropy none CLASSES F.cross_entropy(x, LABELS, NONE)
cross_entropy mean CLASSES F.cross_entropy(x[:2], LABELS[:2])
cross_entropy ignored CLASSES F.cross_entropy(x[:2], LABELS[:2], ignore_index=1)
cross_entropy all-ignored CLASSES F.cross_entropy(x[:1], LABELS[:1], ignore_index=0)
cross_entropy smoothed CLASSES F.cross_entropy(x, LABELS, NONE, label_smoothing=0.5)
cross_entropy zero-weight CLASSES F.cross_entropy(x[:1], LABELS[:1], T([0.0, 1.0, 2.0]))
cross_entropy soft CLASSES F.cross_entropy(x, T([0.0, 0.5, 0.5]).expand(8, 3), NONE)
"""

_SHORT = {"SIGNS": SIGNS, "LABELS": LABELS, "NONE": "reduction='none'"}
_OPERANDS: dict[str, Any] = {
    "CHANCES": CHANCES, "SCORES": SCORES, "SIGNED": SIGNED, "NEAR": NEAR, "CLASSES": CLASSES,
}  # fmt: skip


def programs() -> Iterator[Program]:
    for line in (PAIRED + SINGLE).replace("\n    ", " ").split("\n"):
        if not line:
            continue
        op, variant, operands, text = line.split(maxsplit=3)
        for short, meant in _SHORT.items():
            text = text.replace(short, meant)
        yield Program(f"nn.functional.{op}", variant, text, _OPERANDS[operands])
