"""What kernels raise for values that they meet: at once, or when their device is waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from functools import cache
from typing import Any, NamedTuple

from tensorbus._base.leaving import Leaving

_TEXTS: dict[int, str] = {}


@cache
def index_with_text(text: str) -> int:
    """An index outside of every tensor, whose ``IndexFault`` says *text*.

    So the frontend has other checks of values kept by devices that compute later.
    """
    value = -(1 << 31) + len(_TEXTS)  # of 32 bits: some devices count with those
    _TEXTS[value] = text
    return value


class Wording(NamedTuple):
    """How a function tells an index outside: a text with ``{value}``, and PyTorch's error."""

    text: str
    error: type[Exception] = IndexError


class _Telling(threading.local):
    """The wording of what a thread calls."""

    wording: Wording | None = None


TELLING = _Telling()
"""Devices that compute later keep with a fault the wording under which its kernel was launched."""


class _Block(Leaving):
    """A wording for what is called inside."""

    def __init__(self, wording: Wording):
        self._wording = wording

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        before = TELLING.wording
        try:
            TELLING.wording = self._wording
            yield
        finally:
            self.close = outer
            try:
                TELLING.wording = before
            except BaseException:
                TELLING.wording = before
                raise


def told(wording: Wording, synchronous: bool, call: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call whose indices outside are told by a wording.

    Where a device is not *synchronous*, its kernels meet them later, and keep the wording.

    >>> def fail():
    ...     raise IndexFault(5, 1, 4)
    >>> told(Wording("Target {value} is out of bounds."), True, fail)
    Traceback (most recent call last):
    ...
    IndexError: Target 5 is out of bounds.
    """
    try:
        if synchronous:
            return call(*arguments)
        with _Block(wording):
            return call(*arguments)
    except IndexFault as error:
        if error.wording is not None or error.value in _TEXTS:
            raise
        raise IndexFault(error.value, error.dim, error.n, wording) from None


class IndexFault(IndexError, RuntimeError):
    """An index kernel met *value* where a dimension *dim* of size *n* was indexed.

    Users meet it at once or at the next read, printed as an IndexError. It is a RuntimeError too,
    which PyTorch raises for some of the functions. A *wording* is that of the function.
    """

    def __new__(cls, value: int, dim: int, n: int, wording: Wording | None = None) -> IndexFault:
        other = value in _TEXTS or (wording is not None and wording.error is RuntimeError)
        return super().__new__(_OtherFault if other else cls, value, dim, n)

    def __init__(self, value: int, dim: int, n: int, wording: Wording | None = None):
        text = f"index {value} is out of bounds for dimension {dim} with size {n}"
        if wording is not None:
            text = wording.text.format(value=value, n=n)
        super().__init__(_TEXTS.get(value, text))
        self.value, self.dim, self.n, self.wording = value, dim, n, wording

    def __reduce__(self) -> Any:
        return _index_fault, (self.value, self.dim, self.n, self.wording)


class _OtherFault(IndexFault):
    """One of ``index_with_text``."""


# What tracebacks call them.
IndexFault.__name__ = IndexFault.__qualname__ = "IndexError"
_OtherFault.__name__ = _OtherFault.__qualname__ = "RuntimeError"
IndexFault.__module__ = _OtherFault.__module__ = "builtins"


def _index_fault(value: int, dim: int, n: int, wording: Wording | None = None) -> IndexFault:
    return IndexFault(value, dim, n, wording)
