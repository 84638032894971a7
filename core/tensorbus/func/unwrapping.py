"""What PyTorch's transforms need for tracing, and what it means where nothing is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base.errors import type_error
from tensorbus._base.modes import RARE, this_thread
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.history import requires_grad


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that computes what *func* does, for programs that trace it.

    PyTorch replaces writes, and with *remove* ``"mutations_and_views"`` views, by other
    operations, which shows in what it traces. Here transforms take writes and views as they are,
    and nothing is traced: *func* runs as it is written. RuntimeError for another *remove*.

    >>> import tensorbus as torch
    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(2))
    tensor([1., 1.])

    Source: https://pytorch.org/docs/stable/generated/torch.func.functionalize.html
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
            "removed from the program, and replaced with their out-of-place equivalents.\n     "
            "remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return call


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """A tensor without what transforms have made of it, to look at its values inside of one.

    Its history and tangents are gone, so this is not for computing. A tensor that no transform
    has anything to do with is returned as it is.

    >>> import tensorbus as torch
    >>> seen = []
    >>> def f(x):
    ...     seen.append(torch.func.debug_unwrap(x).requires_grad)
    ...     return x.sum()
    >>> torch.func.grad(f)(torch.ones(2))
    tensor([1., 1.])
    >>> seen
    [False]

    Source: https://pytorch.org/docs/stable/generated/torch.func.debug_unwrap.html
    """
    if not isinstance(tensor, Tensor):
        raise type_error("debug_unwrap", "tensor", 1, "Tensor", tensor)
    if requires_grad(tensor) or (RARE.on and this_thread.handlers):
        return tensor.detach()
    return tensor
