"""The default device of each thread, and how ``with device(...)`` sets it and sets it back."""

from __future__ import annotations

import functools
import io
import operator
import threading
from collections.abc import Callable, Generator
from typing import Any


def _nothing() -> None:
    """What there is to leave before any device was entered."""


class _Entered(threading.local):
    device: Any = None
    leave: Callable[[], None] = staticmethod(_nothing)


local = _Entered()


def enter(device: Any) -> Any:
    """Make a device the default one until it is left; the device."""
    steps = _within(device, local.leave)
    try:
        next(steps)
        local.leave = steps.close
    except BaseException:
        steps.close()
        raise
    return device


def _within(device: Any, outer: Callable[[], None]) -> Generator[None, None, None]:
    before = local.device
    try:
        local.device = device
        yield
    finally:
        local.leave = outer
        local.device = before


class _Exit(io.IOBase):
    """Its ``__exit__`` leaves what this thread has entered last, in compiled code throughout.

    As in ``Leaving``, but one object serves all: devices are shared by blocks and by threads.
    """

    closed = True  # there is nothing to do when the object is freed
    close = functools.partial(operator.methodcaller("leave"), local)


leave: Callable[..., None] = _Exit().__exit__
