"""Ops in float16, whose numbers end at 65504 and 6e-8: what is squared saturates soon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorbus_conformance.kinks.losses import CLASSES, LABELS, SCORES
from tensorbus_conformance.kinks.pointwise import POINTS
from tensorbus_conformance.kinks.program import Program
from tensorbus_conformance.kinks.reductions import ROWS

PROGRAMS = """
sigmoid                         half POINTS torch.sigmoid(x)
nn.functional.relu6             half POINTS F.relu6(x)
nn.functional.elu               half POINTS F.elu(x)
nn.functional.gelu              half POINTS F.gelu(x)
nn.functional.silu              half POINTS F.silu(x)
nn.functional.softplus          half POINTS F.softplus(x)
nn.functional.logsigmoid        half POINTS F.logsigmoid(x)
nn.functional.hardswish         half POINTS F.hardswish(x)
nn.functional.hardshrink        half POINTS F.hardshrink(x)
exp                             half POINTS torch.exp(x)
log                             half POINTS torch.log(x)
sqrt                            half POINTS torch.sqrt(x)
softmax                         half ROWS   torch.softmax(x, 1)
log_softmax                     half ROWS   torch.log_softmax(x, 1)
logsumexp                       half ROWS   torch.logsumexp(x, 1)
std                             half ROWS   torch.std(x[:5], 1)
amax                            half ROWS   torch.amax(x, 1)
linalg.vector_norm              half ROWS   torch.linalg.vector_norm(x[:5], 2, 1)
linalg.vector_norm              half-tiny ROWS torch.linalg.vector_norm(x[:2] * 1e-4, 2, 1)
nn.functional.normalize         half ROWS   F.normalize(x[:2], dim=1)
nn.functional.pairwise_distance half ROWS   F.pairwise_distance(x[:5], x[:5] * 0 + 1)
nn.functional.layer_norm        half ROWS   F.layer_norm(x[:5], (4,))
nn.functional.rms_norm          half ROWS   F.rms_norm(x, (4,))
nn.functional.cross_entropy     half CLASSES F.cross_entropy(x, LABELS, reduction='none')
nn.functional.binary_cross_entropy_with_logits half SCORES F.binary_cross_entropy_with_logits(x, y)
nn.functional.smooth_l1_loss    half SCORES F.smooth_l1_loss(x[:30], y[:30], reduction='none')
"""

_OPERANDS: dict[str, dict[str, Any]] = {
    "POINTS": {"x": POINTS},
    "ROWS": {"x": ROWS},
    "CLASSES": CLASSES,
    "SCORES": SCORES,
}


def programs() -> Iterator[Program]:
    for line in PROGRAMS.strip().splitlines():
        op, variant, operands, text = line.split(maxsplit=3)
        given, text = _OPERANDS[operands], text.replace("LABELS", LABELS)
        yield Program(op, variant, text, given, operands == "POINTS", "float16")
