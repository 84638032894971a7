"""The weights of recurrent layers as their ops get them: one sequence, direction by direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Weights(NamedTuple):
    """Of one direction: of the input, of the state, their biases, and that of the projection."""

    w: Any
    u: Any
    b: Any = None
    d: Any = None
    p: Any = None


def of_directions(weights: Sequence[Any], directions: int) -> list[Weights]:
    """The weights of each direction; an odd number of them has a projection's at its end.

    >>> of_directions("wubdwubd", 2)[1]
    Weights(w='w', u='u', b='b', d='d', p=None)
    """
    each = len(weights) // directions
    projects = each % 2
    found = []
    for start in range(0, len(weights), each):
        plain = Weights(*weights[start : start + each - projects])
        found.append(plain._replace(p=weights[start + each - 1]) if projects else plain)
    return found
