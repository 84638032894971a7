"""Context managers whose end no interrupt can prevent."""

from __future__ import annotations

import functools
import io
import operator
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _nothing() -> None:
    """What there is to leave before anything was entered."""


class Leaving(io.IOBase):
    """A context manager written as a generator: ``within`` sets, yields once, and sets back.

    Ctrl-C raises KeyboardInterrupt wherever a Python function begins, so an ``__exit__`` in Python
    may end before its first line, and what it should have set back stays for good. That of
    ``io.IOBase`` is compiled and calls ``close``, which is here the generator's own, compiled too:
    an interrupt that comes then finds the generator inside its ``try``.
    """

    closed = True  # there is nothing to do when the object is freed
    close: Callable[[], None] = staticmethod(_nothing)

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        """Set, yield what ``as`` names, and in a ``finally`` clause that holds up to one interrupt,
        set back.

        That clause gives ``close`` back to *outer*: the same object may have been entered twice.
        """
        raise NotImplementedError

    def __enter__(self) -> Any:
        steps = self.within(self.close)
        try:
            got = next(steps)
            self.close = steps.close
        except BaseException:
            steps.close()
            raise
        return got


class Handle(Leaving):
    """What registering returns: ``remove()`` takes it out again, as a block's end does."""

    def remove(self) -> None:
        """Take out what was registered; a second call does nothing."""
        raise NotImplementedError

    def within(self, outer: Callable[[], None]) -> Generator[Self, None, None]:
        try:
            yield self
        finally:
            self.close = outer
            try:
                self.remove()
            except BaseException:
                self.remove()
                raise


class Decorator(Leaving):
    """A context manager that is a decorator too, of functions and of generator functions."""

    def _again(self) -> Any:
        """What makes another of this kind for each call of a function or step of a generator."""
        return type(self)

    def __call__(self, function: F) -> F:
        import inspect

        make = self._again()
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Any:
                return _stepped(make, function(*args, **kwargs))

            return generate  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with make():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def _stepped(make: Callable[[], Leaving], generator: Any) -> Any:
    """Run a generator's steps inside the context manager and its consumer outside."""
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


class Entered(threading.local):
    """How this thread leaves what it has entered last, of objects that blocks and threads share."""

    leave: Callable[[], None] = staticmethod(_nothing)


class _Exit(io.IOBase):
    """Its ``__exit__`` leaves what this thread has entered last, in compiled code throughout."""

    closed = True  # there is nothing to do when the object is freed

    def __init__(self, local: Entered):
        self.close = functools.partial(operator.methodcaller("leave"), local)  # type: ignore[method-assign]


def entering(
    local: Entered, within: Callable[[Any, Callable[[], None]], Generator[Any, None, None]]
) -> tuple[Callable[[Any], Any], Callable[..., None]]:
    """``__enter__`` and ``__exit__`` of a class whose objects blocks and threads share.

    *within* is as ``Leaving.within`` of the object, and gives ``local.leave`` back to *outer*.
    Neither is called by methods of the class: an interrupt between the two would leave the object
    entered.
    """

    def enter(entered: Any) -> Any:
        steps = within(entered, local.leave)
        try:
            next(steps)
            local.leave = steps.close
        except BaseException:
            steps.close()
            raise
        return entered

    return enter, _Exit(local).__exit__


class _Block(Leaving):
    """What a function marked with ``block`` returns; a decorator too, as contextlib's are."""

    def __init__(self, begin: Callable[[], Generator[Any, None, None]]):
        self._begin = begin
        self._entered = False

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        if self._entered:
            raise RuntimeError(
                "a context manager of this kind is entered only once: make another one by calling "
                "its function again"
            )
        self._entered = True
        return self._begin()

    def __call__(self, function: Callable[..., T]) -> Callable[..., T]:
        begin = self._begin

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> T:
            with _Block(begin):
                return function(*args, **kwargs)

        return call


def block(
    function: Callable[P, Generator[T, None, None]],
) -> Callable[P, AbstractContextManager[T]]:
    """As ``contextlib.contextmanager``, for what is to be undone whenever the block ends.

    *function* sets inside its ``try``, yields once, and sets back in a ``finally`` clause that
    holds up to one interrupt. It does not see the exception that ends the block.
    """

    @functools.wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T]:
        made: Any = _Block(functools.partial(function, *args, **kwargs))
        return made

    return make
