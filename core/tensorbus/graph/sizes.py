"""Graphs for arrays of any size: recorded at two unlike choices of sizes, and compared.

A composition reads sizes as plain numbers, so a recorded graph has them among its constants. What
differs between two recordings hangs on sizes. As each size is a prime of its own, the factors of
such a number say on which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorbus._base import dtypes
from tensorbus.graph.recording import Unrecordable
from tensorbus.plugin.graph import Block, Graph, Node, NumberType, TensorType, Value

_FIRST = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179)
_SECOND = (293, 283, 281, 277, 271, 269, 263, 257, 251, 241, 239, 233, 229, 227, 223, 211)
MOST_SIZES = len(_FIRST)
"""How many sizes a graph may have that differ and are neither 0 nor 1."""


@dataclass(frozen=True)
class Term:
    """A number that hangs on sizes: ``factor * product of sizes + offset``."""

    factor: int
    powers: tuple[tuple[int, int], ...]
    """Pairs (which size, how many times)."""
    offset: int = 0
    is_float: bool = False

    def at(self, sizes: tuple[int, ...]) -> int | float:
        """Its value for these sizes."""
        found = self.factor * math.prod(sizes[i] ** n for i, n in self.powers) + self.offset
        return float(found) if self.is_float else found

    def __str__(self) -> str:
        names = [f"s{i}" for i, n in self.powers for _ in range(n)]
        text = "*".join([*([str(self.factor)] if self.factor != 1 else []), *names])
        return text + (f"{self.offset:+d}" if self.offset else "")


def generalised(
    record_at: Callable[[tuple[int, ...]], Block], count: int
) -> tuple[Graph, list[Term]]:
    """A graph for any *count* sizes above 1, and the numbers that its last inputs are.

    A size that no array among the inputs has is a number of type int64 with the size's name.
    *record_at* records for given sizes. ``Unrecordable`` where the two recordings have other ops,
    or a number that hangs on sizes in no way that a ``Term`` tells.
    """
    if count > MOST_SIZES:
        raise Unrecordable(f"{count} different sizes")
    return _Merge(record_at(_FIRST[:count]), record_at(_SECOND[:count])).graph()


class _Merge:
    """Two recordings as one graph."""

    def __init__(self, first: Block, second: Block):
        self.first, self.second = first, second
        self.made: dict[Value, Value] = {}
        self.terms: dict[Term, Value] = {}
        self.used: dict[str, Term] = {}
        """The sizes that the graph speaks of, by their names."""

    def graph(self) -> tuple[Graph, list[Term]]:
        block = self.block(self.first, self.second)
        known = {n for v in block.inputs if isinstance(v.type, TensorType) for n in v.type.shape}
        absent = sorted(self.used.keys() - known)
        sizes = [Value(NumberType(dtypes.int64), name) for name in absent]
        inputs = (*block.inputs, *self.terms.values(), *sizes)
        terms = [*self.terms, *(self.used[name] for name in absent)]
        return Graph(inputs, block.nodes, block.outputs), terms

    def block(self, a: Block, b: Block) -> Block:
        inputs = tuple(map(self.value, a.inputs, b.inputs))
        if len(a.nodes) != len(b.nodes) or len(a.outputs) != len(b.outputs):
            raise Unrecordable("sizes decide which ops there are")
        nodes = tuple(map(self.node, a.nodes, b.nodes))
        return Block(inputs, nodes, tuple(self.made[value] for value in a.outputs))

    def body(self, a: Block | None, b: Block | None) -> Block | None:
        """A body, which knows its own inputs alone: it may have no number that hangs on sizes."""
        if a is None or b is None:
            return None
        before = len(self.terms)
        merged = self.block(a, b)
        if len(self.terms) != before:
            raise Unrecordable("the body of an op hangs on sizes")
        return merged

    def value(self, a: Value, b: Value) -> Value:
        made = a
        if isinstance(a.type, TensorType) and isinstance(b.type, TensorType):
            if len(a.type.shape) != len(b.type.shape):
                raise Unrecordable("sizes decide how many dimensions there are")
            shape = tuple(map(self.size, a.type.shape, b.type.shape))
            made = Value(TensorType(a.type.dtype, shape), a.name)
        self.made[a] = made
        return made

    def node(self, a: Node, b: Node) -> Node:
        if a.op != b.op or len(a.args) != len(b.args):
            raise Unrecordable("sizes decide which ops there are")
        args = tuple(self.argument(x, y, a) for x, y in zip(a.args, b.args, strict=True))
        body = self.body(a.body, b.body)
        outputs = tuple(map(self.value, a.outputs, b.outputs))
        return Node(a.op, args, outputs, body=body)

    def size(self, a: Any, b: Any) -> int | str:
        if a == b:
            return int(a)
        term = self.term(a, b)
        if term.offset:
            raise Unrecordable("a size that is no product of sizes")
        self.used |= {f"s{i}": Term(1, ((i, 1),)) for i, _ in term.powers}
        return str(term)

    def argument(self, a: Any, b: Any, node: Node) -> Any:
        if isinstance(a, Value):
            return self.made[a]
        if isinstance(a, tuple):
            if not isinstance(b, tuple) or len(a) != len(b):
                raise Unrecordable("sizes decide how many arguments there are")
            return tuple(
                self.argument(x, y, node) if isinstance(x, Value) else self.in_tuple(x, y)
                for x, y in zip(a, b, strict=True)
            )
        if type(a) is type(b) and (a == b or (a != a and b != b)):
            return a
        term = self.term(a, b)
        if term not in self.terms:
            self.terms[term] = Value(NumberType(node.outputs[0].type.dtype), str(term))
        return self.terms[term]

    def in_tuple(self, a: Any, b: Any) -> Any:
        return a if type(a) is type(b) and a == b else self.size(a, b)

    def term(self, a: Any, b: Any) -> Term:
        numbers = (int, float)
        if type(a) is not type(b) or type(a) not in numbers or a != int(a) or b != int(b):
            raise Unrecordable(f"{a!r} in one recording is {b!r} in the other")
        for offset in (0, 1, -1):
            x, y = _factors(int(a) - offset, _FIRST), _factors(int(b) - offset, _SECOND)
            if x == y and x[1]:
                return Term(*x, offset, isinstance(a, float))
        raise Unrecordable(f"{a!r} in one recording is {b!r} in the other")


def _factors(number: int, primes: tuple[int, ...]) -> tuple[int, tuple[tuple[int, int], ...]]:
    """What is left of a number without these primes, and how often it has each."""
    powers = []
    for i, prime in enumerate(primes):
        n = 0
        while number and number % prime == 0:
            number //= prime
            n += 1
        if n:
            powers.append((i, n))
    return number, tuple(powers)
