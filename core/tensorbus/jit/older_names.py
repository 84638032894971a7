"""Names of ``torch._jit_internal`` that copies of PyTorch's own files import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, List, Optional, Tuple, TypeVar, Union  # noqa: F401, UP035

T = TypeVar("T")


def weak_module(cls: T) -> T:
    """The class as it is: a decorator of 1.0 and 1.1."""
    return cls


def weak_script_method(fn: T) -> T:
    """The method as it is: a decorator of 1.0 and 1.1."""
    return fn


def _copy_to_script_wrapper(fn: T) -> T:
    return fn


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two, by an argument that is given by name or by place."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        flag = args[arg_index] if arg_index < len(args) else default
        return (if_true if kwargs.get(arg_name, flag) else if_false)(*args, **kwargs)

    fn.__module__, fn.__name__ = module_name, func_name
    return fn
