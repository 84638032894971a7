"""Tensors with another dtype or on another device."""

from __future__ import annotations

from builtins import type as class_of
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.public import METHODS, public


@public(function=False)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor with another dtype or on another device; itself where nothing changes.

    ``to(dtype)``, ``to(device, dtype=None)``, ``to(other)``; ``copy=True`` always copies.
    """
    d, where = kwargs.get("dtype"), kwargs.get("device")
    for argument in args:
        if isinstance(argument, Dtype):
            d = argument
        elif isinstance(argument, Tensor):
            d, where = argument._k.dtype, argument._k.device
        elif isinstance(argument, (str, Device)):
            where = argument
        elif isinstance(argument, int) and not isinstance(argument, bool):
            where = Device(self._k.device.type, argument)
        elif argument is not None and not isinstance(argument, bool):
            raise TypeError(
                f"to() takes a dtype, a device or a tensor, not {class_of(argument).__name__}"
            )
    k = kind_of(
        self._k.device if where is None else Device(where), self._k.dtype if d is None else d
    )
    return to_kind(self, k, copy=bool(kwargs.get("copy", False)))


def _as(d: Dtype) -> Any:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return to_kind(self, self._k.of(d))

    convert.__doc__ = f"The tensor as {d.name}."
    return convert


for _name, _dtype in dict(
    float=dtypes.float32, double=dtypes.float64, half=dtypes.float16, bfloat16=dtypes.bfloat16,
    int=dtypes.int32, long=dtypes.int64, short=dtypes.int16, char=dtypes.int8, byte=dtypes.uint8,
    bool=dtypes.bool, cfloat=dtypes.complex64, cdouble=dtypes.complex128,
).items():  # fmt: skip
    METHODS[_name] = _as(_dtype)


@public(function=False)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    return to_kind(self, kind_of(Device("cpu"), self._k.dtype))


@public(function=False)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on the current, or the given, device of type ``cuda``."""
    if isinstance(device, int):
        device = Device("cuda", device)
    return to_kind(self, kind_of(Device(device or "cuda"), self._k.dtype))


@public(function=False)
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy name of the type, or the tensor converted to a dtype or a type named so."""
    if dtype is None:
        where = self._k.device.type
        return f"torch.{'' if where == 'cpu' else where + '.'}{self._k.dtype.legacy}"
    if isinstance(dtype, str):
        given, wanted = dtype, dtype.rsplit(".", 1)[-1]
        dtype = next((d for d in dtypes.ALL if d.legacy == wanted), None)
        if dtype is None:
            raise ValueError(f"invalid type: '{given}'")
    elif not isinstance(dtype, Dtype):
        from tensorbus.ops.creation.legacy import tensortype

        if not isinstance(dtype, tensortype):
            raise TypeError(f"dtype must be a type, str, or dtype object, not {dtype!r}")
        return to_kind(self, kind_of(Device(dtype.device_type), dtype.dtype))
    return to_kind(self, self._k.of(dtype))


@public(function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with another's dtype and device."""
    return to_kind(self, other._k)
