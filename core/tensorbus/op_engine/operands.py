"""Which operands of a pointwise op may be numbers, as PyTorch has it for each function."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base.errors import no_tensor, type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number

BOTH, EITHER, OTHER, NONE = "both", "either", "other", "none"

NUMBERS: dict[str, str] = {}
"""For each pointwise op of two operands: which of them may be numbers."""


def check_operands(function: str, op: str, input: Any, other: Any, method: bool = False) -> None:
    """TypeError for an operand that is neither a tensor nor a number where one may stand.

    The first of a *method* is a tensor, and positions are counted after it.
    """
    numbers = NUMBERS[op]
    tensors = isinstance(input, Tensor), isinstance(other, Tensor)
    if method and not tensors[0]:
        raise no_tensor(function, input)
    if not tensors[0] and (numbers in (OTHER, NONE) or as_number(input) is None):
        raise type_error(function, "input", 1, "Tensor", input)
    if not tensors[1] and (numbers == NONE or as_number(other) is None):
        raise type_error(function, "other", 2 - method, "Tensor", other)
    if numbers == EITHER and not any(tensors):
        raise type_error(function, "input", 1, "Tensor", input)


def is_foreign(value: Any) -> bool:
    """Whether an operator declines an operand: it is neither a tensor nor a number."""
    return not isinstance(value, np.ndarray) and as_number(value) is None
