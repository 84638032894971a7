"""Draws whose parameters get gradients of zero."""

from __future__ import annotations

from collections.abc import Sequence

from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core


def without_slope(drawn: Tensor, operands: Sequence[Tensor], node: str) -> Tensor:
    """What was drawn, with gradients of zero for the *operands*, where that is recorded."""
    return _tied(drawn, operands, node) if operands else drawn


@composed(node=lambda drawn, operands, node: node)
def _tied(drawn: Tensor, operands: Sequence[Tensor], node: str) -> Tensor:
    k = drawn._k
    everywhere = from_array(k.bool.full(tuple(drawn._s), True), k.bool)
    for x in operands:
        drawn = core("where")(everywhere, drawn, to_kind(x, k))
    return drawn
