"""Graphs as few loop nests, with kernels between them where an op is no part of a nest.

A reduction's axes decide what may share a nest: reductions along the same axes, which keep the same
ones, and what is pointwise before, between and behind them. A nest reads what an earlier one or
another kernel has made; what is pointwise is rather computed again than kept, but for what has no
more elements than a reduction's result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorbus._base.dtypes import FLOAT
from tensorbus.plugin.graph import Graph, Node, NumberType, TensorType, Value, values_among
from tensorbus.plugin.kernel_language.axes import FOLDS, GATHERS, MOVES, AxisMap, Declined
from tensorbus.plugin.kernel_language.expressions import knows
from tensorbus.plugin.kernel_language.gathered import Source, source_of, unused
from tensorbus.plugin.kernel_language.move import VIEW_KERNELS
from tensorbus.plugin.nest import (
    Affine,
    Apply,
    Expression,
    Fold,
    Gathered,
    Nest,
    Number,
    Read,
    Store,
)

_Group = tuple[frozenset[int], frozenset[int]]
"""What reductions have in common that share a nest: the axes that they fold, and keep."""


Shape = tuple[int | str, ...]


class NestStep(NamedTuple):
    """A nest, and which values its arrays, numbers and results are."""

    nest: Nest
    arrays: tuple[Value, ...]
    numbers: tuple[Value, ...]
    results: tuple[Value, ...]
    picks: tuple[tuple[Shape, Shape], ...] = ()
    """How many elements are computed where they are picked, and how many there are to pick."""


class CallStep(NamedTuple):
    """An op that is no part of a nest: a view, or what a kernel of its own computes."""

    node: Node


Step = NestStep | CallStep


def lower(graph: Graph, long_rows: bool = False, stored: bool = False) -> list[Step]:
    """The steps that compute a graph, in order.

    With *long_rows*, reductions to one value are left to kernels of their own, which share a line
    out among work items. With *stored*, all that elements are picked of is stored before.
    ``Declined`` where there are no such reductions, or a value is no array of a nest.
    """
    return _Lowering(graph, long_rows, stored).steps()


class _Lowering:
    def __init__(self, graph: Graph, long_rows: bool, stored: bool):
        self._graph, self._stored = graph, stored
        self._map = AxisMap(graph, lambda op: knows(op) or op in FOLDS)
        self._makers = {node.outputs[0]: node for node in self._map.nodes}
        self._calls = set(self._map.others)
        if long_rows:
            whole = {
                n for n in self._map.nodes if self._folds(n) and not self._map.of(n.outputs[0])
            }
            if not whole:
                raise Declined
            self._calls |= whole
        self._gathers: dict[Node, tuple[Value, int]] = {}
        """The array that a node picks elements of, and in which of its dimensions."""
        self._sources: dict[Node, Source] = {}
        """What a node picks elements of, where that is computed at the index."""
        for node in self._map.nodes:
            if node.op in GATHERS and node not in self._calls:
                self._see_gather(node)
        self._at: dict[Value, int] = dict.fromkeys(graph.inputs, 0)
        """From which round on a value can be computed; kernels between nests end a round."""
        self._within: dict[Value, _Group | None] = {}
        """The reductions of that round that a value hangs on."""
        for node in self._map.nodes:
            self._place(node)
        if any(len(self._axes(v)) != len(self._map.of(v)) - self._map.of(v).count(None)
               for v in (*graph.inputs, *self._makers)):  # fmt: skip
            raise Declined  # two dimensions of one value lie along each other, as in x + x.T
        self._box = self._sizes()
        self._wanted_calls: dict[int, dict[Node, None]] = {}
        self._wanted: dict[tuple[int, Any], dict[Value, None]] = {}
        """By round and nest: the values that it has to store."""
        self._read: set[Value] = set()
        """The results of nests that later ones read."""

    def _axes(self, value: Value) -> frozenset[int]:
        return frozenset(a for a in self._map.of(value) if a is not None)

    def _folds(self, node: Node) -> bool:
        return node.op in FOLDS and bool(self._map.folded(node))

    def _sizes(self) -> dict[int, int | str]:
        found: dict[int, int | str] = {}
        for value in (*self._graph.inputs, *self._makers):
            if isinstance(value.type, TensorType):
                for axis, n in zip(self._map.of(value), value.type.shape, strict=True):
                    if axis is not None:
                        found.setdefault(axis, n)
        return found

    def _shape(self, value: Value) -> Shape:
        return tuple(self._box[a] for a in self._axes(value))

    def _see_gather(self, node: Node) -> None:
        """Note what a node picks elements of; it is a call where that has other dimensions."""
        x, dim = node.args[:2]
        assert isinstance(x, Value) and isinstance(dim, int)
        base, axis = self._base(x), self._map.of(x)[dim]
        if axis is not None and not self._stored and not self._is_given(base):
            source = source_of(x, axis, self._map.of, self._makers, self._is_given)
            if source is not None:
                self._sources[node] = source
                return
        if self._map.of(base) == self._map.of(x):
            self._gathers[node] = base, dim
        elif axis is not None and axis in self._map.of(base):
            self._gathers[node] = base, self._map.of(base).index(axis)
        else:
            self._calls.add(node)

    def _place(self, node: Node) -> None:
        (made,) = node.outputs
        operands = [x for x in self._operands(node) if isinstance(x.type, TensorType)]
        if node in self._calls:
            self._at[made] = max((self._ready(x) for x in operands), default=0) + 1
            self._within[made] = None
            return
        last = 0
        if node in self._gathers:  # what it picks of is an array before its nest begins
            base = self._gathers[node][0]
            last = self._ready(base) + (not self._is_given(base))
        last = max([last, *(self._at[x] for x in operands)])
        groups = {
            group
            for x in operands
            if self._at[x] == last and (group := self._within.get(x)) is not None
        }
        if self._folds(node):
            own = (self._map.folded(node), self._axes(made))
            self._at[made] = last + bool(groups - {own})
            self._within[made] = own
            return
        one = next(iter(groups)) if len(groups) == 1 else None
        apart = len(groups) > 1 or (one is not None and not self._axes(made) <= one[0] | one[1])
        self._at[made] = last + apart
        self._within[made] = None if apart else one

    def _operands(self, node: Node) -> list[Value]:
        """What a node is computed of in its nest."""
        values = values_among(node.args)
        if node in self._sources:
            _, _, arrays, others = self._sources[node]
            return [*arrays, *others, *values[1:]]
        return values

    def _is_given(self, value: Value) -> bool:
        """Whether a value is an array before any nest has stored it."""
        maker = self._makers.get(value)
        return maker is None or maker in self._calls

    def _is_shared(self, value: Value) -> bool:
        """Whether an array is an input's, or a view."""
        maker = self._makers.get(value)
        return maker is None or (maker in self._calls and maker.op in VIEW_KERNELS)

    def _nest_of(self, value: Value) -> tuple[int, Any]:
        """The round and the nest in which a value is stored."""
        group, axes = self._within.get(value), self._axes(value)
        if group is not None and axes in (group[1], group[0] | group[1]):
            return self._at[value], group
        return self._at[value] + (group is not None), axes

    def _ready(self, value: Value) -> int:
        """The round in which a kernel can take a value as an operand."""
        base = self._base(value)
        return self._at[base] if self._is_given(base) else self._nest_of(base)[0]

    def _base(self, value: Value) -> Value:
        """What a value is a view of."""
        while (node := self._makers.get(value)) and node not in self._calls and node.op in MOVES:
            value = values_among(node.args)[0]
        return value

    def _want(self, value: Value) -> None:
        """See that a value is an array."""
        if not self._is_given(value):
            self._wanted.setdefault(self._nest_of(value), {})[value] = None
        elif value in self._makers:
            self._wanted_calls.setdefault(self._at[value] - 1, {})[self._makers[value]] = None

    def steps(self) -> list[Step]:
        for value in unused(self._map.nodes, self._graph.outputs, self._makers):
            self._want(value)
        for value in self._graph.outputs:
            if self._is_shared(value):  # a result is an array of its own
                self._wanted.setdefault((self._at[value], self._axes(value)), {})[value] = None
            self._want(value)
        found: list[list[Step]] = []
        for at in range(max(self._at.values()) + 1, -1, -1):
            calls: list[Step] = []
            for node in self._wanted_calls.get(at, ()):
                for x in values_among(node.args):
                    self._want(self._base(x))
                    calls += self._views(x)
                calls.append(CallStep(node))
            here = [(key[1], values) for key, values in self._wanted.items() if key[0] == at]
            nests: list[Step] = [
                self._nest(at, [*values, *self._drawn_in(at, key)])
                for key, values in here
                if values
            ]
            found.append(nests + calls)
        return [step for steps in reversed(found) for step in steps]

    def _drawn_in(self, at: int, key: Any) -> list[Value]:
        """Results of earlier nests over the same axes, which hang on no other reduction."""
        found: list[Value] = []
        for (earlier, other), values in self._wanted.items():
            if earlier < at and other == key:
                found += [
                    v
                    for v in values
                    if v in self._graph.outputs and v not in self._read and self._is_plain(v)
                ]
                for v in found:
                    values.pop(v, None)
        return found

    def _is_plain(self, value: Value) -> bool:
        waiting = [value]
        while waiting:
            x = waiting.pop()
            if not self._is_given(x):
                if x is not value and self._folds(self._makers[x]):
                    return False
                waiting += values_among(self._makers[x].args)
        return True

    def _views(self, value: Value) -> list[Step]:
        """The views that make an operand of what it is a view of."""
        found: list[Step] = []
        base = self._base(value)
        while value is not base:
            node = self._makers[value]
            found.append(CallStep(node))
            value = values_among(node.args)[0]
        return found[::-1]

    def _nest(self, at: int, stored: list[Value]) -> NestStep:
        needed, reads, direct = self._needed(at, stored)
        used = {*stored, *direct, *needed}
        order = sorted({a for v in used for a in self._axes(v)})
        number_of = {axis: i for i, axis in enumerate(order)}

        def local(value: Value) -> tuple[int | None, ...]:
            return tuple(None if a is None else number_of[a] for a in self._map.of(value))

        numbers = [v for v in self._graph.inputs if isinstance(v.type, NumberType)]
        made: dict[Value, Expression] = {v: Number(i, v.type.dtype) for i, v in enumerate(numbers)}
        arrays = {v: i for i, v in enumerate(reads)}
        for v in direct:
            index = tuple(_along(a, number_of) for a in self._map.of(v))
            made[v] = Read(arrays[v], index, v.type.dtype)
        for node in self._map.nodes:
            value = node.outputs[0]
            if value in needed and (node in self._gathers or node in self._sources):
                made[value] = self._picked(node, made, arrays, number_of)
            elif value in needed:
                made[value] = self._expression(node, made, number_of)
        stores = tuple(Store(local(v), made[v], v.type.dtype) for v in stored)
        nest = Nest(
            tuple(self._box[a] for a in order),
            tuple(v.type.dtype for v in reads),
            tuple(v.type.dtype for v in numbers),
            stores,
        )
        picks = tuple(
            (self._shape(node.outputs[0]), self._shape(values_among(node.args)[0]))
            for node in self._sources
            if node.outputs[0] in needed
        )
        return NestStep(nest, tuple(reads), tuple(numbers), tuple(stored), picks)

    def _needed(
        self, at: int, stored: list[Value]
    ) -> tuple[set[Value], dict[Value, None], set[Value]]:
        """What a nest computes, the arrays that it reads, and those that it reads at its points."""
        needed: set[Value] = set()
        reads: dict[Value, None] = {}
        direct: set[Value] = set()
        waiting = list(stored)
        while waiting:
            value = waiting.pop()
            if value in needed or value in direct or isinstance(value.type, NumberType):
                continue
            if self._is_given(value) or (value not in stored and self._is_kept(value, at)):
                reads[value] = None
                direct.add(value)
                self._read.add(value)
                self._want(value)
                continue
            needed.add(value)
            node = self._makers[value]
            operands = self._operands(node)
            if node in self._gathers or node in self._sources:
                source = self._sources.get(node)
                picked = source.arrays if source else self._gathers[node][:1]
                for base in picked:
                    reads[base] = None
                    self._read.add(base)
                    self._want(base)
                operands = operands[len(picked) :]
            waiting += operands
        return needed, reads, direct

    def _is_kept(self, value: Value, at: int) -> bool:
        """Whether a nest reads a value that another one stores, in place of computing it."""
        key = self._nest_of(value)
        if key[0] >= at:
            return False
        within = self._within.get(value)
        small = within is not None and self._axes(value) == within[1]
        return small or value in self._wanted.get(key, ())

    def _picked(
        self,
        node: Node,
        made: dict[Value, Expression],
        arrays: dict[Value, int],
        number_of: dict[int, int],
    ) -> Expression:
        """An element at an index that another value is."""
        x, dim, i, *wrap = node.args
        assert isinstance(x, Value) and isinstance(dim, int) and isinstance(i, Value)
        gathered = Gathered(made[i], dim, bool(wrap and wrap[0]))
        if node in self._gathers:
            base, at = self._gathers[node]
            axes = enumerate(self._map.of(base))
            index = [gathered if d == at else _along(a, number_of) for d, a in axes]
            return Read(arrays[base], tuple(index), base.type.dtype)
        source = self._sources[node]
        there = {v: made[v] for v in source.others}
        for v in source.arrays:
            index = [
                gathered if a == source.axis else _along(a, number_of) for a in self._map.of(v)
            ]
            there[v] = Read(arrays[v], tuple(index), v.type.dtype)
        for each in self._map.nodes:
            if each.outputs[0] in source.computed:
                there[each.outputs[0]] = self._expression(each, there, number_of)
        return there[x]

    def _expression(
        self, node: Node, made: dict[Value, Expression], number_of: dict[int, int]
    ) -> Expression:
        (value,) = node.outputs
        first = values_among(node.args)[0] if values_among(node.args) else None
        if node.op in MOVES and first is not None:
            return made[first]
        if node.op in FOLDS and first is not None:
            if not self._folds(node):  # of dimensions of size 1
                alone = Apply("cast", (made[first],), value.type.dtype)
                if node.op == "sum" and value.type.dtype.category == FLOAT:
                    return Apply("add", (alone, 0.0), value.type.dtype)  # a sum of -0 is 0
                return alone
            axes = tuple(sorted(number_of[a] for a in self._map.folded(node)))
            return Fold(node.op, made[first], axes, value.type.dtype)
        args = node.args[:1] if node.op == "cast" else node.args
        given: list[Any] = [made[x] if isinstance(x, Value) else x for x in args]
        return Apply(node.op, tuple(given), value.type.dtype)


def _along(axis: int | None, number_of: dict[int, int]) -> Affine:
    """The index of a dimension along an axis of the graph."""
    return Affine() if axis is None else Affine(((number_of[axis], 1),))
