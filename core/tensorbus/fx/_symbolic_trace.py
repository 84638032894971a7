"""Tracing: a module or a function is run once on proxies, and what it does becomes a graph."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from tensorbus import Tensor
from tensorbus.fx.graph import Graph
from tensorbus.fx.graph_module import GraphModule
from tensorbus.fx.node import Argument, Node
from tensorbus.fx.proxy import Proxy, TracerBase, proxies_in
from tensorbus.nn import Module, Parameter, Sequential

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
"""The globals in which a name is a function that tracing does not look into."""


def wrap(fn_or_name: Any) -> Any:
    """Let tracing note calls of a function of this module, and not what happens in it.

    Called where the module is made: with the function, as a decorator or not, or its name.

    >>> from tensorbus import fx
    >>> @fx.wrap
    ... def half(x):
    ...     return x / 2
    >>> [node.op for node in fx.symbolic_trace(lambda x: half(x)).graph.nodes]
    ['placeholder', 'call_function', 'output']
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


class Tracer(TracerBase):
    """Makes graphs of modules and functions; subclasses say what is one step of a graph.

    *autowrap_modules* are modules of Python whose functions take proxies as one step, and
    *autowrap_functions* functions that do.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ):
        self._autowrap = autowrap_modules
        self._functions = autowrap_functions
        self.param_shapes_constant = param_shapes_constant
        self.graph = Graph()
        self.root: Module = Module()
        self._paths: dict[int, str] = {}
        self._attributes: dict[int, str] = {}

    # -- what subclasses change ----------------------------------------------------------------
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one step: of those of ``nn`` but Sequential, it is."""
        home = type(m).__module__
        ours = home.startswith(("tensorbus.nn", "torch.nn"))
        return ours and not isinstance(m, Sequential)

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What a call of a module gives while it is traced."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule; NameError where the root has it not."""
        try:
            return self._paths[id(mod)]
        except KeyError:
            raise NameError("module is not installed as a submodule") from None

    def create_arg(self, a: Any) -> Argument:
        """A value of the program as an argument of a node: tensors are read from the root."""
        return self._constant(a) if isinstance(a, Tensor) else super().create_arg(a)

    # -- tracing -------------------------------------------------------------------------------
    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or a function.

        *concrete_args* gives arguments values: they are no inputs of the graph.
        """
        if isinstance(root, Module):
            self.root, forward = root, root.forward
        else:
            self.root, forward = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self._paths = {id(m): name for name, m in self.root.named_modules()}
        named = (*self.root.named_parameters(), *self.root.named_buffers())
        self._attributes = {id(x): name for name, x in named}
        args, kwargs = self._inputs(forward, concrete_args or {})
        with self._patched():
            result = forward(*args, **kwargs)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def _inputs(
        self, forward: Callable[..., Any], given: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, parameter in inspect.signature(forward).parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.append(self.proxy(self.graph.placeholder(f"*{name}")))
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                self.graph.placeholder(f"**{name}")
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            value = given.get(name, ...)
            if value is ...:
                value = self.proxy(self.graph.placeholder(name, default_value=default))
            if parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    def _constant(self, value: Tensor) -> Node:
        """A node that reads a tensor from the root, which gets those that it has not."""
        path = self._attributes.get(id(value))
        if path is None:
            i = 0
            while hasattr(self.root, f"_tensor_constant{i}"):
                i += 1
            path = f"_tensor_constant{i}"
            setattr(self.root, path, value)
            self._attributes[id(value)] = path
        return self.create_node("get_attr", path, (), {}, path.replace(".", "_"))

    @contextlib.contextmanager
    def _patched(self) -> Iterator[None]:
        """While it lasts, modules and wrapped functions ask the tracer."""
        call, read = Module.__call__, Module.__getattr__
        proxies: dict[str, Proxy] = {}

        def traced_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def traced_read(module: Module, name: str) -> Any:
            found = read(module, name)
            if isinstance(found, Parameter):
                path = self._attributes.get(id(found))
                if path is not None:
                    if path not in proxies:
                        proxies[path] = self.create_proxy("get_attr", path, (), {})
                    return proxies[path]
            return found

        with contextlib.ExitStack() as stack:

            def put(space: Any, name: str, value: Any) -> None:
                held = space.get(name, ...)
                space[name] = value
                undo = (
                    (lambda: space.pop(name, None))
                    if held is ...
                    else (lambda: space.__setitem__(name, held))
                )
                stack.callback(undo)

            for (_, name), space in list(_wrapped.items()):
                function = space.get(name) or getattr(builtins, name, None)
                if function is not None:
                    put(space, name, self._step(function))
            for module in self._autowrap:
                for name, function in list(vars(module).items()):
                    if callable(function) and not name.startswith("_"):
                        put(vars(module), name, self._step(function))
            for function in self._functions:
                space = getattr(function, "__globals__", {})
                for name in [n for n, value in space.items() if value is function]:
                    put(space, name, self._step(function))
            stack.callback(setattr, Module, "__call__", call)
            stack.callback(setattr, Module, "__getattr__", read)
            setattr(Module, "__call__", traced_call)  # noqa: B010
            setattr(Module, "__getattr__", traced_read)  # noqa: B010
            yield

    @staticmethod
    def _step(function: Callable[..., Any]) -> Callable[..., Any]:
        """*function*, which on proxies is one step."""

        def step(*args: Any, **kwargs: Any) -> Any:
            found = proxies_in((args, kwargs))
            if found:
                return found[0].tracer.create_proxy("call_function", function, args, kwargs)
            return function(*args, **kwargs)

        return step


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module that does what *root* does, a module or a function, from the graph of it.

    TraceError, a ValueError, where what it does hangs on values of its inputs.

    >>> import tensorbus
    >>> traced = tensorbus.fx.symbolic_trace(tensorbus.nn.Sequential(tensorbus.nn.ReLU()))
    >>> print(traced.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, '0')(input_1);  input_1 = None
        return _0
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
