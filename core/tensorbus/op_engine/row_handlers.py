"""Handlers of rows: what a thread's modes do with each op before it runs, or instead.

A handler is ``handler(row, arguments, proceed)``; it returns the op's result. ``proceed(row,
arguments)`` goes on to the handler around it, and in the end to the op itself. While a handler
runs, it is not among its thread's handlers, and while the op itself runs, none is: so each call
is seen once, the parts of a composition and the conversions of its operands are not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

from tensorbus._base.leaving import Leaving, block
from tensorbus._base.modes import RARE, switch, this_thread
from tensorbus._tensor.tensor import dispatches
from tensorbus.rows.registry import Row

Proceed = Callable[[Row, tuple[Any, ...]], Any]
Handler = Callable[[Row, tuple[Any, ...], Proceed], Any]

CONVERSION = Row(
    "to",
    "x:T, kind, format",
    "general",
    "A copy of *x* with the dtype and on the device of *kind*, in a memory format.",
)
WRITE = Row("copy_", "x:T, y:T", "general", "The values of *y* written into *x*.", writes=True)
DRAW = Row("draw", "x:T, name", "general", "Random numbers written into *x*.", writes=True)
TURN = Row("become", "x:T, y:T", "general", "*x* made the view *y* of itself.", writes=True)
DETACHMENT = Row("detach", "x:T", "view", "The storage of *x* without its history.")
"""What is no row of a table and yet is done to tensors: handlers see it as calls of these."""


@block
def handling(handler: Handler) -> Generator[None, None, None]:
    """A block in which this thread's calls of rows go to *handler* first."""
    before = sum(h is handler for h in this_thread.handlers)
    try:
        add(handler)
        yield
    finally:
        try:
            remove(handler, before)
        except BaseException:
            remove(handler, before)
            raise


def add(handler: Handler) -> None:
    """Let this thread's calls of rows go to *handler* first, until it is removed."""
    switch("handlers", (*this_thread.handlers, handler))


def remove(handler: Handler, keep: int = 0) -> None:
    """Leave *handler* out wherever it is, but for the outermost *keep* times.

    What was put in after it stays: blocks and profiles may end in any order.
    """
    kept: list[Handler] = []
    for h in this_thread.handlers:
        if h is not handler or keep > 0:
            keep -= h is handler
            kept.append(h)
    switch("handlers", tuple(kept))


class HandlesRows(Leaving):
    """A context in which this thread's calls of rows go to its method ``_handle`` first."""

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        handler: Handler = self._handle
        try:
            add(handler)
            yield self
        finally:
            self.close = outer
            try:
                remove(handler)
            except BaseException:
                remove(handler)
                raise

    def _handle(self, row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
        raise NotImplementedError


def seen(*operands: Any) -> bool:
    """Whether this thread's handlers, or classes of the operands, see what is done to these."""
    if this_thread.handlers:
        return True
    return RARE.classes is not None and any(dispatches(type(t)) for t in operands)


def handled(row: Row, arguments: tuple[Any, ...], run: Proceed) -> Any:
    """A call given to this thread's handlers; *run* is the op itself."""
    return _proceed(this_thread.handlers, run, row, arguments)


def _proceed(
    handlers: tuple[Handler, ...], run: Proceed, row: Row, arguments: tuple[Any, ...]
) -> Any:
    before = this_thread.handlers
    outer = handlers[:-1]
    try:
        switch("handlers", outer)
        if handlers:
            return handlers[-1](row, arguments, functools.partial(_proceed, outer, run))
        if RARE.classes:
            return RARE.classes(row, arguments, run)
        return run(row, arguments)
    finally:
        try:
            switch("handlers", before)
        except BaseException:
            switch("handlers", before)
            raise
