"""Whether operations record, for each thread."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator
from typing import Any, Self, TypeVar

from tensorbus._base.errors import type_error
from tensorbus._base.leaving import Decorator, Leaving
from tensorbus._base.modes import in_inference, switch, this_thread

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class _Thread(threading.local):
    on = True
    entered: Any = None
    """The mode entered last, which holds those around it: one that is entered and not left stays on
    though nobody holds it."""


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


def switch_grad(on: bool) -> bool:
    """Switch recording of this thread; whether it was on.

    An interrupt leaves all of it undone or all done, so whoever switches back tries twice.
    """
    before = THREAD.on
    if before != on:
        with _lock:  # no call inside: an interrupt comes before all of it or after
            THREAD.on = on
            GRAD.off_count += -1 if on else 1
            GRAD.on = GRAD.off_count == 0
    return before


def run_switched(on: bool, function: Callable[..., T], *args: Any) -> T:
    """What *function* gives while recording of this thread is on, or off: quicker than a block."""
    before = THREAD.on
    try:
        switch_grad(on)
        return function(*args)
    finally:
        try:
            switch_grad(before)
        except BaseException:
            switch_grad(before)
            raise


_DecoratorContextManager = Decorator  # the name under which programs derive from it


class _Mode(Decorator):
    mode = True
    _before: bool | None = None
    """What the end of the block puts back; None: what is on when it begins."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Self:
        self: Any = Leaving.__new__(cls)
        return self if function is None else self(function)

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        around = THREAD.entered
        before = THREAD.on if self._before is None else self._before
        try:
            THREAD.entered = self
            switch_grad(self.mode)
            yield
        finally:
            self.close = outer
            try:
                THREAD.entered = around
                switch_grad(before)
            except BaseException:
                switch_grad(before)
                raise


def _entered(mode: bool) -> _Mode:
    return (enable_grad if mode else no_grad)()


class no_grad(_Mode):
    """Operations inside do not record: a context manager and a decorator.

    >>> import tensorbus
    >>> x = tensorbus.ones(2, requires_grad=True)
    >>> with tensorbus.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    mode = False


class enable_grad(_Mode):
    """Operations inside record, also within ``no_grad``: a context manager and a decorator."""


class set_grad_enabled(_Mode):
    """Switch recording at once; as a context manager, back again at the end."""

    _before: bool

    def __new__(cls, mode: bool) -> Self:
        if not isinstance(mode, bool):
            raise type_error("set_grad_enabled", "enabled", 1, "bool", mode)
        self = Leaving.__new__(cls)
        self.mode = mode
        self._before = THREAD.on
        try:
            switch_grad(mode)
        except BaseException:  # an interrupt: there is no block that would switch it back
            switch_grad(self._before)
            raise
        return self

    def _again(self) -> Any:
        return functools.partial(_entered, self.mode)

    def __call__(self, function: F) -> F:
        switch_grad(self._before)
        return super().__call__(function)


class inference_mode(_Mode):
    """As ``no_grad``, and tensors made inside are inference tensors: they never enter a graph.

    ``inference_mode(mode=True)``; a context manager and a decorator. ``mode=False`` switches it off
    inside, where operations record. Outside, inference tensors may be read, but not written to, nor
    saved for a backward pass: ``clone`` makes normal ones.

    >>> import tensorbus
    >>> with tensorbus.inference_mode():
    ...     y = tensorbus.ones(2) * 2
    >>> y.is_inference(), y.clone().is_inference()
    (True, False)
    """

    enabled: bool

    def __new__(cls, mode: Any = True) -> Self:
        self = _Mode.__new__(cls)
        self.enabled = callable(mode) or bool(mode)
        made: Any = self(mode) if callable(mode) else self
        return made

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        grad, inference = THREAD.on, this_thread.inference
        try:
            switch_grad(not self.enabled)
            switch("inference", self.enabled)
            yield
        finally:
            self.close = outer
            try:
                try:
                    switch_grad(grad)
                except BaseException:
                    switch_grad(grad)
                    raise
            finally:
                try:
                    switch("inference", inference)
                except BaseException:
                    switch("inference", inference)
                    raise

    def _again(self) -> Any:
        return functools.partial(type(self), self.enabled)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return in_inference()


class _WithoutEffect(Decorator):
    """A mode that is accepted and changes nothing: its argument is checked, no more."""

    _argument: str
    mode: bool

    def __new__(cls, mode: bool) -> Self:
        if not isinstance(mode, bool):
            raise type_error(cls.__name__, cls._argument, 1, "bool", mode)
        self = Leaving.__new__(cls)
        self.mode = mode
        return self

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        try:
            yield
        finally:
            self.close = outer

    def _again(self) -> Any:
        return functools.partial(type(self), self.mode)


class set_multithreading_enabled(_WithoutEffect):
    """Whether backward passes may use threads of their own: they never do, so nothing changes.

    Each runs in the thread that asks for it, and several threads may walk graphs at once. A
    function, a context manager and a decorator.

    >>> import tensorbus
    >>> with tensorbus.autograd.set_multithreading_enabled(False):
    ...     tensorbus.ones(1, requires_grad=True).exp().backward()

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_multithreading_enabled.html
    """

    _argument = "enabled"

    def __new__(cls, mode: bool) -> Self:
        return super().__new__(cls, mode)


class enforce_grad_layout_policy(_WithoutEffect):
    """Whether gradients of leaves get the leaves' strides: what was asked for is kept, no more.

    Accumulated gradients have the strides that PyTorch's have by default. A function, a context
    manager and a decorator.

    >>> import tensorbus
    >>> x = tensorbus.ones(3, 2).t().requires_grad_()
    >>> with tensorbus.autograd.enforce_grad_layout_policy(False):
    ...     (x * 2).sum().backward()

    Source: https://pytorch.org/docs/stable/autograd.html
    """

    _argument = "enable"

    def __new__(cls, enable: bool = True) -> Self:
        return super().__new__(cls, enable)
