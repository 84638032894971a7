"""Modes that see the calls of public functions and methods: ``TorchFunctionMode``.

Functions ask the innermost mode where they ask ``__torch_function__`` (``override.py``). Methods
of plain tensors ask nobody; so while some thread has a mode, what the class shows are stand-ins
that ask, and the methods themselves come back when no thread has one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from types import MethodType
from typing import Any

from tensorbus._base.leaving import Leaving
from tensorbus._base.modes import OVERRIDES
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine import override
from tensorbus.op_engine.asked_again import asked_again
from tensorbus.op_engine.names import METHODS, Lazy

_lock = threading.Lock()
_placing = threading.RLock()


class TorchFunctionMode(Leaving):
    """A context that sees each call of a public function or method of this thread.

    A subclass defines ``__torch_function__(self, func, types, args=(), kwargs=None)`` and returns
    the result of the call, for example ``func(*args, **kwargs)``. The mode is off while it runs.

    >>> import tensorbus as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(torch.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = torch.ones(2) + 1
    torch.ones
    torch.Tensor.add
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        before = override._local.modes
        counted = [False]
        try:
            _switch(counted, True, (*before, self))
            yield self
        finally:
            self.close = outer
            try:
                _switch(counted, False, before)
            except BaseException:
                _switch(counted, False, before)
                raise


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls each function as it is."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class DisableTorchFunction(override.DisableTorchFunctionSubclass):
    """A context in which neither subclasses of Tensor nor modes see what is called."""

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        modes, off = override._local.modes, override._local.off
        try:
            override._local.off = True
            override._local.modes = ()
            yield
        finally:
            self.close = outer
            override._local.off = off
            override._local.modes = modes


def _switch(counted: list[bool], on: bool, modes: tuple[Any, ...]) -> None:
    """Set this thread's modes, and let methods ask where any thread has some.

    *counted* holds whether the block that enters or leaves is counted.
    """
    mine = override._local.__dict__
    change = on - counted[0]
    with _lock:  # no call inside: an interrupt comes before all of it or after
        mine["modes"] = modes
        counted[0] = on
        OVERRIDES.modes += change
        OVERRIDES.on = OVERRIDES.classes or OVERRIDES.modes > 0
    with _placing:
        if OVERRIDES.modes:
            _place()
        elif _STANDING:
            _take_back()


def current_modes() -> list[TorchFunctionMode]:
    """This thread's modes, the innermost last."""
    return list(override._local.modes)


def without_innermost() -> AbstractContextManager[TorchFunctionMode]:
    """A block in which this thread's innermost mode, which it gives, is off."""
    return override.mode_taken_off()


# -- methods that ask ------------------------------------------------------------------------
class _StandIn:
    """What the class shows instead of a method: the class's users get the method itself."""

    __slots__ = ("asking", "name", "plain")

    def __init__(self, name: str, plain: Any):
        self.name = name
        self.plain = plain
        self.asking = override.asking(name)

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            if type(self.plain) is Lazy:
                self.plain = self.plain.__get__(None, owner)
            local = override._local
            if local.in_mode and local.modes:
                return asked_again(self.name, self.plain, override._method)
            return self.plain
        return MethodType(self.asking, x)


class _PropertyStandIn(_StandIn):
    __slots__ = ()

    def __get__(self, x: Any, owner: type) -> Any:
        return self.plain if x is None else self.asking.__get__(x)

    def __set__(self, x: Any, value: Any) -> None:
        self.asking.__set__(x, value)

    def __delete__(self, x: Any) -> None:
        self.asking.__delete__(x)


_STANDING: dict[str, _StandIn] = {}
"""Those in place."""


def _place() -> None:
    if len(_STANDING) == len(_names()):
        return
    for name in _names():
        if name not in _STANDING:
            plain = vars(Tensor)[name]
            cls = _PropertyStandIn if isinstance(plain, property) else _StandIn
            stand_in = cls(name, plain)
            _STANDING[name] = stand_in
            setattr(Tensor, name, stand_in)


def _take_back() -> None:
    for name in list(_STANDING):
        setattr(Tensor, name, _STANDING[name].plain)
        del _STANDING[name]


def _names() -> list[str]:
    return [name for name in METHODS if name not in override.OBJECT_PROTOCOL]


show_in(
    "tensorbus.overrides",
    [(c.__name__, c) for c in (TorchFunctionMode, BaseTorchFunctionMode)],
)
