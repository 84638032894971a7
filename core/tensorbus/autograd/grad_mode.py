"""Whether operations record, for each thread."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Self, TypeVar

from tensorbus._base.errors import type_error

F = TypeVar("F", bound=Callable[..., Any])


class _Thread(threading.local):
    on = True


class _Everywhere:
    """``on`` while no thread has switched recording off: the one thing the hot path reads."""

    __slots__ = ("off_count", "on")

    def __init__(self) -> None:
        self.on = True
        self.off_count = 0


GRAD = _Everywhere()
THREAD = _Thread()
_lock = threading.Lock()


def is_grad_enabled() -> bool:
    """Whether operations of this thread record."""
    return GRAD.on or THREAD.on


def _switch(on: bool) -> bool:
    before = THREAD.on
    if before != on:
        THREAD.on = on
        with _lock:
            GRAD.off_count += -1 if on else 1
            GRAD.on = GRAD.off_count == 0
    return before


class _Mode:
    """A context manager that is a decorator too."""

    __slots__ = ("_before",)
    _before: list[bool]
    mode = True

    def __new__(cls, function: Callable[..., Any] | None = None) -> Self:
        self: Any = object.__new__(cls)
        self._before = []
        return self if function is None else self(function)

    def __enter__(self) -> None:
        self._before.append(_switch(self.mode))

    def __exit__(self, *_: Any) -> None:
        _switch(self._before.pop())

    def __call__(self, function: F) -> F:
        import inspect

        cls = type(self)
        make = cls if cls is not set_grad_enabled else functools.partial(_entered, self.mode)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Any:
                return _in_mode(make, function(*args, **kwargs))

            return generate  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with make():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def _entered(mode: bool) -> _Mode:
    self = object.__new__(no_grad if not mode else enable_grad)
    self._before = []
    return self


def _in_mode(make: Callable[[], _Mode], generator: Any) -> Any:
    """Run a generator's steps inside the mode and its consumer outside."""
    send: Any = generator.send
    value: Any = None
    while True:
        try:
            with make():
                got = send(value)
        except StopIteration as stop:
            return stop.value
        try:
            value, send = (yield got), generator.send
        except GeneratorExit:
            with make():
                generator.close()
            raise
        except BaseException as error:
            value, send = error, generator.throw


class no_grad(_Mode):
    """Operations inside do not record: a context manager and a decorator.

    >>> import tensorbus
    >>> x = tensorbus.ones(2, requires_grad=True)
    >>> with tensorbus.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    __slots__ = ()
    mode = False


class enable_grad(_Mode):
    """Operations inside record, also within ``no_grad``: a context manager and a decorator."""

    __slots__ = ()


class set_grad_enabled(_Mode):
    """Switch recording at once; as a context manager, back again at the end."""

    __slots__ = ("mode",)

    def __new__(cls, mode: bool) -> Self:
        if not isinstance(mode, bool):
            raise type_error("set_grad_enabled", "enabled", 1, "bool", mode)
        self = object.__new__(cls)
        self.mode = mode
        self._before = [_switch(self.mode)]
        return self

    def __enter__(self) -> None:
        _switch(self.mode)

    def __call__(self, function: F) -> F:
        _switch(self._before.pop())
        return super().__call__(function)


class inference_mode(_Mode):
    """As ``no_grad``, for code whose results never enter a graph.

    ``inference_mode(mode=True)``; a context manager and a decorator.
    """

    __slots__ = ()
    mode = False

    def __new__(cls, mode: Any = True) -> Self:
        made: Any
        if callable(mode):
            made = _Mode.__new__(cls, mode)
        else:
            made = _Mode.__new__(cls if mode else enable_grad)
        return made
