"""What a node picks elements of, where the same graph computes it: computed at the index alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tensorbus.plugin.graph import Node, Value, values_among
from tensorbus.plugin.kernel_language.axes import FOLDS, GATHERS, Axes


class Source(NamedTuple):
    """The values that make up what elements are picked of, along the picked axis."""

    axis: int
    """The axis on which the index stands."""
    computed: frozenset[Value]
    """What is computed again, of elements at the index."""
    arrays: tuple[Value, ...]
    """What is read at the index."""
    others: tuple[Value, ...]
    """What lacks the axis, and so is the same for all indices."""


def source_of(
    picked: Value,
    axis: int,
    axes: Callable[[Value], Axes],
    makers: Mapping[Value, Node],
    is_given: Callable[[Value], bool],
) -> Source | None:
    """The source of elements that are *picked* along an axis; None where they need an array.

    That is where another pick or a reduction has the axis, of which elements elsewhere are read as
    well, and where no array has it whose size says which indices are outside.
    """
    found: dict[Value, bool] = {}
    arrays, others, waiting = [], [], [picked]
    while waiting:
        value = waiting.pop()
        if value in found:
            continue
        found[value] = False
        if axis not in axes(value):
            others.append(value)
        elif is_given(value):
            arrays.append(value)
        elif makers[value].op in (*FOLDS, *GATHERS):
            return None
        else:
            found[value] = True
            waiting += values_among(makers[value].args)
    computed = frozenset(value for value, again in found.items() if again)
    return Source(axis, computed, tuple(arrays), tuple(others)) if arrays else None


def unused(
    nodes: Sequence[Node], outputs: Sequence[Value], makers: Mapping[Value, Node]
) -> list[Value]:
    """What is picked by indices that may be wrong, though nothing uses it."""
    used: set[Value] = set()
    waiting = list(outputs)
    while waiting:
        value = waiting.pop()
        if value in makers and value not in used:
            waiting += values_among(makers[value].args)
        used.add(value)
    made = [node.outputs[0] for node in nodes if node.op in GATHERS]
    return [value for value in made if value not in used]
