"""Compositions of float16 and bfloat16 ops, which run in float32 and are rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.dtypes import float32
from tensorbus.rows.registry import Row


def wide_composition(row: Row) -> Callable[..., Any]:
    """A composition for the row: what float32 has of the op, between conversions.

    Its own composition would round each intermediate result to the 8 or 11 bits of the dtype.
    """
    name = row.name
    own = [row.operands.get(argument) == "same" for argument in row.arguments]

    def compute(kind: Any, *args: Any) -> Any:
        wide = kind.of(float32)
        given = [_widened(kind, wide, x) if o else x for x, o in zip(args, own, strict=True)]
        found = getattr(wide, name)(*given)
        kinds = zip(row.result_kinds(kind), row.result_kinds(wide), strict=True)
        if not row.outputs:
            return _narrowed(*next(kinds), found)
        return tuple(_narrowed(*pair, r) for pair, r in zip(kinds, found, strict=True))

    return compute


def _widened(kind: Any, wide: Any, x: Any) -> Any:
    """An operand in float32: an array, a constant, a sequence, or None."""
    if x is None:
        return None
    if isinstance(x, (list, tuple)):
        return [_widened(kind, wide, each) for each in x]
    return wide.cast(x, kind) if hasattr(x, "shape") else wide.const(kind.number_of(x))


def _narrowed(kind: Any, wide: Any, r: Any) -> Any:
    return r if kind is wide else kind.cast(wide.as_array(r), wide)
