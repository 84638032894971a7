"""Passes over graphs: each gives a graph that computes the same with fewer ops.

A pass changes nothing of what a graph is called with and returns. What a block returns is made by
the node that made it before, so no result becomes one array with an input or another result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorbus._base.dtypes import BOOL, FLOAT, dtype
from tensorbus._base.float_warnings import quietly
from tensorbus.plugin.graph import Block, Graph, Node, TensorType, Value, values_among
from tensorbus.plugin.primitives import POINTWISE, PRIMITIVE_TABLE
from tensorbus.rows import raw_views

FAULTS = frozenset(["take", "gather", "put", "scatter"])
"""Primitives that raise for a wrong index, so they stay where their results are not used."""


def simplified(graph: Graph) -> Graph:
    """The graph after all passes.

    >>> from tensorbus.graph.printing import printed
    >>> from tensorbus.graph.reading import read
    >>> text = '''def graph(x: float32[s0]):
    ...     v0: float32[s0] = div(1.0, 4.0)
    ...     v1: float32[s0] = mul(x, v0)
    ...     v2: float32[s0] = mul(x, 0.25)
    ...     v3: float32[s0] = exp(v2)
    ...     v4: float32[s0] = add(v1, v2)
    ...     return v4'''
    >>> print(printed(simplified(read(text))))
    def graph(x: float32[s0]):
        v0: float32[s0] = mul(x, 0.25)
        v1: float32[s0] = add(v0, v0)
        return v1
    """
    return dead_code_removed(subexpressions_merged(constants_folded(graph)))


def dead_code_removed(graph: Graph) -> Graph:
    """The graph without nodes whose results nothing uses."""
    return _of_graph(graph, _live(graph))


def subexpressions_merged(graph: Graph) -> Graph:
    """The graph with one node for all that compute the same from the same values."""
    return _of_graph(graph, _merged(graph, {}, {}))


def constants_folded(graph: Graph) -> Graph:
    """The graph with numbers for what is computed from numbers alone.

    Arithmetic is done in the dtype of the result, and only where IEEE and integer rules settle
    every bit. A product with 1, a quotient by 1, and a cast or a view that changes nothing is its
    operand.
    """
    return _of_graph(graph, _folded(graph, {}))


def _of_graph(graph: Graph, block: Block) -> Graph:
    return Graph(graph.inputs, block.nodes, block.outputs, graph.writes)


def used(node: Node) -> set[Value]:
    """The values that a node reads, those that its blocks read from outside too."""
    found = set(values_among(node.args))
    for block in node.blocks:
        inner = {*block.inputs, *(v for n in block.nodes for v in n.outputs)}
        found |= {v for n in block.nodes for v in used(n)} - inner
        found |= {*block.outputs} - inner
    return found


def _in_blocks(node: Node, block: Callable[[Block], Block], body: Callable[[Block], Block]) -> Node:
    """The node with other blocks."""
    if node.blocks:
        return replace(node, blocks=tuple(map(block, node.blocks)))
    return node if node.body is None else replace(node, body=body(node.body))


def _live(block: Block) -> Block:
    wanted = set(block.outputs)
    nodes = []
    for node in reversed(block.nodes):
        if wanted.isdisjoint(node.outputs) and not _may_fault(node):
            continue
        node = _in_blocks(node, _live, _live)
        wanted |= used(node)
        nodes.append(node)
    return Block(block.inputs, tuple(reversed(nodes)), block.outputs)


def _may_fault(node: Node) -> bool:
    blocks = (*node.blocks, *((node.body,) if node.body else ()))
    return node.op in FAULTS or any(_may_fault(n) for block in blocks for n in block.nodes)


def _substituted(x: Any, by: dict[Value, Any]) -> Any:
    if isinstance(x, tuple):
        return tuple(_substituted(each, by) for each in x)
    return by.get(x, x) if isinstance(x, Value) else x


def _merged(block: Block, known: dict[Any, tuple[Value, ...]], same: dict[Value, Value]) -> Block:
    """*known*: what has been computed around the block, by what it is; *same*: as in ``by``."""
    known, same = dict(known), dict(same)
    returned = set(block.outputs)
    nodes = []

    def inner(block: Block) -> Block:
        return _merged(block, known, same)

    for node in block.nodes:
        node = replace(node, args=_substituted(node.args, same))
        node = _in_blocks(node, inner, lambda body: _merged(body, {}, {}))
        key = _key(node)
        found = None if key is None else known.setdefault(key, node.outputs)
        if found in (None, node.outputs) or not returned.isdisjoint(node.outputs):
            nodes.append(node)
        else:
            same |= zip(node.outputs, found or (), strict=True)
    outputs = tuple(same.get(v, v) for v in block.outputs)
    return Block(block.inputs, tuple(nodes), outputs)


def _key(node: Node) -> Any:
    """What tells a node from one that computes something else; None for an if or a loop."""
    if node.blocks:
        return None
    body = None if node.body is None else _structure(node.body)
    return node.op, _told(node.args, {}), tuple(v.type for v in node.outputs), body


def _structure(block: Block) -> Any:
    """What two blocks share that compute the same: ops, constants, and which value goes where."""
    numbers: dict[Value, int] = {}
    nodes = []
    for value in block.inputs:
        numbers[value] = len(numbers)
    for node in block.nodes:
        inner = tuple(map(_structure, (*node.blocks, *((node.body,) if node.body else ()))))
        nodes.append((node.op, _told(node.args, numbers), inner))
        for value in node.outputs:
            numbers[value] = len(numbers)
    types = tuple(value.type for value in numbers)
    return types, tuple(nodes), tuple(numbers.get(v, v) for v in block.outputs)


def _told(x: Any, numbers: dict[Value, int]) -> Any:
    """An argument as it is told from others: 0.0 is not -0.0, nor 1 True."""
    if isinstance(x, tuple):
        return tuple(_told(each, numbers) for each in x)
    if isinstance(x, Value):
        return ("value", numbers[x]) if x in numbers else x
    return type(x), repr(x)


def _folded(block: Block, same: dict[Value, Value]) -> Block:
    same = dict(same)
    numbers: dict[Value, Any] = {}
    returned = set(block.outputs)
    nodes = []

    def inner(block: Block) -> Block:
        return _folded(block, same)

    for node in block.nodes:
        node = replace(node, args=_substituted(node.args, same))
        node = _in_blocks(node, inner, lambda body: _folded(body, {}))
        found = _number(node, numbers)
        if found is not None:
            numbers[node.outputs[0]] = found
        node = _with_numbers(node, numbers)
        operand = _operand(node, numbers)
        if operand is not None and returned.isdisjoint(node.outputs):
            same[node.outputs[0]] = operand
        nodes.append(node)
    outputs = tuple(same.get(v, v) for v in block.outputs)
    return Block(block.inputs, tuple(nodes), outputs)


_EXACT: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "round": np.rint,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""The pointwise primitives of which each result is settled."""


def _number(node: Node, numbers: dict[Value, Any]) -> Any:
    """The number that all elements of a node's result are; None where that is not known."""
    if node.body is not None or len(node.outputs) != 1:
        return None
    if node.op in raw_views.DEFAULTS:
        return numbers.get(node.args[0])  # type: ignore[arg-type]
    d = next((x.type.dtype for x in node.args if isinstance(x, Value)), node.outputs[0].type.dtype)
    args = [numbers.get(x) if isinstance(x, Value) else x for x in node.args]
    if any(x is None for x in args) or not _plain(d) or not _plain(node.outputs[0].type.dtype):
        return None
    if node.op == "cast":
        return quietly(_cast, args[0], d, node.outputs[0].type.dtype)
    compute = _EXACT.get(node.op)
    if compute is None or (_compares(node.op) and not any(isinstance(x, Value) for x in node.args)):
        return None
    return quietly(_computed, compute, args, d, node.outputs[0].type.dtype)


def _computed(compute: Callable[..., Any], args: list[Any], d: dtype, target: dtype) -> Any:
    operands = [np.array(x).astype(d.name) for x in args]
    return _told_number(compute(*operands).astype(target.name))


def _compares(op: str) -> bool:
    return PRIMITIVE_TABLE[op].result == "bool"


def _plain(d: dtype) -> bool:
    """Whether NumPy computes in this dtype as devices do, which may keep halves wider."""
    return d.name in ("bool", "int32", "int64", "float32", "float64")


def _told_number(x: Any) -> Any:
    number = x.item()
    return None if number != number and math.copysign(1, number) < 0 else number


def _cast(x: Any, source: dtype, target: dtype) -> Any:
    number = np.array(x).astype(source.name)
    if source.category == FLOAT and target.category < FLOAT and target.category != BOOL:
        limits = np.iinfo(target.name)
        if not limits.min < float(number) < limits.max:
            return None
    return _told_number(number.astype(target.name))


def _with_numbers(node: Node, numbers: dict[Value, Any]) -> Node:
    """A pointwise node with numbers for operands that are known, if its shape and dtype stay."""
    if node.op not in POINTWISE or not numbers:
        return node
    chosen = node.args[: node.op == "where"]
    operands = node.args[len(chosen) :]
    given = tuple(numbers.get(x, x) if isinstance(x, Value) else x for x in operands)
    left = [x.type for x in given if isinstance(x, Value) and isinstance(x.type, TensorType)]
    made = node.outputs[0].type
    shapes = [x.type.shape for x in chosen if isinstance(x, Value)] + [t.shape for t in left]  # type: ignore[union-attr]
    keeps = left and isinstance(made, TensorType) and made.shape in shapes
    return replace(node, args=(*chosen, *given)) if keeps else node


def _operand(node: Node, numbers: dict[Value, Any]) -> Value | None:
    """The operand that a node's result is, element by element, in dtype and shape too."""
    x, *rest = node.args or (None,)
    if node.op == "where":
        condition = numbers.get(x)  # type: ignore[arg-type]
        x, keeps = rest[not condition], condition is not None
    elif node.op in ("mul", "div"):
        if node.op == "mul" and isinstance(rest[0], Value):
            x, rest = rest[0], [x]
        keeps = type(rest[0]) in (int, float) and rest[0] == 1
    elif node.op == "permute":
        keeps = rest[0] == tuple(range(len(rest[0])))  # type: ignore[arg-type]
    elif node.op == "slice":
        keeps = rest[1] == 0 and rest[-1] == 1
    else:
        keeps = node.op in ("cast", "view", "expand")
    same = keeps and isinstance(x, Value) and x.type == node.outputs[0].type
    return x if same else None  # type: ignore[return-value]
