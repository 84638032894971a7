"""Results that are not there yet: ``Future``, ``collect_all`` and ``wait_all``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value, or an error, that some thread will set.

    >>> from tensorbus.futures import Future
    >>> future = Future()
    >>> doubled = future.then(lambda f: 2 * f.value())
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None):
        """*devices*, those that the value may lie on, are checked: each with its index."""
        from tensorbus._device.device import device

        for each in devices or ():
            if device(each).index is None:
                raise ValueError(f"Expected devices to have indices, got {device(each)}")
        self._completed = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._value: T | None = None
        self._error: Exception | None = None

    def done(self) -> bool:
        """Whether it has its value or error."""
        return self._completed.is_set()

    def wait(self) -> T:
        """Wait until it is completed; its value, or raise its error."""
        self._completed.wait()
        if self._error is not None:
            raise self._error
        return cast(T, self._value)

    def value(self) -> T:
        """The value of a completed future, or raise its error; ``RuntimeError`` before that."""
        if not self.done():
            raise RuntimeError("value() of a future that is not completed yet: call wait()")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Complete it, and call back those who asked; ``RuntimeError`` the second time."""
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Complete it with an error, which ``wait`` and ``value`` raise.

        >>> from tensorbus.futures import Future
        >>> future = Future()
        >>> future.set_exception(ValueError("no such digit"))
        >>> future.wait()
        Traceback (most recent call last):
            ...
        ValueError: no such digit
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what *callback* returns, which is given this one when it is completed.

        It is called at once where that has happened, else by the thread that completes it. What it
        raises is the error of the future that is returned, as a ``RuntimeError``.
        """
        _check_callable("then", callback)
        following: Future[S] = Future()

        def run(future: Future[T]) -> None:
            try:
                found = callback(future)
            except RuntimeError as e:
                # Such as that of a rank that has died, which knows more than its text.
                following.set_exception(e)
            except Exception as e:
                text = f"Got the following error when running the callback: {type(e).__name__}: {e}"
                error = RuntimeError(text)
                error.__cause__ = e
                following.set_exception(error)
            else:
                following.set_result(found)

        self._call(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call *callback* with this future when it is completed; what it raises is logged."""
        _check_callable("add_done_callback", callback)

        def run(future: Future[T]) -> None:
            try:
                callback(future)
            except Exception:
                import logging

                logging.getLogger("tensorbus").exception(
                    "Got the following error when running the callback"
                )

        self._call(run)

    def _call(self, callback: Callable[[Future[T]], None]) -> None:
        with self._lock:
            if not self._completed.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def _complete(self, value: T | None, error: Exception | None) -> None:
        with self._lock:
            if self._completed.is_set():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error = value, error
            self._completed.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


def _check_callable(method: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"{method}() takes a function, not {type(callback).__name__}")


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the same futures, which is completed when all of them are.

    It ends with the error of the first that did, if any.

    >>> from tensorbus.futures import Future, collect_all
    >>> one, two = Future(), Future()
    >>> both = collect_all([one, two])
    >>> one.set_result(1)
    >>> both.done()
    False
    >>> two.set_result(2)
    >>> [future.value() for future in both.wait()]
    [1, 2]
    """
    collected: Future[list[Future[Any]]] = Future()
    lock, left = threading.Lock(), len(futures)
    errors: list[Exception] = []

    def count(future: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
            if future._error is not None:
                errors.append(future._error)
        if last and errors:
            collected.set_exception(errors[0])
        elif last:
            collected.set_result(list(futures))

    for future in futures:
        future._call(count)
    if not futures:
        collected.set_result([])
    return collected


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for all; their values, or raise the first error.

    >>> from tensorbus.futures import Future, wait_all
    >>> one, two = Future(), Future()
    >>> one.set_result(1), two.set_result(2)
    (None, None)
    >>> wait_all([one, two])
    [1, 2]
    """
    return [future.wait() for future in collect_all(futures).wait()]
