"""Operations with several results: one node, and before it an edge for each result.

The edges hand their gradients on to the node by position. It runs once, when all that came have
met there.
"""

from __future__ import annotations

from typing import Any

from tensorbus._base.modes import RARE
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import Node, is_leaf_edge, next_sequence


class Gradients(dict[int, Any]):
    """The gradients of several results, by position, on their way to one node."""

    def __add__(self, other: Any) -> Gradients:
        return Gradients({**self, **other})


class GATHERING:
    """Stands for a kind in the node of an operation with several results, where gradients meet."""

    @staticmethod
    def add(a: Gradients, b: Gradients) -> Gradients:
        a.update(b)  # which was made by an edge for the node alone
        return a


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


class SplitBackward0(Node):
    """The node of views that cut a tensor apart along a dimension: it joins their gradients."""

    __slots__ = ("dim", "e0", "kind", "shapes", "stacked")
    arity = 1
    op = "split"
    e0: Any
    kind: Any
    dim: int
    shapes: tuple[Any, ...]
    stacked: bool
    """Whether the dimension is missing from the views."""

    def result_kinds(self) -> tuple[Any, ...]:
        return (self.kind,) * len(self.shapes)

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, self._joined(self.kind, g)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self.e0, self._joined(self.kind.T, g)

    def _joined(self, F: Any, g: Gradients) -> Any:
        found = [g.get(i) for i in range(len(self.shapes))]
        parts = [
            F.zeros(tuple(shape)) if part is None else part
            for part, shape in zip(found, self.shapes, strict=True)
        ]
        if self.stacked:
            parts = [F.unsqueeze(part, self.dim) for part in parts]
        return F.concatenate(parts, self.dim)


def join_gradients(views: tuple[Tensor, ...], dim: int, stacked: bool) -> None:
    """Give new views that cut one tensor apart a node in common, if they record."""
    first = views[0]._e
    if len(views) < 2 or RARE.on or is_leaf_edge(first) or first.k.rule_for is not None:
        return
    n = SplitBackward0()
    n.q = next_sequence()
    n.h = None
    n.k, n.kind, n.e0 = GATHERING, first.k, first.e0
    n.dim, n.shapes, n.stacked = dim, tuple([view._s for view in views]), stacked
    for i, view in enumerate(views):
        view._e = result_edge(n, i, n.kind)
