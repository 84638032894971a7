"""The text of a graph in C: one statement for each node, for one element of the result."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.plugin import Block, Graph, Node, TensorType, Value, dtype, float32, float64
from tensorbus.plugin import bool as truth

TYPES = {float32: "float", float64: "double", truth: "unsigned char"}
OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=",
}  # fmt: skip
OF_TRUTHS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
FUNCTIONS = {"sqrt": "sqrt", "floor": "floor", "round": "rint", "abs": "fabs"}
"""Named as in the C library, where those of float end in f. Its exp, log and the like take one
number at a time, and NumPy's several, so that graphs with these are left."""


class Declined(Exception):
    """The graph is not for this overlay."""


def body_of(graph: Graph) -> str:
    """The statements, which read ``x0``, ``x1``, ... and end in ``result``."""
    sizes = {n for v in graph.inputs if isinstance(v.type, TensorType) for n in v.type.shape}
    if graph.writes or len(graph.outputs) != 1:
        raise Declined
    output = graph.outputs[0].type
    if not isinstance(output, TensorType) or not sizes.issuperset(output.shape):
        raise Declined  # a size that no input tells
    writer = _Writer(output.shape)
    writer.names = {value: f"x{i}" for i, value in enumerate(graph.inputs)}
    for value in (*graph.inputs, *graph.outputs):
        writer.type_of(value)
    writer.block(graph)
    made = writer.names[graph.outputs[0]]
    return "\n".join([*writer.lines, f"{writer.type_of(graph.outputs[0])} result = {made};"])


class _Writer:
    def __init__(self, shape: tuple[int | str, ...]):
        self.shape = shape
        self.names: dict[Value, str] = {}
        self.lines: list[str] = []

    def type_of(self, value: Value) -> str:
        """The C type of a value, whose shape must broadcast to the result's."""
        if isinstance(value.type, TensorType):
            shape = value.type.shape
            pairs = zip(reversed(shape), reversed(self.shape), strict=False)
            if len(shape) > len(self.shape) or any(n not in (1, m) for n, m in pairs):
                raise Declined
        if value.type.dtype not in TYPES:
            raise Declined
        return TYPES[value.type.dtype]

    def block(self, block: Block) -> None:
        for node in block.nodes:
            if node.blocks or len(node.outputs) != 1:
                raise Declined
            (made,) = node.outputs
            type = self.type_of(made)
            text = self.text(node)
            self.names[made] = f"v{len(self.lines)}"
            self.lines.append(f"{type} {self.names[made]} = {text};")

    def text(self, node: Node) -> str:
        """What computes one element of a node's result."""
        values = [x for x in node.args if isinstance(x, Value)]
        if node.op == "expand":
            return self.names[values[0]]
        if node.op == "cast":
            return f"{self.names[values[0]]} {'!= 0' if node.args[1] is truth else ''}"
        # Numbers have the dtype of the arrays beside them, else of the result.
        d = [*values[node.op == "where" :], *values, *node.outputs][0].type.dtype
        args = [self.names[x] if isinstance(x, Value) else _constant(x, d) for x in node.args]
        if node.op in OPERATORS and d is not truth:
            return f"({args[0]} {OPERATORS[node.op]} {args[1]})"
        if node.op in OF_TRUTHS and d is truth:
            return f"({args[0]} {OF_TRUTHS[node.op]} {args[1]})"
        if node.op == "where":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if node.op in FUNCTIONS and d is not truth:
            return f"{FUNCTIONS[node.op]}{'f' if d is float32 else ''}({', '.join(args)})"
        if node.op == "neg" and d is not truth:
            return f"-{args[0]}"
        if node.op in ("maximum", "minimum") and d is not truth:
            x, y = args  # a NaN of either is the result
            better = ">" if node.op == "maximum" else "<"
            return f"({x} != {x} || {x} {better} {y} ? {x} : {y})"
        if node.body is not None:
            self.names |= zip(node.body.inputs, (self.names[x] for x in values), strict=True)
            self.block(node.body)
            return self.names[node.body.outputs[0]]
        raise Declined


def _constant(x: Any, d: dtype) -> str:
    """A number of a dtype; parentheses keep its sign from what stands before it."""
    if not isinstance(x, (bool, int, float)):
        raise Declined
    if d is truth:
        return str(int(bool(x)))
    if not math.isfinite(x):
        return "NAN" if x != x else "(INFINITY)" if x > 0 else "(-INFINITY)"
    return f"(({TYPES[d]}){float(x)!r})"
