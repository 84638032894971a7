"""The public names of ops: what modules of ops put here, the package and the class show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.public_place import show_in
from tensorbus._base.table import Table
from tensorbus._tensor.tensor import Tensor


class Lazy:
    """A method whose text is generated when it is first asked for, and then replaces this."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[[], Callable[..., Any]]):
        self.name = name
        self.make = make

    def __get__(self, instance: Any, owner: type) -> Any:
        # Imported late: only what is asked for a method needs it.
        from tensorbus.op_engine.signatures import method_signature

        made = self.make()
        for cls in owner.__mro__:
            if cls.__dict__.get(self.name) is self:
                setattr(cls, self.name, made)
                _PLACED[self.name] = made
        show_in("tensorbus", [(f"Tensor.{self.name}", made)])
        if not hasattr(made, "__signature__"):
            made.__signature__ = method_signature(made)  # type: ignore[attr-defined]
        return made if instance is None else made.__get__(instance, owner)


class Later:
    """A method of Tensor whose module is imported when it is first asked for."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        method = METHODS[self.name]
        if vars(Tensor)[self.name] is self:  # whoever replaced a method for a while put this back
            _show_method(self.name, method)
        return vars(Tensor)[self.name].__get__(instance, owner)


def _show_function(name: str, f: Any) -> None:
    if not isinstance(f, type):
        show_in("tensorbus", [(name, f)])


def _show_method(name: str, method: Any) -> None:
    if "<" in getattr(method, "__qualname__", "") or getattr(method, "__name__", "")[:1] == "_":
        method.__name__ = method.__qualname__ = name
    show_in("tensorbus", [(f"Tensor.{name}", method)])
    found = vars(Tensor).get(name)
    if found is None or isinstance(found, Later) or found is _PLACED.get(name):
        placed = Lazy(name, method.make) if isinstance(method, Lazy) else method
        setattr(Tensor, name, placed)
        _PLACED[name] = placed


_PLACED: dict[str, Any] = {}
"""The methods that the class was given here. Programs may have put their own there instead, which
stay when the module of a method is imported."""

FUNCTIONS = Table()
"""What ``tensorbus.NAME`` finds."""

METHODS = Table()
"""What ``Tensor.NAME`` finds."""

SPECIAL = Table()
"""Functions of ``torch.special`` alone, by their names there."""


def show() -> None:
    """Let the class have the methods, and all functions say where users find them."""
    FUNCTIONS.show_with(_show_function)
    METHODS.show_with(_show_method)


def await_methods(module: str, names: list[str]) -> None:
    """Let the class have the methods that a module declares, before it is imported."""
    METHODS.await_names(module, names)
    for name in names:
        if name in METHODS.homes:
            setattr(Tensor, name, Later(name))
