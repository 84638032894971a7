"""NumPy's argument names where PyTorch takes them too: ``axis`` and ``keepdims``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def with_numpy_names(f: Callable[..., Any]) -> Callable[..., Any]:
    """The reduction with ``axis`` for ``dim`` and ``keepdims`` for ``keepdim``; others as they are.

    >>> import tensorbus
    >>> tensorbus.ones(2, 3).sum(axis=1)
    tensor([3., 3.])
    """
    code = f.__code__
    if "keepdim" not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return f

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for theirs, ours in (("axis", "dim"), ("keepdims", "keepdim")):
                if theirs in kwargs:
                    kwargs[ours] = kwargs.pop(theirs)
        return f(*args, **kwargs)

    return call
