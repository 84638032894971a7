"""Moving and converting modules: ``to``, ``float``, ``cuda`` and what they rest on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import tensorbus
from tensorbus._base.conversion import CONVERSION
from tensorbus._tensor.tensor import Tensor
from tensorbus.ops.tensor.conversion import parse_to

if TYPE_CHECKING:
    from tensorbus.nn.modules.module import Module


class ModuleConversion:
    """The part of ``Module`` that changes the device or dtype of its tensors."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    if TYPE_CHECKING:  # or get_type_hints of any module would fail
        _modules: dict[str, Module | None]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Put ``fn(t)`` instead of each parameter, gradient and buffer.

        Parameters stay the same objects, so that an optimizer that holds them goes on working.
        """
        if recurse:
            for module in self._modules.values():
                if module is not None:
                    module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with tensorbus.no_grad():
                grad, applied = param.grad, fn(param)
                new_grad = None if grad is None else fn(grad)
            if new_grad is not None and new_grad is not grad:
                # A gradient has its parameter's dtype and device: it is set after the data.
                param.grad = None
            if CONVERSION.overwrite:
                param = self._parameters[name] = type(param)(applied, param.requires_grad)
                param.grad = grad if new_grad is None else new_grad
            elif applied is not param:
                param.data = applied
            if new_grad is not None and new_grad is not grad:
                param.grad = new_grad.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or convert all parameters and buffers, in place, and return the module.

        Called as ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)`` or with these
        names as keywords. A dtype must be floating point or complex and applies to floating point
        and complex tensors only.

        Example:
            >>> nn.Linear(2, 2).to(tensorbus.float64).weight.dtype
            torch.float64
        """
        wanted = parse_to("to", args, kwargs)
        dtype = wanted["dtype"]
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex "
                f"dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Tensor) -> Tensor:
            target = dtype if t.is_floating_point() or t.is_complex() else None
            format = wanted["memory_format"]
            if format is not None and t.dim() not in (4, 5):
                format = None
            try:
                return t.to(wanted["device"], target, wanted["non_blocking"], memory_format=format)
            except NotImplementedError as error:
                if not t.is_meta:
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def _floating_to(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Convert all floating point parameters and buffers to float32."""
        return self._floating_to(tensorbus.float32)

    def double(self) -> Self:
        """Convert all floating point parameters and buffers to float64."""
        return self._floating_to(tensorbus.float64)

    def half(self) -> Self:
        """Convert all floating point parameters and buffers to float16."""
        return self._floating_to(tensorbus.float16)

    def bfloat16(self) -> Self:
        """Convert all floating point parameters and buffers to bfloat16."""
        return self._floating_to(tensorbus.bfloat16)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to *dst_type*, a dtype or a tensor type's name."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to the CUDA device, the current one by default."""
        return self._apply(lambda t: t.cuda(device))

    def share_memory(self) -> Self:
        """Move all parameters and buffers into memory that other processes use too.

        RuntimeError where they are not in host memory, as ``Tensor.share_memory_``.

        >>> from tensorbus import nn
        >>> nn.Linear(2, 2).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda t: t.share_memory_())

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to *device* without copying the values: all of them are undefined afterwards."""
        return self._apply(lambda t: tensorbus.empty_like(t, device=device), recurse=recurse)
