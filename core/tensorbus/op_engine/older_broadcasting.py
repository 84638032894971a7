"""How PyTorch 0.1 combined tensors of different shapes, for ``utils.backcompat``.

It took tensors with as many elements as one-dimensional ones, where today's shapes broadcast or are
an error.
"""

from __future__ import annotations

from typing import Any

from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.cores import core
from tensorbus.rows.layouts import broadcast_shapes


class _Fallback:
    """``on`` while tensors whose shapes do not broadcast are taken as one-dimensional."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


FALLBACK = _Fallback()


def _as_many(a: Any, b: Any) -> bool:
    """Whether two operands are tensors of different shapes with as many elements."""
    both = isinstance(a, Tensor) and isinstance(b, Tensor)
    return both and a._s != b._s and a._s.numel() == b._s.numel()


def warn_broadcast(a: Any, b: Any) -> None:
    """Warn where two tensors broadcast that were once combined element by element."""
    if not _as_many(a, b) or a._k is not b._k:
        return  # other kinds come once more, promoted
    try:
        broadcast_shapes(a._s, b._s)
    except RuntimeError:
        return
    warn_user(
        "self and other do not have the same shape, but are broadcastable, and have the same "
        "number of elements."
    )


def as_one_dimensional(a: Any, b: Any) -> tuple[Tensor, Tensor] | None:
    """The two operands in the first one's shape, with a warning; None where they broadcast."""
    if not _as_many(a, b):
        return None
    try:
        broadcast_shapes(a._s, b._s)
    except RuntimeError:
        return a, as_many_in_shape(a, b)
    return None


def as_many_in_shape(a: Tensor, b: Any) -> Any:
    """*b* in the shape of *a*, with a warning; None where it has not as many elements."""
    if not _as_many(a, b):
        return None
    warn_user(
        "self and other not broadcastable, but have the same number of elements.  Falling back to "
        "deprecated pointwise behavior."
    )
    return core("reshape")(b, tuple(a._s))
