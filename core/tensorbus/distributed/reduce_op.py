"""The ways to combine the values of all ranks."""

from __future__ import annotations

import enum

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype


class ReduceOp(enum.Enum):
    """How ``all_reduce``, ``reduce`` and ``reduce_scatter`` combine values.

    >>> from tensorbus.distributed import ReduceOp
    >>> ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"ReduceOp.{self.name}"


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]
"""PyTorch has the members in a class of their own."""

reduce_op = ReduceOp
"""PyTorch's older name."""


def check_op(call: str, op: ReduceOp, d: dtype) -> str:
    """The name under which a comm knows the op; errors where the dtype has no such operation."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{call}(): op must be a ReduceOp, such as ReduceOp.SUM, not {op!r}")
    if d.is_complex and op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise ValueError(f"{call} does not support {op} on complex tensors")
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and d.category >= dtypes.FLOAT:
        raise RuntimeError(
            f"Cannot use {op} with non-integral dtype: {call} got {d.name}; bitwise operations "
            f"are for integers and bool"
        )
    if op is ReduceOp.AVG:
        if d.category == dtypes.BOOL:
            raise RuntimeError(f"Cannot use {op} with bool: {call} averages numbers; convert first")
        return "sum"
    return op.name.lower()
