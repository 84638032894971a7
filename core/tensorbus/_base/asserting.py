"""Checks that libraries write so that PyTorch's tracers see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with *message* unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def _check_with(error: type[Exception], cond: Any, message: Callable[[], Any] | None) -> None:
    if not cond:
        raise error("Expected cond to be True" if message is None else str(message()))


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError with what *message* gives unless the condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise IndexError with what *message* gives unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ValueError with what *message* gives unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise TypeError with what *message* gives unless the condition holds."""
    _check_with(TypeError, cond, message)
