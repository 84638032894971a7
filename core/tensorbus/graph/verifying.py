"""Whether a graph keeps the rules of its form: what every pass and every reader may rely on."""

from __future__ import annotations

import re
from typing import Any

from tensorbus._base import dtypes
from tensorbus.plugin.graph import Block, Graph, Node, NumberType, TensorType, Value, values_among
from tensorbus.plugin.primitives import PRIMITIVE_TABLE, Primitive
from tensorbus.rows import raw_views

_SIZE = re.compile(r"(\d+\*)?[A-Za-z]\w*(\*[A-Za-z]\w*)*")
_PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191)


class _Shaped:
    """What a shape rule reads."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape


def verify(graph: Graph) -> None:
    """ValueError, naming the node, for a graph that breaks a rule.

    Each value is made once and used later; primitives have the operands, dtypes and shapes of
    ``tensorbus.plugin.primitives``; an op that is none has a body of the same types; blocks have
    the inputs and outputs of their form; writes fit.

    >>> from tensorbus.plugin import Graph, Node, TensorType, Value, float32, int64
    >>> x, y = Value(TensorType(float32, (2,))), Value(TensorType(int64, (2,)))
    >>> verify(Graph((x,), (Node("exp", (x,), (y,)),), (y,)))
    Traceback (most recent call last):
    ValueError: node 0 (exp): the result is int64[2], not float32[2]
    """
    _Verifier().block(graph, {})
    for output, written in graph.writes:
        if not 0 <= output < len(graph.outputs) or not 0 <= written < len(graph.inputs):
            raise ValueError(f"writes: there is no output {output} or no input {written}")
        if graph.outputs[output].type != graph.inputs[written].type:
            raise ValueError(f"writes: output {output} has another type than input {written}")


class _Verifier:
    def __init__(self) -> None:
        self._made: set[Value] = set()
        self._sizes: dict[str, int] = {}

    def block(self, block: Block, outer: dict[Value, None]) -> None:
        known = dict(outer)
        for value in block.inputs:
            self._define(value, known, "an input")
        for i, node in enumerate(block.nodes):
            where = f"node {i} ({node.op})"
            for value in values_among(node.args):
                if value not in known:
                    raise ValueError(f"{where}: it uses a value that is not made before it")
            for inner in (*node.blocks, *((node.body,) if node.body else ())):
                # A body knows its inputs alone; a block of an if or a loop what is around it too.
                self.block(inner, {} if inner is node.body else known)
            problem = self._problem(node)
            if problem:
                raise ValueError(f"{where}: {problem}")
            for value in node.outputs:
                self._define(value, known, where)
        if not all(value in known for value in block.outputs):
            raise ValueError("an output is not made in the block that returns it")

    def _define(self, value: Value, known: dict[Value, None], where: str) -> None:
        if value in self._made:
            raise ValueError(f"{where}: a value is made twice")
        self._made.add(value)
        known[value] = None
        for n in value.type.shape if isinstance(value.type, TensorType) else ():
            if not _is_size(n):
                raise ValueError(f"{where}: {n!r} is no size")

    def _problem(self, node: Node) -> str | None:
        if node.op in ("if", "loop"):
            return _control_problem(node)
        if node.body is not None:
            inner = [v.type for v in node.body.inputs]
            if inner != [v.type for v in values_among(node.args)]:
                return "its body has other inputs than the values among its arguments"
            made = [v.type for v in node.body.outputs]
            return None if made == [v.type for v in node.outputs] else "its body has other outputs"
        if node.op == "cast":
            return self._cast_problem(node)
        if node.op in raw_views.DEFAULTS:
            return None if len(node.outputs) == 1 else "a view has one result"
        primitive = PRIMITIVE_TABLE.get(node.op)
        if primitive is None:
            return "it is no primitive and no view, and has no body"
        return self._primitive_problem(node, primitive)

    def _cast_problem(self, node: Node) -> str | None:
        x, target = node.args
        wanted = TensorType(target, x.type.shape)  # type: ignore[union-attr, arg-type]
        return None if node.outputs[0].type == wanted else _differs(node.outputs[0], wanted)

    def _primitive_problem(self, node: Node, primitive: Primitive) -> str | None:
        names = re.findall(r"\w+", primitive.signature.replace("out=None", ""))
        if len(names) != len(node.args):
            return f"it has {len(node.args)} arguments, not {len(names)}"
        of = {"bool": dtypes.bool, "int64": dtypes.int64}
        given = dict(zip(names, node.args, strict=True))
        own = next((given[name].type.dtype for name, kind in primitive.operands.items()
                    if kind == "same" and isinstance(given[name], Value)), None)  # fmt: skip
        for name, kind in primitive.operands.items():
            value = given[name]
            if isinstance(value, Value) and value.type.dtype is not of.get(kind, own):
                return f"operand {name} is {value.type.dtype.name}"
        result = node.args[-1] if primitive.result == "given" else of.get(primitive.result, own)
        try:
            shape = primitive.shape(*[self._shaped(x) for x in node.args])
        except (RuntimeError, ValueError, IndexError) as error:
            return f"its operands have sizes that do not fit: {error}"
        found = node.outputs[0].type
        if not isinstance(found, TensorType) or self._numbers(found.shape) != tuple(shape):
            return f"the result has other sizes than {primitive.name} gives"
        if result is not None and found.dtype is not result:
            return _differs(node.outputs[0], TensorType(result, found.shape))  # type: ignore[arg-type]
        return None

    def _shaped(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(self._shaped(each) for each in x)
        if not isinstance(x, Value):
            return self._number(x) if isinstance(x, str) and _is_size(x) else x
        return _Shaped(self._numbers(x.type.shape)) if isinstance(x.type, TensorType) else 0

    def _numbers(self, shape: tuple[int | str, ...]) -> tuple[int, ...]:
        return tuple(self._number(n) for n in shape)

    def _number(self, size: int | str) -> int:
        """A number for a size, another one for each name."""
        if isinstance(size, int):
            return size
        found = 1
        for part in size.split("*"):
            if part.isdigit():
                found *= int(part)
            else:
                found *= self._sizes.setdefault(part, _PRIMES[len(self._sizes) % len(_PRIMES)])
        return found


def _is_size(n: Any) -> bool:
    if isinstance(n, str):
        return _SIZE.fullmatch(n) is not None
    return type(n) is int and n >= 0


def _control_problem(node: Node) -> str | None:
    outputs = [value.type for value in node.outputs]
    if node.op == "if":
        if len(node.args) != 1 or len(node.blocks) != 2:
            return "it needs one condition and two blocks"
        if any(b.inputs or [v.type for v in b.outputs] != outputs for b in node.blocks):
            return "its blocks take nothing and give what it gives"
        return None
    if len(node.args) < 2 or len(node.blocks) != 1:
        return "it needs a count, a condition and one block"
    carried = [value.type for value in values_among(node.args[2:])]
    (block,) = node.blocks
    if [v.type for v in block.inputs[1:]] != carried or [
        v.type for v in block.outputs[1:]
    ] != carried:
        return "its block takes a round and what is carried, and gives a condition and that"
    return None if outputs == carried else "its results are what is carried"


def _differs(value: Value, wanted: TensorType | NumberType) -> str:
    from tensorbus.graph.printing import type_text

    return f"the result is {type_text(value.type)}, not {type_text(wanted)}"
