"""The form in which a graph reaches a plugin: what ``compile(graph, index)`` is given.

Plain data. A graph holds no arrays, so it can be kept, compared by what it
prints, and compiled once for many calls; weights and constants that are arrays are its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorbus._base.dtypes import dtype

SymbolicSize = int | str
"""The size of a dimension: a number, or the name of one that only a call settles.

Equal names mean equal sizes in all of a graph. The sizes 0 and 1 have no name: they are numbers
always, because empty results and broadcasting hang on them.
"""


@dataclass(frozen=True, slots=True)
class TensorType:
    """An array of that dtype and shape, in any layout that the plugin's kernels take."""

    dtype: dtype
    shape: tuple[SymbolicSize, ...]


@dataclass(frozen=True, slots=True)
class NumberType:
    """A Python number, given at each call: a learning rate, an epsilon, a size."""

    dtype: dtype


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What a graph's input or a node's result is; two are the same only if they are one object."""

    type: TensorType | NumberType
    name: str = ""


Constant = bool | int | float | complex | str | dtype | None
Argument = Value | Constant | tuple["Argument", ...]
"""What stands for one argument of an op: values, and constants as kernels get them.

In a tuple of sizes a string is the name of a size; where an op has a word for an argument (the
*op* of ``put``), it is that word.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One op: its arguments in the order of its signature, and its results."""

    op: str
    """A primitive, a view, ``cast``, ``if``, ``loop``, or another row such as ``conv2d``."""
    args: tuple[Argument, ...]
    outputs: tuple[Value, ...]
    blocks: tuple[Block, ...] = ()
    """The two branches of an ``if``, the body of a ``loop``; else none."""
    body: Block | None = None
    """How an op that is no primitive is composed of others: its block has one input for each
    Value among *args*, in their order and those in tuples too, and the node's results as outputs.
    A plugin that does not know the op compiles this instead."""
    location: tuple[str, int] | None = None
    """File and line of the program, for messages."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Nodes in an order in which they can be computed; each value is made once."""

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Graph(Block):
    """A block that is compiled as a whole. Its inner values may be used by no one else."""

    writes: tuple[tuple[int, int], ...] = ()
    """Pairs (output, input): that output is written into the array of that input, after all reads
    of what it held."""


def values_among(args: tuple[Argument, ...]) -> list[Value]:
    """The values among a node's arguments, in their order and those in tuples too.

    >>> from tensorbus.plugin import float32
    >>> x = Value(NumberType(float32), "x")
    >>> [value.name for value in values_among((2.0, (x, 1), x))]
    ['x', 'x']
    """
    found: list[Value] = []
    for x in args:
        if isinstance(x, Value):
            found.append(x)
        elif isinstance(x, tuple):
            found += values_among(x)
    return found
