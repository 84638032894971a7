"""Checks that libraries write so that PyTorch's tracers see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base import registered


def _assert(condition: Any, message: str) -> Any:
    """Raise AssertionError with *message* unless the condition holds; proxies note the check."""
    if hasattr(type(condition), "__torch_function__"):
        answer = registered.duck_answer(_assert, condition, (condition, message))
        if answer is not NotImplemented:
            return answer
    if not condition:
        raise AssertionError(message)
    return None


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
