"""Python text of a graph: one line for each node."""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import Any

import tensorbus
from tensorbus.fx.node import Node

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.matmul: "@",
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">",
    operator.ge: ">=", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
_PLAIN = (int, bool, str, bytes, type(None), type(...))


@dataclasses.dataclass
class PythonCode:
    """The text of a function, and the globals that stand in it."""

    src: str
    globals: dict[str, Any]


class _Text:
    """Arguments as text; what has none becomes a global."""

    def __init__(self) -> None:
        self.globals: dict[str, Any] = {"torch": tensorbus}

    def named(self, wanted: str, value: Any) -> str:
        """A global of this value."""
        name, count = wanted, 0
        while name in self.globals and self.globals[name] is not value:
            count += 1
            name = f"{wanted}_{count}"
        self.globals[name] = value
        return name

    def function(self, target: Any) -> str:
        """How a function is called in the text."""
        name = getattr(target, "__name__", "")
        if name.isidentifier() and getattr(tensorbus, name, None) is target:
            return f"torch.{name}"
        home = (getattr(target, "__module__", None) or "").replace(".", "_")
        whole = f"{home}_{name}".strip("_")
        return self.named(whole if whole.isidentifier() else "function", target)

    def of(self, x: Any) -> str:
        """An argument."""
        if isinstance(x, Node):
            return x.name
        if type(x) in _PLAIN or (type(x) in (float, complex) and math.isfinite(abs(x))):
            return repr(x)
        if type(x) is tuple:
            return f"({', '.join(map(self.of, x))}{',' * (len(x) == 1)})"
        if type(x) is list:
            return f"[{', '.join(map(self.of, x))}]"
        if type(x) is dict:
            return "{" + ", ".join(f"{self.of(k)}: {self.of(v)}" for k, v in x.items()) + "}"
        if isinstance(x, slice):
            return f"slice({self.of(x.start)}, {self.of(x.stop)}, {self.of(x.step)})"
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return f"{self.named(type(x).__name__, type(x))}({', '.join(map(self.of, x))})"
        if isinstance(x, tensorbus.dtype):
            return repr(x)
        return self.named(f"_{type(x).__name__}", x)


class CodeGen:
    """Writes ``forward`` from the nodes of a graph."""

    def write(self, nodes: list[Node], root: str) -> PythonCode:
        """The function; a value is let go of behind its last use."""
        text = _Text()
        last: dict[Node, Node] = {}
        for node in nodes:
            for used in node.all_input_nodes:
                last[used] = node
        lines = []
        for node in nodes:
            line = self.line(node, text, root)
            if not line:
                continue
            dead = [used for used in node.all_input_nodes if last[used] is node]
            if not node.users and node.op not in ("output", "placeholder"):
                dead.append(node)
            if dead and node.op != "output":
                line += ";  " + " = ".join(d.name for d in dead) + " = None"
            lines.append(f"    {line}")
        inputs = [self.parameter(n, text) for n in nodes if n.op == "placeholder"]
        head = f"def forward({', '.join([root, *inputs])}):"
        return PythonCode("\n".join((head, *(lines or ["    pass"]))) + "\n", text.globals)

    def parameter(self, node: Node, text: _Text) -> str:
        """An input: with stars as its target has them, with its default."""
        default = f" = {text.of(node.args[0])}" if node.args else ""
        return f"{node.target}{default}"

    def line(self, node: Node, text: _Text, root: str) -> str:
        """What a node does."""
        if node.op == "placeholder":
            given = str(node.target).lstrip("*")
            return "" if given == node.name else f"{node.name} = {given}"
        if node.op == "output":
            return f"return {text.of(node.args[0])}"
        if node.op == "get_attr":
            return f"{node.name} = {_attribute(root, str(node.target))}"
        args = [text.of(x) for x in node.args]
        named = [f"{key} = {text.of(x)}" for key, x in node.kwargs.items()]
        if node.op == "call_method":
            made = f"{_operand(node.args[0], args[0])}.{node.target}({', '.join(args[1:] + named)})"
        elif node.op == "call_module":
            made = f"{_attribute(root, str(node.target))}({', '.join(args + named)})"
        elif node.target in _INFIX and len(args) == 2:
            left, right = (f"({x})" if x[0] == "-" else x for x in args)
            made = f"{left} {_INFIX[node.target]} {right}"
        elif node.target in _PREFIX and len(args) == 1:
            made = f"{_PREFIX[node.target]}{_operand(node.args[0], args[0])}"
        elif node.target is operator.getitem:
            made = f"{_operand(node.args[0], args[0])}[{args[1]}]"
        elif node.target is getattr and len(args) == 2 and str(node.args[1]).isidentifier():
            made = f"{_operand(node.args[0], args[0])}.{node.args[1]}"
        else:
            made = f"{text.function(node.target)}({', '.join(args + named)})"
        return f"{node.name} = {made}"


def _operand(argument: Any, text: str) -> str:
    return text if isinstance(argument, Node) else f"({text})"


def _attribute(root: str, path: str) -> str:
    """``self.layers.0.weight`` in Python's syntax."""
    text = root
    for part in path.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f"getattr({text}, {part!r})"
    return text
