"""A graph as text, in Python's syntax: what ``reading`` makes the same graph of."""

from __future__ import annotations

import keyword
import math
import re
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype
from tensorbus.plugin.graph import Block, Graph, Node, NumberType, TensorType, Value

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TAKEN = re.compile(r"[svb]\d+|inf|nan|" + "|".join(d.name for d in (*dtypes.ALL, *dtypes.STORED)))


def printed(graph: Block) -> str:
    """The text of a graph: a function with one line for each node, and the types of all values.

    >>> from tensorbus.plugin import Graph, Node, TensorType, Value, float32
    >>> x, y = (Value(TensorType(float32, ("s0", 4)), name) for name in ("x", ""))
    >>> print(printed(Graph((x,), (Node("mul", (x, 0.5), (y,)),), (y,))))
    def graph(x: float32[s0, 4]):
        v0: float32[s0, 4] = mul(x, 0.5)
        return v0
    """
    writes = dict(graph.writes) if isinstance(graph, Graph) else {}
    return "\n".join(_Printer().block("graph", graph, writes))


class _Printer:
    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._used: set[str] = set()
        self._numbered = 0
        self._blocks = 0

    def block(self, name: str, block: Block, writes: dict[int, int]) -> list[str]:
        inputs = [f"{self._input(v)}: {type_text(v.type)}" for v in block.inputs]
        lines = [f"def {name}({', '.join(inputs)}):"]
        for node in block.nodes:
            lines += ("    " + line for line in self._node(node))
        outputs = [self._name(value) for value in block.outputs]
        for output, written in writes.items():
            outputs[output] = f"into({self._name(block.inputs[written])}, {outputs[output]})"
        lines.append(f"    return {', '.join(outputs)}")
        return lines

    def _input(self, value: Value) -> str:
        name = value.name
        free = _NAME.fullmatch(name) and not keyword.iskeyword(name) and not _TAKEN.fullmatch(name)
        if (free or is_size(value)) and name not in self._used:
            self._used.add(name)
            self._names[value] = name
            return name
        return self._new(value)

    def _new(self, value: Value) -> str:
        name = self._names[value] = f"v{self._numbered}"
        self._numbered += 1
        return name

    def _name(self, value: Value) -> str:
        found = self._names.get(value)
        if found is None:
            raise ValueError("the graph uses a value that it has not made yet")
        return found

    def _node(self, node: Node) -> list[str]:
        lines: list[str] = []
        args = [self._argument(x) for x in node.args]
        blocks = []
        for block in (*node.blocks, *((node.body,) if node.body else ())):
            blocks.append(f"b{self._blocks}")
            self._blocks += 1
            lines += self.block(blocks[-1], block, {})
        if node.blocks:
            args.append(f"blocks={_tuple(blocks[: len(node.blocks)])}")
        if node.body:
            args.append(f"body={blocks[-1]}")
        op = node.op + "_" if keyword.iskeyword(node.op) else node.op
        call = f"{op}({', '.join(args)})"
        types = [type_text(value.type) for value in node.outputs]
        names = [self._new(value) for value in node.outputs]
        if len(names) == 1:
            return [*lines, f"{names[0]}: {types[0]} = {call}"]
        lines += (f"{name}: {type}" for name, type in zip(names, types, strict=True))
        return [*lines, f"({', '.join(names)}) = {call}"]

    def _argument(self, x: Any, nested: bool = False) -> str:
        if isinstance(x, Value):
            return self._name(x)
        if isinstance(x, tuple):
            return _tuple([self._argument(each, True) for each in x])
        if isinstance(x, str):
            return x if nested else repr(x)
        if isinstance(x, dtype):
            return x.name
        if isinstance(x, float) and not math.isfinite(x):
            return str(x)
        return repr(x)


def is_size(value: Value) -> bool:
    """Whether a number among the inputs settles the size that has its name."""
    number = isinstance(value.type, NumberType) and value.type.dtype is dtypes.int64
    return number and re.fullmatch(r"s\d+", value.name) is not None


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def type_text(type: TensorType | NumberType) -> str:
    """A type as it is printed: ``float32[s0, 4]``, or ``float32`` of a number."""
    if isinstance(type, NumberType):
        return type.dtype.name
    sizes = ", ".join(map(str, type.shape))
    return f"{type.dtype.name}[{sizes or '()'}]"
