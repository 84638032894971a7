"""Which dimensions of a graph's values are one and the same axis of a loop nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus.plugin.graph import Block, Node, TensorType, Value

Axes = tuple[int | None, ...]
"""For each dimension of a value its axis; None where its size is 1."""

FOLDS = ("sum", "prod", "amax", "amin")
GATHERS = ("take", "gather")


class Declined(Exception):
    """The graph, or a part of it, is no loop nest."""


class AxisMap:
    """The axes of all values of a graph, and those that its reductions fold.

    A dimension of an input is an axis. What broadcasting aligns, and what views keep, is the same
    one; the results of other ops have axes of their own. *knows* says whether an op is pointwise
    or a reduction, though it may have a body.
    """

    def __init__(self, block: Block, knows: Callable[[str], bool]):
        self._knows = knows
        self._parents: list[int] = []
        self._of: dict[Value, Axes] = {}
        self.others: set[Node] = set()
        """The nodes whose results are no part of a loop nest: products, sorts, most views."""
        self.nodes: list[Node] = []
        """The nodes in their order, those of bodies that were taken in place of an op too."""
        for value in block.inputs:
            self._of[value] = self._new(value)
        self._block(block)

    def of(self, value: Value) -> Axes:
        """The axes of a value."""
        return tuple(None if a is None else self._find(a) for a in self._of[value])

    def folded(self, node: Node) -> frozenset[int]:
        """The axes that a reduction folds."""
        x, dims, *_ = node.args
        assert isinstance(x, Value) and isinstance(dims, tuple)
        axes = self.of(x)
        return frozenset(a for d in dims if (a := axes[d]) is not None)  # type: ignore[index]

    def _new(self, value: Value) -> Axes:
        if not isinstance(value.type, TensorType):
            return ()
        return tuple(None if n == 1 else self._axis() for n in value.type.shape)

    def _axis(self) -> int:
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def _find(self, axis: int) -> int:
        while self._parents[axis] != axis:
            axis = self._parents[axis]
        return axis

    def _join(self, a: int | None, b: int | None) -> int | None:
        if a is None or b is None:
            return b if a is None else a
        self._parents[self._find(a)] = self._find(b)
        return b

    def _block(self, block: Block) -> None:
        for node in block.nodes:
            if node.blocks or len(node.outputs) != 1:
                raise Declined
            self._node(node)

    def _node(self, node: Node) -> None:
        (made,) = node.outputs
        if node.body is not None and not self._knows(node.op):
            values = [x for x in node.args if isinstance(x, Value)]
            for inner, x in zip(node.body.inputs, values, strict=True):
                self._of[inner] = self._of[x]
                self.nodes.append(Node("same", (x,), (inner,)))
            self._block(node.body)
            self._of[made] = self._of[node.body.outputs[0]]
            self.nodes.append(Node("same", (node.body.outputs[0],), (made,)))
            return
        rule = _RULES.get(node.op)
        found = rule(self, node) if rule else self._pointwise(node)
        if found is None:
            self.others.add(node)
            found = self._new(made)
        self._of[made] = found
        self.nodes.append(node)

    def _pointwise(self, node: Node) -> Axes | None:
        if not self._knows(node.op):
            return None
        found: list[int | None] = []
        for x in node.args:
            if isinstance(x, Value):
                axes = self._of[x]
                found = [*(None for _ in range(len(axes) - len(found))), *found]
                for i, axis in enumerate(axes, len(found) - len(axes)):
                    found[i] = self._join(found[i], axis)
        return tuple(found)

    def _expanded(self, node: Node) -> Axes:
        x, shape = node.args
        assert isinstance(x, Value) and isinstance(shape, tuple)
        lead = len(shape) - len(self._of[x])
        axes = (None,) * lead + self._of[x]
        return tuple(
            self._axis() if a is None and n != 1 else a for a, n in zip(axes, shape, strict=True)
        )

    def _unsqueezed(self, node: Node) -> Axes:
        x, dim = node.args
        assert isinstance(x, Value) and isinstance(dim, int)
        return (*self._of[x][:dim], None, *self._of[x][dim:])

    def _viewed(self, node: Node) -> Axes | None:
        """Of a view that adds and drops dimensions of size 1."""
        x, shape = node.args
        assert isinstance(x, Value) and isinstance(shape, tuple)
        assert isinstance(x.type, TensorType)
        if [n for n in x.type.shape if n != 1] != [n for n in shape if n != 1]:
            return None
        axes = iter([a for a in self._of[x] if a is not None])
        return tuple(None if n == 1 else next(axes) for n in shape)

    def _permuted(self, node: Node) -> Axes:
        x, dims = node.args
        assert isinstance(x, Value) and isinstance(dims, tuple)
        return tuple(self._of[x][d] for d in dims)  # type: ignore[index]

    def _selected(self, node: Node) -> Axes | None:
        x, dim, i = node.args
        assert isinstance(x, Value) and isinstance(dim, int)
        if self._of[x][dim] is not None or i != 0:
            return None
        return (*self._of[x][:dim], *self._of[x][dim + 1 :])

    def _folded(self, node: Node) -> Axes:
        x, dims = node.args[:2]
        assert isinstance(x, Value) and isinstance(dims, tuple)
        return tuple(a for d, a in enumerate(self._of[x]) if d not in dims)

    def _taken(self, node: Node) -> Axes | None:
        x, dim, i, *_ = node.args
        assert isinstance(x, Value) and isinstance(dim, int) and isinstance(i, Value)
        return self._picked((*self._of[x][:dim], *self._of[i], *self._of[x][dim + 1 :]))

    def _gathered(self, node: Node) -> Axes | None:
        x, dim, i = node.args
        assert isinstance(x, Value) and isinstance(i, Value)
        pairs = enumerate(zip(self._of[x], self._of[i], strict=False))
        return self._picked(tuple(b if d == dim else self._join(a, b) for d, (a, b) in pairs))

    def _picked(self, axes: Axes) -> Axes | None:
        """None where two dimensions would lie along each other, and of arrays of no dimension."""
        found = [self._find(a) for a in axes if a is not None]
        return axes if axes and len({*found}) == len(found) else None


_RULES: dict[str, Any] = {
    "expand": AxisMap._expanded,
    "unsqueeze": AxisMap._unsqueezed,
    "view": AxisMap._viewed,
    "permute": AxisMap._permuted,
    "select": AxisMap._selected,
    "take": AxisMap._taken,
    "gather": AxisMap._gathered,
    **dict.fromkeys(FOLDS, AxisMap._folded),
}
MOVES = frozenset(["expand", "unsqueeze", "view", "permute", "select", "same"])
"""Ops of these values are their operand's, element by element along its axes."""
