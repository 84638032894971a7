"""Which dtype a result has: PyTorch's type promotion.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype, promote_types
from tensorbus._dispatch.wrapping import check_bits
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number


def number_dtype(value: Any) -> dtype:
    """The dtype a Python number stands for, or what counts as one, such as a NumPy scalar."""
    if isinstance(value, bool):
        return dtypes.bool
    if isinstance(value, int):
        check_bits(value)
        return dtypes.int64
    if isinstance(value, float):
        return dtypes.get_default_dtype()
    if isinstance(value, complex):
        return dtypes.get_default_dtype().to_complex()
    if (number := as_number(value)) is not None:
        return number_dtype(number)
    raise TypeError(f"expected a number or a Tensor, not {type(value).__name__}")


def result_type(*operands: Any) -> dtype:
    """The dtype of an arithmetic result: tensors with dimensions decide within a category.

    A 0-dim tensor, and after it a Python number, only counts where its category (bool, integer,
    floating, complex) is above that of the operands before it.

    >>> import tensorbus
    >>> tensorbus.result_type(tensorbus.ones(2, dtype=tensorbus.int8), 1.5)
    torch.float32
    """
    ranked: list[dtype | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, Tensor):
            rank, d = (0 if operand._s else 1), operand._k.dtype
        else:
            rank, d = 2, number_dtype(operand)
        before = ranked[rank]
        ranked[rank] = d if before is None else promote_types(before, d)
    result: dtype | None = None
    for lower in ranked:
        result = _combine(result, lower)
    if result is None:
        raise ValueError("result_type needs at least one tensor or number")
    return result


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return higher or lower
    if lower.category <= higher.category:
        return higher
    if lower.is_complex and higher.is_floating_point:
        # Few ops compute on complex32, and few devices have it.
        return promote_types(higher, dtypes.complex64)
    return promote_types(higher, lower)
