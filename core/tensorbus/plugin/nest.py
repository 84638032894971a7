"""Loop nests: what graphs are lowered to before a generator writes their text.

A nest runs through a box of axes and says what is stored at each point. Reductions are expressions
that run through axes of their own; what is computed of them is the epilogue.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.graph import SymbolicSize


@dataclass(frozen=True, slots=True)
class Affine:
    """The index of one dimension: *offset* and each axis times its factor."""

    terms: tuple[tuple[int, int], ...] = ()
    """Pairs (axis, factor)."""
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The index of one dimension: the value of an expression of int64 at each point.

    A read outside of the array touches no memory: it gives 0 and is an ``IndexFault``.
    """

    value: Expression
    dim: int
    """The dimension that a fault names."""
    wrap: bool = False
    """Whether -1 is the last element."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """An element of an array: for each of its dimensions an index."""

    array: int
    index: tuple[Affine | Gathered, ...]
    dtype: dtype


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A Python number that each call gives."""

    number: int
    dtype: dtype


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """A pointwise op, by the name of its row, or ``cast``; constants stand for themselves."""

    op: str
    args: tuple[Expression | bool | int | float | complex, ...]
    dtype: dtype


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """``sum``, ``prod``, ``amax`` or ``amin`` of an expression along axes, in *dtype*."""

    op: str
    value: Expression
    axes: tuple[int, ...]
    dtype: dtype


Expression = Read | Number | Apply | Fold
"""Expressions that are one object are computed once."""


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """What is stored where in an output; its axes are those of the box, each once, or None for a
    dimension of size 1."""

    axes: tuple[int | None, ...]
    value: Expression
    dtype: dtype


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Stores for all points of a box.

    An axis that a ``Fold`` goes along and a store has too is gone through once more for the store.
    """

    box: tuple[SymbolicSize, ...]
    """The size of each axis, as in a graph's types."""
    arrays: tuple[dtype, ...]
    numbers: tuple[dtype, ...]
    stores: tuple[Store, ...]
    tiles: tuple[int, ...] = ()
    """How many points of each axis one work item takes; empty: the generator decides."""
    packed: tuple[int, ...] = ()
    """The arrays that are copied into the order of the loops before."""
    schedule: tuple[int, ...] = ()
    """The order of the axes, the outermost first; empty: the generator decides."""
