"""Modules whose ``forward`` is written from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from typing import Any

from tensorbus import Tensor
from tensorbus.fx.graph import Graph, PythonCode
from tensorbus.nn import Module, Parameter

__all__ = ["GraphModule", "reduce_graph_module"]

_counted = itertools.count()


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give *to_module* what *from_module* has under a dotted name."""
    *prefix, field = target.split(".")
    for name in prefix:
        inner = getattr(from_module, name)
        if getattr(to_module, name, None) is inner:
            return  # the whole submodule is there
        if not hasattr(to_module, name):
            to_module.add_module(name, Module())
        from_module, to_module = inner, getattr(to_module, name)
    value = getattr(from_module, field)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


class GraphModule(Module):
    """A module that runs a graph over the parameters and submodules of *root*.

    ``graph`` may be changed; ``recompile`` then writes ``code`` and ``forward`` anew.

    >>> import operator, tensorbus
    >>> traced = tensorbus.fx.symbolic_trace(lambda x: x + x)
    >>> for node in traced.graph.find_nodes(op="call_function", target=operator.add):
    ...     node.target = operator.mul
    >>> _ = traced.recompile()
    >>> traced(tensorbus.tensor(3.0))
    tensor(9.)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # forward is written into the class, so each instance has one of its own.
        own = cls if "_written" in cls.__dict__ else type(cls.__name__, (cls,), {"_written": True})
        own.__qualname__ = cls.__qualname__
        own.__module__ = cls.__module__
        return super().__new__(own)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name.replace("<lambda>", "_lambda_") or "GraphModule"
        if isinstance(root, Module):
            self.training = root.training
        targets = [
            str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")
        ]
        source = root
        if isinstance(root, dict):
            missing = [t for t in targets if t not in root]
            if missing:
                raise RuntimeError(
                    f"the graph has the target {missing[0]}, which is no key of the given root"
                )
            source = Module()
            for target, value in sorted(root.items(), key=lambda item: item[0].count(".")):
                inner = source
                *prefix, field = target.split(".")
                for name in prefix:
                    if not hasattr(inner, name):
                        inner.add_module(name, Module())
                    inner = getattr(inner, name)
                setattr(inner, field, value)
        for target in dict.fromkeys(targets):
            _copy_attr(source, self, target)
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of ``forward``."""
        return self._code

    def recompile(self) -> PythonCode:
        """Write ``code`` and ``forward`` from the graph as it is now."""
        written = self._graph.python_code("self")
        self._code = written.src
        file = f"<tensorbus.fx {next(_counted)}>"
        space = dict(written.globals)
        exec(compile(written.src, file, "exec"), space)
        linecache.cache[file] = (len(written.src), None, written.src.splitlines(True), file)
        type(self).forward = space["forward"]
        return written

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module under a dotted name; False where something else is on the way."""
        *prefix, field = target.split(".")
        inner: Module = self
        for name in prefix:
            if not hasattr(inner, name):
                inner.add_module(name, Module())
            inner = getattr(inner, name)
            if not isinstance(inner, Module):
                return False
        inner.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module of a dotted name away; False where there is none."""
        *prefix, field = target.split(".")
        inner: Any = self
        for name in prefix:
            inner = getattr(inner, name, None)
        if not isinstance(getattr(inner, field, None), Module):
            return False
        delattr(inner, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that no node calls or reads from, nor from what is in them."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("get_attr", "call_module"):
                parts = str(node.target).split(".")
                used |= {".".join(parts[: i + 1]) for i in range(len(parts))}
                if node.op == "call_module":
                    inner = self.get_submodule(str(node.target)).named_modules()
                    used |= {f"{node.target}.{name}" for name, _ in inner}
        for name in [n for n, _ in self.named_modules() if n]:
            if name not in used:
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **_: Any) -> str:
        """The text of the class, printed unless *print_output* is false."""
        lines = [f"class {type(self).__name__}(torch.nn.Module):"]
        lines += [f"    {line}" if line else "" for line in self._code.splitlines()]
        text = "\n".join(lines) + "\n"
        if print_output:
            print(text)
        return text

    def _state(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        state = copy.deepcopy(self._state(), memo)
        return _made(state, copy.deepcopy(self._graph, memo), type(self).__name__)

    def __copy__(self) -> GraphModule:
        return _made(dict(self._state()), copy.deepcopy(self._graph), type(self).__name__)

    def __reduce__(self) -> Any:
        return reduce_graph_module, (self._state(), self._graph, type(self).__name__)

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n\n{self._code}"


def _made(state: dict[str, Any], graph: Graph, name: str) -> GraphModule:
    made = GraphModule(Module(), Graph(), name)
    made.__dict__.update(state)
    made.graph = graph
    return made


def reduce_graph_module(state: dict[str, Any], graph: Graph, name: str) -> GraphModule:
    """A module from what was pickled of it: its state, and its graph."""
    return _made(state, graph, name)
