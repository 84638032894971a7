"""Graphs of pointwise ops as straight-line Python over a kind, which writes where it may.

Each op is one call with ``out=``. What lies between ops is kept in as few buffers as possible: one
is used again as soon as its value has been read for the last time. What is made of the old values
of an array that the graph writes to, when they are read for the last time, is put there.
"""

from __future__ import annotations

import keyword
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensorbus._base.dtypes import dtype
from tensorbus._dispatch.kinds import Kind
from tensorbus.plugin.graph import Block, Node, TensorType, Value


class Declined(ValueError):
    """The graph is no straight line."""


class StraightLine(NamedTuple):
    """What a graph became."""

    run: Callable[..., tuple[Any, ...]]
    """``run(*inputs, *results, *buffers)`` writes the outputs, into inputs or into *results*, and
    returns the buffers, which may be given to the next call for arrays of the same shape; those
    that are left out are made."""
    buffers: int
    """How many buffers there are."""


@dataclass(eq=False)
class _Place:
    """A variable that holds an array."""

    name: str
    dtype: dtype
    until: float
    """The last node for whose operands it may be used."""


def straight_line(kind: Kind, block: Block, into: Sequence[int | None]) -> StraightLine:
    """The function on *kind* for a graph whose outputs are arrays of one shape.

    *into* says for each output into which input it is written, or None, where an array for it is
    given behind the inputs; an output may be an input. ``Declined`` for a graph with ops that are
    not pointwise over arrays of that shape.
    """
    emitter = _Emitter(kind, block, into)
    names = [f"x{i}" for i in range(len(block.inputs))] + emitter.results
    buffers = [place.name for place in emitter.buffers]
    head = ", ".join([*names, *(f"{name}=None" for name in buffers)])
    end = f"return ({', '.join(buffers)}{',' * bool(buffers)})"
    source = "\n    ".join([f"def run({head}):", *emitter.lines, end]) + "\n"
    file = f"<tensorbus graph {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "tensorbus.graph.generated", **emitter.names}
    exec(compile(source, file, "exec"), namespace)
    return StraightLine(namespace["run"], len(buffers))


class _Emitter:
    def __init__(self, kind: Kind, block: Block, into: Sequence[int | None]):
        self.lines: list[str] = []
        self.buffers: list[_Place] = []
        self.results: list[str] = []
        self.names: dict[str, Any] = {}
        """What the text calls, and its constants."""
        self._kind, self._shape = kind, block.outputs[0].type.shape  # type: ignore[union-attr]
        made = {value: i for i, node in enumerate(block.nodes) for value in node.outputs}
        self._last = _last_reads(block)
        self._at: dict[Value, _Place] = {}
        for i, value in enumerate(block.inputs):
            self._at[value] = _Place(f"x{i}", value.type.dtype, -1)
        self._targets: dict[Value, _Place] = {}
        """Where outputs are made, which are written as they are computed."""
        copies = []
        for value, target in zip(block.outputs, into, strict=True):
            at = made.get(value, -1)
            if target is None:
                place = _Place(f"y{len(self.results)}", value.type.dtype, -1)
                self.results.append(place.name)
                free = at >= 0
            else:
                place = self._at[block.inputs[target]]
                free = at >= 0 and self._last[block.inputs[target]] <= at
            if free and value not in self._targets:
                place.until = -1 if target is None else at
                self._targets[value] = place
            else:
                copies.append((place, value))
        self._free: list[_Place] = []
        for i, node in enumerate(block.nodes):
            self._node(i, node)
        for place, value in copies:
            copy = self._function("copy_", place.dtype)
            self.lines.append(f"{copy}({place.name}, {self._at[value].name})")

    def _node(self, i: int, node: Node) -> None:
        made = node.outputs[0].type
        single = len(node.outputs) == 1 and not node.blocks and isinstance(made, TensorType)
        if not single or made.shape != self._shape:  # type: ignore[union-attr]
            raise Declined(f"{node.op} is not pointwise over arrays of one shape")
        (value,) = node.outputs
        operands = [x for x in node.args if isinstance(x, Value)]
        for x in dict.fromkeys(operands):
            if self._last[x] == i and self._at[x].until >= i:
                self._free.append(self._at[x])
        call = self._call(node)
        place = self._targets.get(value) or self._place(value)
        # An input holds its own next value or a part of it, never another: so little is lost where
        # an interrupt comes.
        self._free = [free for free in self._free if free in self.buffers and free is not place]
        self._at[value] = place
        kept = f"{place.name} = " if place in self.buffers else ""
        self.lines.append(f"{kept}{call}, out={place.name})")

    def _call(self, node: Node) -> str:
        """The call of an op, without ``out``."""
        if node.op == "cast":
            (x, d) = node.args
            assert isinstance(x, Value)
            name = f"cast_{x.type.dtype.name}_{d.name}"  # type: ignore[union-attr]
            self.names[name] = _cast(self._kind.of(d), x.type.dtype)  # type: ignore[arg-type]
            return f"{name}({self._at[x].name}"
        operands = node.args[node.op == "where" :]
        found = (x.type.dtype for x in operands if isinstance(x, Value))
        own = next(found, node.outputs[0].type.dtype)
        args = ", ".join(self._argument(x, own) for x in node.args)
        return f"{self._function(node.op, own)}({args}"

    def _function(self, op: str, d: dtype) -> str:
        """An op's function on a dtype: looked up in the table at each call, for it may change."""
        table = f"k_{d.name}"
        self.names[table] = self._kind.of(d)
        return f"getattr({table}, {op!r})" if keyword.iskeyword(op) else f"{table}.{op}"

    def _argument(self, x: Any, own: dtype) -> str:
        if isinstance(x, Value):
            return self._at[x].name
        name = f"c{len(self.names)}"
        self.names[name] = self._kind.of(own).const(x)
        return name

    def _place(self, value: Value) -> _Place:
        """A place that is free while *value* is needed; the one freed last is still in a cache."""
        d, last = value.type.dtype, self._last[value]
        for place in reversed(self._free):
            if place.dtype is d and place.until >= last:
                return place
        made = _Place(f"b{len(self.buffers)}", d, float("inf"))
        self.buffers.append(made)
        return made


def _cast(kind: Kind, source: dtype) -> Callable[..., Any]:
    """The conversion from a dtype to that of a kind."""

    def cast(x: Any, out: Any = None) -> Any:
        made = kind.empty(tuple(x.shape)) if out is None else out
        kind.write(made, x, source)
        return made

    return cast


def _last_reads(block: Block) -> dict[Value, float]:
    """The last node that reads each value: -1 for none, and infinity for outputs."""
    last: dict[Value, float] = dict.fromkeys(block.inputs, -1)
    for i, node in enumerate(block.nodes):
        last |= dict.fromkeys((x for x in node.args if isinstance(x, Value)), i)
        last |= dict.fromkeys(node.outputs, -1)
    return last | dict.fromkeys(block.outputs, float("inf"))
