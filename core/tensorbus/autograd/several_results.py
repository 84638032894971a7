"""Operations with several results: one node, and before it an edge for each result.

The edges hand their gradients on to the node by position. It runs once, when all that came have
met there.
"""

from __future__ import annotations

from typing import Any

from tensorbus.autograd.node import Node, next_sequence


class Gradients(dict[int, Any]):
    """The gradients of several results, by position, on their way to one node."""

    def __add__(self, other: Any) -> Gradients:
        return Gradients({**self, **other})


class GATHERING:
    """Stands for a kind in the node of an operation with several results, where gradients meet."""

    @staticmethod
    def add(a: Gradients, b: Gradients) -> Gradients:
        return a + b


class ResultEdge(Node):
    """The edge of one of several results. Users see the node of the operation in its place."""

    __slots__ = ("e0", "position")
    arity = 1
    op = "result"
    e0: Any
    position: int

    def operation(self) -> Node:
        return self.e0

    def name(self) -> str:
        return self.e0.name()

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, Gradients({self.position: g})

    run_t = run


def result_edge(node: Node, position: int, kind: Any) -> ResultEdge:
    """The edge of the result of a kind at a position among those of *node*."""
    edge = ResultEdge()
    edge.q = next_sequence()
    edge.h = None
    edge.k = kind
    edge.e0 = node
    edge.position = position
    return edge
