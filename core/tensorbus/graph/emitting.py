"""Compositions of pointwise ops as straight-line Python, for backends that compile nothing.

Its buffers are kept for the next call, so a piece of a large array is computed in memory that the
processor's caches hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base import registered
from tensorbus._dispatch.kinds import Kind
from tensorbus.graph.compiled_rows import Callee, Compiled
from tensorbus.graph.straight_line import Declined, straight_line
from tensorbus.plugin.graph import Block, Graph, Node, NumberType, TensorType, Value
from tensorbus.plugin.primitives import POINTWISE
from tensorbus.rows.registry import ROWS, Row

Entry = Callable[..., Any]

MOST_OPS = 32
"""Longer compositions mostly read values, and leave out what no element needs; no graph can."""


@registered.emitted_composition.provide
def emitted_composition(kind: Kind, row: Row, compose: Entry) -> Entry:
    """An entry for pieces of a composed pointwise op that runs its emitted form, else *compose*."""
    roles = tuple(row.operands.get(name) for name in row.arguments)
    callee = Callee(row.name, roles, lambda F, *args: getattr(F, row.name)(*args))
    return Compiled(kind, callee, compose, [lambda graph, index: emit(kind, graph)])


def emit(kind: Kind, graph: Graph) -> Entry | None:
    """The kernel of a graph of pointwise ops on arrays of one dimension; None for any other."""
    try:
        block = _Flat(kind, graph).block
        line = straight_line(kind, block, [None])
    except Declined:
        return None
    first = next(
        i for i, v in enumerate(block.inputs) if isinstance(v.type, TensorType) and v.type.shape
    )
    result, spare = kind.of(block.outputs[0].type.dtype), _Spare()

    def emitted(*inputs: Any, out: Any = None) -> Any:
        n = inputs[first].shape[0]
        made = result.empty((n,)) if out is None or out[0] is None else out[0]
        spare.give(n, line.run(*inputs, made, *spare.take(n)))
        return made

    return emitted


class _Flat:
    """A graph's ops without bodies around them, where all is pointwise and not too long."""

    def __init__(self, kind: Kind, graph: Graph):
        if len(graph.outputs) != 1 or graph.outputs[0] in graph.inputs:
            raise Declined
        self._kind = kind
        self._same: dict[Value, Any] = {}
        """Values that are another one, or a number, for all that is computed of them."""
        self._nodes: list[Node] = []
        self._take(graph)
        result = self._of(graph.outputs[0])
        lines = [v for v in graph.inputs if isinstance(v.type, TensorType) and v.type.shape]
        if len(self._nodes) > MOST_OPS or not isinstance(result, Value):
            raise Declined
        if not lines or result in graph.inputs or len(lines[0].type.shape) != 1:  # type: ignore[union-attr]
            raise Declined
        if not isinstance(result.type, TensorType) or result.type.shape != lines[0].type.shape:  # type: ignore[union-attr]
            raise Declined
        self.block = Block(graph.inputs, tuple(self._nodes), (result,))

    def _of(self, x: Any) -> Any:
        while isinstance(x, Value) and x in self._same:
            x = self._same[x]
        return x

    def _take(self, block: Block) -> None:
        for node in block.nodes:
            if node.blocks or len(node.outputs) != 1:
                raise Declined
            (made,) = node.outputs
            operands = [self._of(x) for x in node.args]
            values = [x for x in operands if isinstance(x, Value)]
            own = node.op in POINTWISE or node.op == "cast" or self._has_kernel(node, values)
            if own and values and not any(isinstance(x.type, NumberType) for x in values):
                self._nodes.append(Node(node.op, tuple(operands), node.outputs))
            elif node.op == "expand" and values:  # what is computed of it repeats it as well
                self._same[made] = values[0]
            elif node.body is not None:
                given = [self._of(x) for x in node.args if isinstance(x, Value)]
                self._same |= zip(node.body.inputs, given, strict=True)
                self._take(node.body)
                self._same[made] = node.body.outputs[0]
            else:
                raise Declined

    def _has_kernel(self, node: Node, values: list[Value]) -> bool:
        row = ROWS.get(node.op)
        if row is None or row.form not in ("unary", "binary") or not values:
            return False
        d = values[0].type.dtype
        return self._kind.backend.kernel(node.op, d, self._kind.index) is not None


class _Spare:
    """The buffers of a function between its calls; two calls at once have buffers of their own."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, tuple[Any, ...]]] = []

    def take(self, n: int) -> tuple[Any, ...]:
        try:
            size, buffers = self._kept.pop()
        except IndexError:
            return ()
        return buffers if size == n else ()

    def give(self, n: int, buffers: tuple[Any, ...]) -> None:
        if not self._kept:
            self._kept.append((n, buffers))
