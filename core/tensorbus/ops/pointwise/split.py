"""Functions that have one formula for some elements and another for the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus._base.size import broadcast_shapes

Formula = Callable[..., Any]


def split(F: Any, condition: Any, inside: Formula, outside: Formula, *operands: Any) -> Any:
    """``inside(F, *operands)`` where *condition* holds, ``outside(F, *operands)`` elsewhere.

    A device on which the host sees values at once computes each formula for its own elements
    alone; another computes both for all and picks. So both formulas take any element.
    """
    shapes = {tuple(x.shape) for x in (condition, *operands)}
    shape = shapes.pop() if len(shapes) == 1 else broadcast_shapes(*shapes)
    count = math.prod(shape)
    if not (count and shape and sees_values(F)):
        return F.where(condition, inside(F, *operands), outside(F, *operands))
    B = F.bool
    operands = tuple(_expanded(F, x, shape) for x in operands)
    mask = B.view(B.contiguous(_expanded(B, condition, shape)), (count,))
    if B.to_host(B.as_array(B.all(mask, (0,)))):
        return inside(F, *operands)
    places = B.flatnonzero(mask)
    if not places.shape[0]:
        return outside(F, *operands)
    rest = B.flatnonzero(B.logical_not(mask))
    flat = [F.view(F.contiguous(x), (count,)) for x in operands]
    result = F.empty((count,))
    for indices, formula in ((places, inside), (rest, outside)):
        values = formula(F, *(F.take(x, 0, indices, False) for x in flat))
        F.put(result, 0, indices, values, "set", False)
    return F.view(result, shape)


def sees_values(F: Any) -> bool:
    """Whether the host sees this namespace's values without waiting for a device."""
    return bool(not F.records and F.has_values and F.backend.traits.host_sync)


def _expanded(F: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return x if tuple(x.shape) == shape else F.expand(x, shape)


def over(F: Any, x: Any) -> Any:
    """What the next step may write to: the array of an intermediate value *x*, or None, where a
    step is recorded or the value may have no memory of its own."""
    return x if len(x.shape) and not F.records else None
