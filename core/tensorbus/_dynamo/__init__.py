"""What libraries ask of PyTorch's compiler of bytecode: there is none, and each name says so.

>>> import tensorbus
>>> isinstance(tensorbus.nn.ReLU(), tensorbus._dynamo.OptimizedModule)
False
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorbus._base.absent import attributes as _attributes
from tensorbus.compiler import allow_in_graph, disable, is_compiling, list_backends, reset
from tensorbus.nn import Module

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "config",
    "disable",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
]


class OptimizedModule(Module):
    """The class of compiled modules, of which there are none: for ``isinstance``."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("no module is compiled here: torch.compile gives the module")


class TensorifyScalarRestartAnalysis(RuntimeError):
    """What PyTorch's compiler raises to start again; never raised here."""


class TransformGetItemToIndex(contextlib.nullcontext[None]):
    """A block in which tensors may be indices in ``vmap``, as they may anywhere here."""


class _Config:
    """Settings that are kept and have no effect."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    @contextlib.contextmanager
    def patch(self, *args: Any, **changes: Any) -> Iterator[None]:
        """A block in which settings are others."""
        yield


config = _Config()


def graph_break(msg: str = "") -> None:
    """Nothing happens: there is no graph to end."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Nothing happens: sizes are never compiled in."""


maybe_mark_dynamic = mark_static = mark_static_address = mark_dynamic


def assume_constant_result(fn: Any) -> Any:
    """*fn* itself."""
    return fn


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled: False."""
    return False


def is_compile_supported(device_type: str) -> bool:
    """Whether functions can be compiled for a device: False."""
    return False


def is_fake(x: Any) -> bool:
    """Whether a tensor stands for another while a program is compiled: False."""
    return False


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that gives back what it gets."""
    return lambda model: model


if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
