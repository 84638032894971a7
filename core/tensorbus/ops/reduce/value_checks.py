"""Values that a function refuses: at once, or by devices that compute later when these are read."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import every_value
from tensorbus.ops.indexing.masking import where
from tensorbus.plugin.faults import index_with_text


def refuse_values(*cases: tuple[Tensor, str]) -> None:
    """RuntimeError with the first of the texts beside which a truth value is true.

    A device that computes later is not waited for: it keeps an index fault that has the text.
    """
    kind = cases[0][0]._k
    if not kind.has_values:
        return
    if kind.backend.traits.host_sync:
        for wrong, text in cases:
            if every_value(wrong).any():
                raise RuntimeError(text)
        return
    fault: Any = 0
    for wrong, text in reversed(cases):
        fault = where(wrong.any(), index_with_text(text), fault)
    fault.new_zeros(1).index_select(0, fault)
