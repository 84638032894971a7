"""The nodes of a graph: what is done, to which other nodes, and who uses the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorbus.fx.graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")

Argument = Any
Target = Callable[..., Any] | str

_effects: set[Callable[..., Any]] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let nodes that call *fn* stay, although nothing uses their result; gives *fn*."""
    _effects.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The same lists, tuples, dicts and slices with *fn* of all that lies in them.

    >>> from tensorbus.fx.node import map_aggregate
    >>> map_aggregate({"a": [1, (2,)]}, lambda x: x * 10)
    {'a': [10, (20,)]}
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {key: map_aggregate(x, fn) for key, x in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The same arguments with *fn* of each node in them.

    >>> from tensorbus import fx
    >>> x = fx.Graph().placeholder("x")
    >>> fx.map_arg([x, 1], lambda node: node.name)
    ['x', 1]
    """
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """A step of a graph.

    ``op`` is one of placeholder, get_attr, call_function, call_method, call_module and output;
    ``target`` what is called or read; ``users`` the nodes that take its result.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ):
        if op not in OPS:
            raise AssertionError(f"{op} is no op of a graph: {', '.join(OPS)}")
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._prev = self._next = self
        self._erased = False
        self._set(args, kwargs)

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments, in which nodes stand for their results."""
        return self._args

    @args.setter
    def args(self, value: tuple[Argument, ...]) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by keyword."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Argument]) -> None:
        self._set(self._args, value)

    def _set(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for node in self._inputs:
            node.users.pop(self, None)
        self._inputs = {}

        def use(node: Node) -> Node:
            self._inputs[node] = None
            node.users[self] = None
            return node

        self._args, self._kwargs = map_arg(tuple(args), use), map_arg(dict(kwargs), use)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose results it takes, each once."""
        return list(self._inputs)

    @property
    def next(self) -> Node:
        """The node after it."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put a node of the graph before this one."""
        if x is not self:
            x._unlink()
            x._prev, x._next = self._prev, self
            self._prev._next = self._prev = x

    def append(self, x: Node) -> None:
        """Put a node of the graph behind this one."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Put another positional argument in the place of one."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1 :])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set an argument by keyword."""
        self.kwargs = {**self._kwargs, key: arg}

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put another positional argument before the one of this index."""
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take the result of *new_input* wherever that of *old_input* was taken."""

        def other(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, other), map_arg(self._kwargs, other))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users take *replace_with* instead, but those that *delete_user_cb* refuses.

        Gives the users that were changed.
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it does more than give a result: inputs, outputs, writes, declared effects."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_method":
            name = str(self.target)
            return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            written = name.endswith("_") and not name.endswith("__")
            return self.target in _effects or written or name == "setitem"
        if self.op == "call_module" and self.graph.owning_module is not None:
            called = self.graph.owning_module.get_submodule(str(self.target))
            return bool(getattr(called, "_is_impure", False))
        return False

    def format_node(self, *_: Any) -> str:
        """A line that says what it is."""
        if self.op == "placeholder":
            return f"%{self.name} : [num_users={len(self.users)}] = placeholder[{self.target}]"
        if self.op == "output":
            return f"return {map_arg(self.args[0], str)}"
        said = f"%{self.name} : [num_users={len(self.users)}] = {self.op}[{target_name(self)}]"
        if self.op == "get_attr":
            return said
        shown = [_percent(x) for x in self._args]
        named = [f"{key}: {_percent(x)}" for key, x in self._kwargs.items()]
        return f"{said}(args = ({', '.join(shown)}), kwargs = {{{', '.join(named)}}})"

    def __repr__(self) -> str:
        return self.name


def _percent(x: Any) -> str:
    return f"%{x.name}" if isinstance(x, Node) else str(x)


def target_name(node: Node) -> str:
    """What a node calls, as text."""
    if isinstance(node.target, str):
        return node.target
    name = getattr(node.target, "__name__", repr(node.target))
    return f"{getattr(node.target, '__module__', None) or 'builtins'}.{name}"
