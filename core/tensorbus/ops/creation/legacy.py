"""Constructors of the older style: ``Tensor(2, 3)``, ``LongTensor([1, 2])``, ``x.new(3)``."""

from __future__ import annotations

import copyreg
import importlib
from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._base.size import Size
from tensorbus._device import defaults
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_int
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.options import Options, checked_device
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import empty
from tensorbus.ops.creation.from_data import tensor
from tensorbus.storage import TypedStorage, tensor_from_storage


def _construct(kind: Kind, args: tuple[Any, ...], name: str) -> Tensor:
    """A shape given as ints or a Size: uninitialised of it; a sequence: its values."""
    d, where = kind.dtype, kind.device
    if len(args) == 1:
        data = args[0]
        if isinstance(data, Tensor):
            if data._k is not kind:
                raise TypeError(
                    f"{name} expects a tensor of {d} on {where}, but got one of {data._k.dtype} on "
                    f"{data._k.device}. Convert it with .to() first."
                )
            return data.detach()
        if isinstance(data, Size):
            return empty(*data, dtype=d, device=where) if data else empty((), dtype=d, device=where)
        if isinstance(data, TypedStorage):
            n = data.size()
            return tensor_from_storage(data.untyped(), data.dtype, 0, (n,), (1,))
        if as_int(data) is None:
            if not hasattr(data, "__len__") or isinstance(data, (str, bytes)):
                raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
            return tensor(data, dtype=d, device=where)
    return empty(*(args or (0,)), dtype=d, device=where)


@registered.construct_tensor.provide
def legacy_tensor(cls: type, *args: Any, device: Any = None) -> Tensor:
    """``Tensor(2, 3)``: uninitialised of that shape; ``Tensor([1, 2])``: of those values."""
    if len(args) == 1 and isinstance(args[0], Tensor) and cls is not Tensor:
        return args[0].as_subclass(cls)
    kind = Options("Tensor", {"device": device}, ("device",)).kind()
    if len(args) == 1 and isinstance(args[0], Tensor):
        t = args[0].detach()
    else:
        t = _construct(kind, args, "Tensor()")
    return t if cls is Tensor else t.as_subclass(cls)


class tensortype(type):
    """The type of the typed constructors: a tensor is an instance if it has their dtype."""

    dtype: dtypes.dtype
    device_type: str

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        where = checked_device(cls.__name__, device) or Device(cls.device_type)
        return _construct(kind_of(where, cls.dtype), args, f"{cls.__name__}()")

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance._k.dtype is cls.dtype
            and instance._k.device.type == cls.device_type
        )


def _reduce(constructor: tensortype) -> Any:
    return _constructor, (constructor.__name__, constructor.device_type)


def _constructor(name: str, device_type: str) -> Any:
    module = "tensorbus" if device_type == "cpu" else f"tensorbus.{device_type}"
    return getattr(importlib.import_module(module), name)


copyreg.pickle(tensortype, _reduce)


def typed_constructor(dtype: dtypes.dtype, device_type: str = "cpu") -> tensortype:
    """The legacy constructor of a dtype on a type of device."""
    where = "torch" if device_type == "cpu" else f"torch.{device_type}"
    doc = (
        f"``{dtype.legacy}(2, 3)``: an uninitialised {dtype.name} tensor; "
        f"``{dtype.legacy}([1, 2])``: one of these values."
    )
    made = tensortype(dtype.legacy, (), {"__module__": where, "__doc__": doc})
    made.dtype = dtype
    made.device_type = device_type
    return made


for _dtype in dtypes.ALL:
    FUNCTIONS[_dtype.legacy] = typed_constructor(_dtype)


@public(function=False)
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype: uninitialised of a shape given as ints, or of values."""
    where = checked_device("new", device) or self._k.device
    return _construct(kind_of(where, self._k.dtype), args, "new()")


@public(method=False)
def set_default_tensor_type(t: Any) -> None:
    """Set dtype and device of new tensors by a typed constructor or its name.

    TypeError for a dtype that is not floating point.
    """
    if isinstance(t, str):
        t = FUNCTIONS.get(t.removeprefix("torch."), t)
    if not isinstance(t, tensortype):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    dtypes.set_default_dtype(t.dtype)
    defaults.set_default_device(t.device_type)
