"""Random graphs for tests of passes and compilers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tensorbus import plugin
from tensorbus.plugin import Block, Graph, Node, TensorType, Value

F32, BOOL, I64 = plugin.float32, plugin.bool, plugin.int64
MATRIX, ROW, ONE = (TensorType(F32, shape) for shape in ((2, 3), (3,), (2, 1)))
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1, 0.1, 3.0, float("inf"), float("nan")]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "lt", "eq"]
UNARY = ["abs", "sqrt", "exp", "floor"]


def broadcast(operands: tuple[Any, ...]) -> Any:
    return np.broadcast_shapes(*[x.type.shape for x in operands if isinstance(x, Value)])


class Building:
    """Draws a graph op by op; each op takes any values that are there."""

    def __init__(self, draw: Any, unary: list[str], numbers: list[Any]):
        self.draw, self.unary, self.numbers = draw, unary, numbers
        self.nodes: list[Node] = []

    def value(self, values: list[Any], d: Any) -> Any:
        return self.draw(st.sampled_from([v for v in values if v.type.dtype is d]))

    def operand(self, values: list[Any]) -> Any:
        number = self.draw(st.integers(0, 2)) == 0
        return self.draw(st.sampled_from(self.numbers)) if number else self.value(values, F32)

    def made(self, op: str, args: tuple[Any, ...], type: TensorType, **blocks: Any) -> Value:
        output = Value(type)
        self.nodes.append(Node(op, args, (output,), **blocks))
        return output

    def step(self, values: list[Any], deep: bool) -> Value:
        kinds = [
            "unary",
            "binary",
            "binary",
            "where",
            "cast",
            "expand",
            "sum",
            "columns",
            "numbers",
        ]
        if deep:
            kinds += ["body", "if"]
        indices = {len(v.type.shape): v for v in values if v.type.dtype is I64}
        if indices:
            kinds += ["take", "gather"]
        kind = self.draw(st.sampled_from(kinds))
        x = self.value(values, F32)
        if kind == "unary":
            return self.made(self.draw(st.sampled_from(self.unary)), (x,), x.type)
        if kind == "binary":
            op, other = self.draw(st.sampled_from(BINARY)), self.operand(values)
            args = (x, other) if self.draw(st.booleans()) else (other, x)
            shape = broadcast(args)
            return self.made(op, args, TensorType(BOOL if op in ("lt", "eq") else F32, shape))
        if kind == "where":
            c, other = self.value(values, BOOL), self.operand(values)
            return self.made("where", (c, x, other), TensorType(F32, broadcast((c, x, other))))
        if kind == "cast":
            c = self.draw(st.sampled_from([v for v in values if v.type.dtype is not I64]))
            d = self.draw(st.sampled_from([F32, BOOL]))
            return self.made("cast", (c, d), TensorType(d, c.type.shape))
        if kind == "expand":
            return self.made("expand", (x, (2, 3)), MATRIX)
        if kind == "sum":
            last, kept = len(x.type.shape) - 1, x.type.shape[:-1]
            total = self.made("sum", (x, (last,), F32), TensorType(F32, kept))
            return self.made("unsqueeze", (total, last), TensorType(F32, (*kept, 1)))
        if kind == "columns":
            whole = self.made("expand", (x, (2, 3)), MATRIX)
            return self.made("sum", (whole, (0,), F32), ROW)
        if kind == "take":
            wrap = self.draw(st.booleans())
            last = len(x.type.shape) - 1
            if x.type.shape[last] == 1:
                x, last = self.made("expand", (x, (2, 3)), MATRIX), 1
            return self.made("take", (x, last, indices[1], wrap), x.type)
        if kind == "gather":
            if x.type.shape != (2, 3):
                x = self.made("expand", (x, (2, 3)), MATRIX)
            return self.made("gather", (x, 1, indices[2]), MATRIX)
        if kind == "numbers":
            op = self.draw(st.sampled_from(["add", "mul", "div", "maximum"]))
            number = self.made(
                op,
                (
                    self.draw(st.sampled_from(self.numbers)),
                    self.draw(st.sampled_from(self.numbers)),
                ),
                TensorType(F32, ()),
            )
            return self.made("expand", (number, (2, 3)), MATRIX)
        if kind == "body":
            inner = Value(x.type)
            block = self.block([inner], [inner], x.type)
            return self.made("named", (x,), x.type, body=block)
        flags = self.made("eq", (x, x), TensorType(BOOL, x.type.shape))
        go = self.made("amax", (flags, tuple(range(len(x.type.shape)))), TensorType(BOOL, ()))
        one, two = (self.block([], values, MATRIX) for _ in range(2))
        return self.made("if", (go,), MATRIX, blocks=(one, two))

    def block(self, inputs: list[Value], values: list[Any], type: TensorType) -> Block:
        """A block over *values* that gives one of a type."""
        outer, self.nodes = self.nodes, []
        known = list(values)
        for _ in range(self.draw(st.integers(1, 3))):
            flag = any(v.type.dtype is BOOL for v in known)
            if not flag:
                known.append(
                    self.made("lt", (known[0], 0.5), TensorType(BOOL, known[0].type.shape))
                )
            known.append(self.step(known, deep=False))
        found = [v for v in known if v.type == type and v not in values]
        result = found[-1] if found else self.made("expand", (values[0], type.shape), type)
        made, self.nodes = Block(tuple(inputs), tuple(self.nodes), (result,)), outer
        return made


@st.composite
def graphs(
    draw: Any,
    unary: list[str] = UNARY,
    numbers: list[Any] = NUMBERS,
    deep: bool = True,
    gathers: bool = False,
) -> Graph:
    """Graphs over arrays of the shapes (2, 3), (3,), (2, 1) and, of bool, (3,).

    Of ops of one operand they have *unary* alone; *deep* ones have bodies and branches; with
    *gathers* there are indices below 3 of the shapes (2, 3) and (3,), and ops that pick by these.
    """
    building = Building(draw, unary, numbers)
    inputs = [Value(MATRIX), Value(ROW), Value(ONE), Value(TensorType(BOOL, (3,)))]
    if gathers:
        inputs += [Value(TensorType(I64, (2, 3))), Value(TensorType(I64, (3,)))]
    values = list(inputs)
    for _ in range(draw(st.integers(1, 10))):
        values.append(building.step(values, deep))
    made = values[len(inputs) :]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3))
    return Graph(tuple(inputs), tuple(building.nodes), tuple(outputs))
