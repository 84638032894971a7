"""Proxies: values that do not exist yet, on which a program is run to see what it does."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus.fx.graph import Graph
from tensorbus.fx.node import Argument, Node, Target, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """A program asks for a value that does not exist while it is traced."""


def proxies_in(values: Any) -> list[Proxy]:
    """The proxies in nested lists, tuples and dicts."""
    found: list[Proxy] = []

    def see(x: Any) -> None:
        if isinstance(x, Proxy):
            found.append(x)

    map_aggregate(values, see)
    return found


class TracerBase:
    """What notes steps in a graph, for the proxies that it makes."""

    graph: Graph

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What ``for`` goes through: it raises TraceError."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument."
        )

    def to_bool(self, obj: Proxy) -> bool:
        """What ``if`` asks: it raises TraceError."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def keys(self, obj: Proxy) -> Any:
        """The keys of a traced dict, as a step."""
        return self.create_proxy("call_method", "keys", (obj,), {})

    def create_arg(self, a: Any) -> Argument:
        """A value of the program as an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple | list | dict | slice):
            return map_aggregate(a, self.create_arg)
        return a

    def create_node(
        self, kind: str, target: Target, args: Any, kwargs: Any, name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A node of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Target, args: Any, kwargs: Any, name: str | None = None,
        type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:  # fmt: skip
        """A node with these values as arguments, and its proxy."""
        if name is None and kind in ("call_module", "get_attr"):
            name = str(target).replace(".", "_")
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)


class GraphAppendingTracer(TracerBase):
    """Notes what is done to the proxies of a graph that a program makes node by node."""

    def __init__(self, graph: Graph):
        self.graph = graph


class Proxy:
    """The result of a node, while the graph is made: each use of it makes another node.

    What depends on its value (``if``, ``for``, ``len``) raises ``TraceError``, a ValueError.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.node, self.tracer = node, tracer or GraphAppendingTracer(node.graph)

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Proxy]:
        frame = sys._getframe(1)
        for instruction in dis.get_instructions(frame.f_code):
            if instruction.offset == frame.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                return iter([self[i] for i in range(instruction.argval)])
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    def __contains__(self, item: Any) -> bool:
        raise TraceError("whether a traced value contains another is not known while tracing")

    def __index__(self) -> int:
        raise TraceError("a traced value is no number that Python can count with while tracing")

    def __getitem__(self, key: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})

    def keys(self) -> Any:
        """The keys, where the program passes it with two stars."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        tracers = [proxy.tracer for proxy in proxies_in((args, kwargs))]
        if len({id(t) for t in tracers}) > 1:
            raise RuntimeError("proxies of different tracers meet in one call")
        name = getattr(orig_method, "__name__", "")
        owner = getattr(orig_method, "__qualname__", "").partition(".")[0]
        if owner in ("Tensor", "TensorBase"):
            return tracers[0].create_proxy("call_method", name, args, kwargs)
        return tracers[0].create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a traced value: read where it is used, or called as a method."""

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads it."""
        if self._node is None:
            read = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = read.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _forward(target: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (self, *args), {})

    return method


def _reflected(target: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


_BINARY = "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor".split()
for _name in (*_BINARY, *"eq ne lt le gt ge neg pos invert abs".split()):
    setattr(Proxy, f"__{_name.rstrip('_')}__", _forward(getattr(operator, _name)))
for _name in _BINARY:
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _reflected(getattr(operator, _name)))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
