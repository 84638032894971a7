"""Which ops run on the dtypes for storage: what moves elements, and what PyTorch's CPU computes."""

from __future__ import annotations

from tensorbus._base.dtypes import COMPLEX, INTEGER, dtype
from tensorbus.rows.registry import Row

_MOVING = frozenset(
    "arange take gather put scatter where concatenate contiguous eq ne flatnonzero any all "
    "logical_not".split()
)
_OF_INTEGERS = frozenset(
    "mul bitwise_and bitwise_or bitwise_xor sum prod cumsum cumprod argsort sort_values".split()
)
_OF_COMPLEX = frozenset("add sub mul neg abs isnan isinf isfinite".split())
_OF_FLOATS = frozenset("mul abs isnan isfinite matmul".split())


def runs(row: Row, d: dtype) -> bool:
    """Whether the device's own kernel of an op may run on a dtype."""
    if d.computes or row.form == "view" or row.kernel in _MOVING:
        return True
    if d.category == INTEGER:
        return row.kernel in _OF_INTEGERS or row.domain == "rounding"  # which copies integers
    return row.kernel in (_OF_COMPLEX if d.category == COMPLEX else _OF_FLOATS)
