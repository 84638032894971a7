"""Running graphs node by node, and making other graphs on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorbus.fx._symbolic_trace import Tracer
from tensorbus.fx.graph import Graph
from tensorbus.fx.graph_module import GraphModule
from tensorbus.fx.node import Node, map_aggregate, map_arg
from tensorbus.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph; subclasses do something else at nodes of one op, or at all of them.

    >>> import tensorbus
    >>> from tensorbus import fx
    >>> class Loud(fx.Interpreter):
    ...     def call_method(self, target, args, kwargs):
    ...         print(target)
    ...         return super().call_method(target, args, kwargs)
    >>> Loud(fx.symbolic_trace(lambda x: x.neg())).run(tensorbus.ones(2))
    neg
    tensor([-1., -1.])
    """

    def __init__(
        self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None
    ):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """What the graph gives for these inputs; nodes of *initial_env* are not run."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        left = {node: len(node.users) for node in self.graph.nodes}
        for node in self.graph.nodes:
            if node not in self.env:
                try:
                    self.env[node] = self.run_node(node)
                except Exception as error:
                    error.add_note(f"While executing {node.format_node()}")
                    raise
            if node.op == "output":
                return self.env[node]
            if self.garbage_collect_values:
                for used in node.all_input_nodes:
                    left[used] -= 1
                    if not left[used]:
                        self.env.pop(used, None)
        return None

    def run_node(self, n: Node) -> Any:
        """The result of a node: its op's method is called with its arguments' values."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The next input, or its default; RuntimeError where there is neither."""
        if isinstance(target, str) and target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
        raise RuntimeError(
            f"Expected positional argument for parameter {target}, but one was not passed in!"
        )

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a method."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What the graph gives."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What the module has under a dotted name; RuntimeError where it has nothing."""
        found: Any = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values((n.args, n.kwargs), n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with the values of the nodes in them; RuntimeError for one not yet run."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}!")
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Makes another module of one, node by node, as its methods say; ``transform`` gives it."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = Tracer()
        self.tracer.graph = self.new_graph
        self.tracer.root = module

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Proxy:
        """An input of the new graph."""
        return self.tracer.proxy(self.new_graph.placeholder(target, None, *args))

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Proxy:
        """An attribute of the module, read in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a submodule in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module, with the submodules of the old one."""
        result = super().run()
        if result is not None:

            def node(x: Any) -> Any:
                return x.node if isinstance(x, Proxy) else x

            self.new_graph.output(map_aggregate(result, node))
        return GraphModule(self.module, self.new_graph)

    def run_node(self, n: Node) -> Any:
        """The proxy of what a node becomes, with the node's notes."""
        made = super().run_node(n)
        if isinstance(made, Proxy):
            made.node.meta.update(n.meta)
        return made
