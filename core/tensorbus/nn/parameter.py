"""Parameters and buffers: tensors that a module keeps."""

from typing import TYPE_CHECKING, Any

from tensorbus._base.public_place import show_in as _show_in
from tensorbus.op_engine.parameter import (
    Buffer,
    Parameter,
    UninitializedTensorMixin,
    is_lazy,
)

if TYPE_CHECKING:
    from tensorbus.nn.uninitialized import UninitializedBuffer as UninitializedBuffer
    from tensorbus.nn.uninitialized import UninitializedParameter as UninitializedParameter

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


def __getattr__(name: str) -> Any:
    if name in ("UninitializedBuffer", "UninitializedParameter"):
        from tensorbus.nn import uninitialized

        return globals().setdefault(name, getattr(uninitialized, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_show_in(
    __name__,
    [
        ("Buffer", Buffer),
        ("Parameter", Parameter),
        ("UninitializedTensorMixin", UninitializedTensorMixin),
        ("is_lazy", is_lazy),
    ],
)
