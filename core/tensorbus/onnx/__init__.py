"""``torch.onnx``: what libraries ask of it; nothing is exported yet.

>>> import tensorbus
>>> tensorbus.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus._base.absent import attributes as _attributes

__all__ = ["OnnxExporterError", "export", "is_in_onnx_export", "register_custom_op_symbolic"]


class OnnxExporterError(RuntimeError):
    """The base of PyTorch's errors of exporting.

    >>> import tensorbus
    >>> issubclass(tensorbus.onnx.OnnxExporterError, RuntimeError)
    True
    """


def is_in_onnx_export() -> bool:
    """Whether the caller is being exported: False.

    >>> import tensorbus
    >>> tensorbus.onnx.is_in_onnx_export()
    False
    """
    return False


def export(model: Any, args: Any = (), f: Any = None, **kwargs: Any) -> Any:
    """Raise NotImplementedError: models are not exported yet.

    >>> import tensorbus
    >>> tensorbus.onnx.export(tensorbus.nn.Identity())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: torch.onnx.export is not supported yet: ...
    """
    raise NotImplementedError(
        "torch.onnx.export is not supported yet: load the model's state_dict into the same model "
        "of PyTorch, and export it there"
    )


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Nothing happens: how an op would be exported is not asked."""


def parse_args(*descriptors: str) -> Callable[[Any], Any]:
    """A decorator that gives back the function, which would export an op."""
    return lambda function: function


if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
