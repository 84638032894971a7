"""Graphs from their text. The text is parsed, never run: it may come from a file."""

from __future__ import annotations

import ast
import keyword
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype
from tensorbus.graph.printing import is_size
from tensorbus.plugin.graph import Block, Graph, Node, NumberType, TensorType, Value

_DTYPES = {d.name: d for d in (*dtypes.ALL, *dtypes.STORED)}
_NUMBERS = {"inf": float("inf"), "nan": float("nan")}
_CONSTANTS = (bool, int, float, complex, str, type(None))


def read(text: str) -> Graph:
    """The graph that ``printed`` made the text of; ValueError, with the line, for any other text.

    >>> from tensorbus.graph.printing import printed
    >>> text = "def graph(x: float32[2]):\\n    v0: float32[2] = neg(x)\\n    return v0"
    >>> printed(read(text)) == text
    True
    """
    try:
        (function,) = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"this is no graph: {error}") from None
    block, writes = _Reader({}).function(function)
    return Graph(block.inputs, block.nodes, block.outputs, writes)


def _wrong(node: ast.AST, what: str) -> ValueError:
    return ValueError(f"line {getattr(node, 'lineno', 1)} of the graph: {what}")


class _Reader:
    """One function of the text; *outer* has the values around it."""

    def __init__(self, outer: dict[str, Value]):
        self._values = dict(outer)
        self._blocks: dict[str, Block] = {}
        self._declared: dict[str, TensorType | NumberType] = {}
        self._nodes: list[Node] = []

    def function(self, tree: ast.stmt) -> tuple[Block, tuple[tuple[int, int], ...]]:
        if not isinstance(tree, ast.FunctionDef) or not isinstance(tree.body[-1], ast.Return):
            raise _wrong(tree, "a function that returns is expected")
        inputs = []
        for argument in tree.args.args:
            if argument.annotation is None:
                raise _wrong(argument, f"input {argument.arg} has no type")
            value = Value(self._type(argument.annotation), argument.arg)
            self._values[argument.arg] = value
            inputs.append(value)
        for statement in tree.body[:-1]:
            self._statement(statement)
        return self._block(tree.body[-1], tuple(inputs))

    def _block(
        self, last: ast.Return, inputs: tuple[Value, ...]
    ) -> tuple[Block, tuple[tuple[int, int], ...]]:
        found = last.value
        results = found.elts if isinstance(found, ast.Tuple) else [found] if found else []
        outputs, writes = [], []
        for i, result in enumerate(results):
            if isinstance(result, ast.Call):
                if ast.unparse(result.func) != "into" or len(result.args) != 2:
                    raise _wrong(last, "only into(input, value) may be called here")
                writes.append((i, inputs.index(self._value(result.args[0]))))
                result = result.args[1]
            outputs.append(self._value(result))
        return Block(inputs, tuple(self._nodes), tuple(outputs)), tuple(writes)

    def _statement(self, tree: ast.stmt) -> None:
        if isinstance(tree, ast.FunctionDef):
            self._blocks[tree.name] = _Reader(self._values).function(tree)[0]
        elif isinstance(tree, ast.AnnAssign) and isinstance(tree.target, ast.Name):
            self._declared[tree.target.id] = self._type(tree.annotation)
            if tree.value is not None:
                self._node([tree.target], tree.value)
        elif isinstance(tree, ast.Assign) and isinstance(tree.targets[0], ast.Tuple):
            self._node(tree.targets[0].elts, tree.value)
        else:
            raise _wrong(tree, "an op with its results is expected")

    def _node(self, targets: list[Any], call: ast.expr) -> None:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise _wrong(call, "a call of an op is expected")
        args = tuple(self._argument(x) for x in call.args)
        blocks: tuple[Block, ...] = ()
        body = None
        for given in call.keywords:
            if given.arg == "body":
                body = self._block_of(given.value)
            elif given.arg == "blocks" and isinstance(given.value, ast.Tuple):
                blocks = tuple(self._block_of(x) for x in given.value.elts)
            else:
                raise _wrong(call, f"no op has an argument {given.arg}")
        outputs = []
        for target in targets:
            if not isinstance(target, ast.Name) or target.id not in self._declared:
                raise _wrong(call, "a result has no type")
            outputs.append(Value(self._declared[target.id]))
        op = call.func.id.removesuffix("_")
        op = op if keyword.iskeyword(op) else call.func.id
        self._nodes.append(Node(op, args, tuple(outputs), blocks, body))
        self._values |= {t.id: v for t, v in zip(targets, outputs, strict=True)}

    def _block_of(self, tree: ast.expr) -> Block:
        if not isinstance(tree, ast.Name) or tree.id not in self._blocks:
            raise _wrong(tree, "a block that was defined before is expected")
        return self._blocks[tree.id]

    def _value(self, tree: ast.expr | None) -> Value:
        if not isinstance(tree, ast.Name) or tree.id not in self._values:
            raise _wrong(tree or ast.Pass(), "a value that was made before is expected")
        return self._values[tree.id]

    def _argument(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Tuple):
            return tuple(self._in_tuple(x) for x in tree.elts)
        if isinstance(tree, ast.Name):
            for known in (self._values, _DTYPES, _NUMBERS):
                if tree.id in known:
                    return known[tree.id]
            raise _wrong(tree, f"{tree.id} is not known")
        return _constant(tree)

    def _in_tuple(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Name) and tree.id not in _DTYPES:
            known = self._values.get(tree.id)
            if known is None or is_size(known):
                return tree.id
        return ast.unparse(tree).replace(" ", "") if _is_product(tree) else self._argument(tree)

    def _type(self, tree: ast.expr) -> TensorType | NumberType:
        if isinstance(tree, ast.Name):
            return NumberType(_dtype(tree))
        if not isinstance(tree, ast.Subscript):
            raise _wrong(tree, "a type is expected, such as float32[2, 3]")
        sizes = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
        return TensorType(_dtype(tree.value), tuple(self._size(size) for size in sizes))

    def _size(self, tree: ast.expr) -> int | str:
        if isinstance(tree, ast.Constant) and type(tree.value) is int:
            return tree.value
        if isinstance(tree, ast.Name) or _is_product(tree):
            return ast.unparse(tree).replace(" ", "")
        raise _wrong(tree, "a size is a number, a name, or a product of them")


def _is_product(tree: ast.expr) -> bool:
    if not isinstance(tree, ast.BinOp) or not isinstance(tree.op, ast.Mult):
        return False
    return all(isinstance(x, (ast.Name, ast.Constant)) or _is_product(x)
               for x in (tree.left, tree.right))  # fmt: skip


def _dtype(tree: ast.expr) -> dtype:
    if not isinstance(tree, ast.Name) or tree.id not in _DTYPES:
        raise _wrong(tree, f"{ast.unparse(tree)} is no dtype")
    return _DTYPES[tree.id]


def _constant(tree: ast.expr) -> Any:
    if ast.unparse(tree) in ("-inf", "-nan"):
        return -_NUMBERS[ast.unparse(tree)[1:]]
    try:
        value = ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _wrong(tree, f"{ast.unparse(tree)} is no constant") from None
    if not isinstance(value, _CONSTANTS):
        raise _wrong(tree, f"{ast.unparse(tree)} is no constant")
    return value
