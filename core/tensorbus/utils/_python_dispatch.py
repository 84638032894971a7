"""Modes and classes that see each op below autograd, by ``__torch_dispatch__``.

>>> import tensorbus as torch
>>> from tensorbus.utils._python_dispatch import TorchDispatchMode
>>> class Count(TorchDispatchMode):
...     calls = 0
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         self.calls += 1
...         return func(*args, **(kwargs or {}))
>>> with Count() as count:
...     y = torch.ones(3).exp().sum()
>>> count.calls
2
"""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.torch_dispatch import TorchDispatchMode


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor's class says how it is taken apart and put together.

    Such a class has ``__tensor_flatten__`` and ``__tensor_unflatten__``.
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """``is_traceable_wrapper_subclass`` of the class itself."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


__all__ = [
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
]
