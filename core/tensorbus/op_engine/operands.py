"""Which operands of a pointwise op may be numbers, as PyTorch has it for each function."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_checks import as_number

BOTH, EITHER, OTHER, NONE = "both", "either", "other", "none"

NUMBERS: dict[str, str] = {}
"""For each pointwise op of two operands: which of them may be numbers."""


def check_operands(function: str, op: str, input: Any, other: Any) -> None:
    """TypeError for an operand that is neither a tensor nor a number where one may stand."""
    numbers = NUMBERS[op]
    tensors = isinstance(input, Tensor), isinstance(other, Tensor)
    if not tensors[0] and (numbers in (OTHER, NONE) or not _is_number(input)):
        raise type_error(function, "input", 1, "Tensor", input)
    if not tensors[1] and (numbers == NONE or not _is_number(other)):
        raise type_error(function, "other", 2, "Tensor", other)
    if numbers == EITHER and not any(tensors):
        raise type_error(function, "input", 1, "Tensor", input)


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.shape == ()
    return as_number(value) is not None
