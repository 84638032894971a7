"""Graphs: nodes in the order in which they run, and the Python code that runs them."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus.fx.codegen import CodeGen, PythonCode
from tensorbus.fx.node import Argument, Node, Target, map_aggregate, map_arg, target_name

__all__ = ["CodeGen", "Graph", "PythonCode"]

_RESERVED = {*keyword.kwlist, *dir(builtins), "self", "torch"}
"""What no value in the text of a graph may be called."""


class _Insertion:
    """Where new nodes go until the block ends; they go there at once."""

    def __init__(self, graph: Graph, before: Node):
        self.graph, self.held = graph, graph._before
        graph._before = before

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self.graph._before = self.held


class Graph:
    """Steps in order: placeholders for the inputs, calls, and one output.

    >>> import tensorbus
    >>> from tensorbus import fx
    >>> graph = fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(tensorbus.neg, (x,))
    >>> _ = graph.output(y)
    >>> fx.GraphModule(tensorbus.nn.Module(), graph)(tensorbus.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None):
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._root = self._before = Node(self, "", "placeholder", "", (), {})
        self._root._erased = True
        self._names: dict[str, int] = {}
        self._codegen = CodeGen()

    # -- nodes ---------------------------------------------------------------------------------
    @property
    def nodes(self) -> _Nodes:
        """The nodes in order; erasing nodes while they are walked through is allowed."""
        return _Nodes(self)

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the place for new ones, which is the end unless ``inserting_...`` says."""
        called: str = target if isinstance(target, str) else getattr(target, "__name__", "f")
        wanted = name or called
        made = Node(self, self._name(wanted), op, target, args or (), kwargs or {}, type_expr)
        for node in made.all_input_nodes:
            if node.graph is not self:
                made._set((), {})
                raise RuntimeError(f"the argument {node} belongs to another graph")
        self._before.prepend(made)
        return made

    def _name(self, wanted: str) -> str:
        """A name that is not used yet and is one of Python's."""
        base = re.sub(r"\W", "_", wanted.lstrip("*")) or "_"
        base = f"_{base}" if base[0].isdigit() else base
        if base in self._names or base in _RESERVED:
            stem = re.sub(r"_\d+$", "", base)
            count = self._names.get(stem, 0)
            while True:
                count += 1
                base = f"{stem}_{count}"
                if base not in self._names:
                    break
            self._names[stem] = count
        self._names.setdefault(base, 0)
        return base

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input of the graph."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        name = qualified_name.replace(".", "_")
        return self.create_node("get_attr", qualified_name, name=name, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None,
        type_expr: Any = None, name: str | None = None,
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule."""
        name = module_name.replace(".", "_")
        return self.create_node("call_module", module_name, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the graph gives."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def output_node(self) -> Node:
        """The node of the output; StopIteration where there is none."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of an op, and of a target where one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out; RuntimeError while another uses it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} "
                f"users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if not to_erase._erased:
            to_erase._unlink()
            to_erase._erased = True
            to_erase._set((), {})
            if self._before is to_erase:
                self._before = to_erase._next

    def inserting_before(self, n: Node | None = None) -> _Insertion:
        """New nodes go before *n*, or to the start; as a block, until it ends."""
        return _Insertion(self, self._root._next if n is None else n)

    def inserting_after(self, n: Node | None = None) -> _Insertion:
        """New nodes go behind *n*, or to the end; as a block, until it ends."""
        return _Insertion(self, self._root if n is None else n._next)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A node of another graph once more, its inputs as *arg_transform* gives them."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy all nodes of *g* but its output to the place for new ones; gives what it returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], lambda n: val_map[n])
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        values: dict[Node, Node] = {}
        for node in self.nodes:
            values[node] = copied.node_copy(node, lambda n: values[n])
        return copied

    def __reduce__(self) -> Any:
        places = {node: i for i, node in enumerate(self.nodes)}
        steps = [
            (n.op, n.target, *map_arg((n.args, n.kwargs), lambda m: _Place(places[m])), n.name)
            for n in self.nodes
        ]
        return _read, (steps,)

    # -- whole graphs --------------------------------------------------------------------------
    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase what nothing uses and does nothing else; gives whether there was any."""
        self.lint()
        impure = is_impure_node or Node.is_impure
        dead = [n for n in reversed(self.nodes) if not impure(n)]
        found = False
        for node in dead:
            if not node.users:
                self.erase_node(node)
                found = True
        return found

    def lint(self) -> None:
        """Raise RuntimeError where a node uses what comes later, or a target does not exist."""
        seen: set[Node] = set()
        for node in self.nodes:
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                        "Please check that Nodes in the graph are topologically ordered"
                    )
            seen.add(node)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                found = self.owning_module
                for part in str(node.target).split("."):
                    if not hasattr(found, part):
                        raise RuntimeError(
                            f"Node {node} target {node.target} references nonexistent attribute "
                            f"{part} of {node.target}"
                        )
                    found = getattr(found, part)

    def python_code(self, root_module: str = "self", **_: Any) -> PythonCode:
        """The function ``forward`` as text, and the globals that it needs."""
        return self._codegen.write(list(self.nodes), root_module)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write code by another ``CodeGen``."""
        self._codegen = codegen

    def print_tabular(self) -> None:
        """Print a table of the nodes."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, target_name(n), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        for row in rows:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))

    def __str__(self) -> str:
        inputs = ", ".join(f"%{n.name}" for n in self.nodes if n.op == "placeholder")
        lines = [n.format_node() for n in self.nodes if n.op != "placeholder"]
        return "\n    ".join((f"graph({inputs}):", *lines))


class _Nodes:
    """The nodes of a graph, in order or in reverse."""

    def __init__(self, graph: Graph):
        self.graph = graph

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _walk(self, link: str) -> Iterator[Node]:
        root = self.graph._root
        node = getattr(root, link)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, link)

    def __iter__(self) -> Iterator[Node]:
        return self._walk("_next")

    def __reversed__(self) -> Iterator[Node]:
        return self._walk("_prev")


class _Place:
    """Stands in a pickled graph for a node of it."""

    def __init__(self, index: int):
        self.index = index


def _read(steps: list[Any]) -> Graph:
    graph = Graph()
    made: list[Node] = []
    for op, target, args, kwargs, name in steps:

        def node(x: Any) -> Any:
            return made[x.index] if isinstance(x, _Place) else x

        args, kwargs = map_aggregate((args, kwargs), node)
        made.append(graph.create_node(op, target, args, kwargs, name))
    return graph
