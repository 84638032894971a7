"""Tensors with another dtype or on another device."""

from __future__ import annotations

from builtins import type as class_of
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import as_dtype
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.formats import check_format, preserve_format
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.casting import to_kind_warned
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.options import check_flag, checked_device, checked_dtype, refuse_pinning
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.typed_constructors import (
    constructor_of,
    tensortype,
    typed_constructor,
)
from tensorbus.rows.layouts import suggested_format


def parse_to(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """What a call of ``to`` asks for: dtype, device, non_blocking, copy and memory_format.

    TypeError for anything but ``(dtype, ...)``, ``(device, dtype, ...)`` and ``(other, ...)``.
    """
    given = list(args)
    names = ["non_blocking", "copy"]
    if "other" in keywords or "tensor" in keywords:
        given.insert(0, keywords.pop("other" if "other" in keywords else "tensor"))
    first = given[0] if given else None
    wanted: dict[str, Any] = dict.fromkeys(("dtype", "device", *names, "memory_format"))
    if isinstance(first, Tensor):
        wanted["dtype"], wanted["device"] = first._k.dtype, first._k.device
        del given[0]
    elif as_dtype(first) is None:
        names = ["device", "dtype", *names]
    else:
        names = ["dtype", *names]
    for argument, value in [*zip(names, given, strict=False), *keywords.items()]:
        if argument not in wanted or wanted[argument] is not None:
            raise _not_taken(name, args, keywords)
        wanted[argument] = value
    if len(given) > len(names):
        raise _not_taken(name, args, keywords)
    wanted["dtype"] = checked_dtype(name, wanted["dtype"])
    wanted["device"] = checked_device(name, wanted["device"])
    for flag in ("non_blocking", "copy"):
        wanted[flag] = check_flag(name, flag, wanted[flag])
    check_format(name, wanted["memory_format"])
    return wanted


def _not_taken(name: str, args: Any, keywords: dict[str, Any]) -> TypeError:
    given = [class_of(a).__name__ for a in args]
    given += [f"{key}={class_of(value).__name__}" for key, value in keywords.items()]
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(given)}), but "
        "expected (dtype, non_blocking, copy), (device, dtype, non_blocking, copy) or (other, "
        "non_blocking, copy), each with memory_format as a keyword"
    )


@public(function=False)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor with another dtype, on another device or in a memory format; itself if it is so.

    ``to(dtype)``, ``to(device, dtype=None)``, ``to(other)``; ``copy=True`` always copies.
    """
    if len(args) == 1 and not kwargs:
        first = args[0]
        if class_of(first) is Dtype:
            return to_kind_warned(self, kind_of(self._k.device, first))
        if first.__class__ is str or class_of(first) is Device:
            return to_kind_warned(self, kind_of(Device(first), self._k.dtype))
    wanted = parse_to("to", args, kwargs)
    d, where = wanted["dtype"], wanted["device"]
    k = kind_of(self._k.device if where is None else where, self._k.dtype if d is None else d)
    return _converted(self, k, wanted["memory_format"], wanted["copy"])


def _converted(x: Tensor, kind: Kind, format: Any, copy: bool = False) -> Tensor:
    """The tensor with another dtype or device, or in a memory format; itself if it is so."""
    if format is not None and format is not preserve_format and not copy:
        strides = tuple(x._k.strides(x._a))
        copy = suggested_format(tuple(x._s), strides) is not format
    return to_kind_warned(x, kind, copy, format)


def _as(d: Dtype) -> Any:
    def convert(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is None:
            return to_kind_warned(self, self._k.of(d))
        check_format(d.name, memory_format)
        return _converted(self, self._k.of(d), memory_format)

    convert.__doc__ = f"The tensor as {d.name}."
    return convert


for _name, _dtype in dict(
    float=dtypes.float32, double=dtypes.float64, half=dtypes.float16, bfloat16=dtypes.bfloat16,
    int=dtypes.int32, long=dtypes.int64, short=dtypes.int16, char=dtypes.int8, byte=dtypes.uint8,
    bool=dtypes.bool, chalf=dtypes.complex32, cfloat=dtypes.complex64, cdouble=dtypes.complex128,
).items():  # fmt: skip
    METHODS[_name] = _as(_dtype)


@public(function=False)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    check_format("cpu", memory_format)
    return _converted(self, kind_of(Device("cpu"), self._k.dtype), memory_format)


@public(function=False)
def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """The tensor on the current, or the given, device of type ``cuda``."""
    check_format("cuda", memory_format)
    if isinstance(device, int):
        device = Device("cuda", device)
    return _converted(self, kind_of(Device(device or "cuda"), self._k.dtype), memory_format)


@public(function=False)
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """The tensor itself, for all tensors are strided; a conversion where *dtype* is another."""
    target = as_dtype(dtype)
    return self if target is None else _converted(self, self._k.of(target), None)


@public()
def dequantize(input: Tensor) -> Tensor:
    """The tensor as float32, which is all that is left to do where none is quantised."""
    return _converted(input, input._k.of(dtypes.float32), None)


@public(function=False)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in memory that a device can read while the program runs on.

    RuntimeError, as no device here has an allocator of such memory.
    """
    raise refuse_pinning()


@public(function=False)
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether it is in pinned memory, which no tensor is."""
    checked_device("is_pinned", device)
    return False


@public(function=False)
def type(
    self: Tensor, dtype: Any = None, non_blocking: bool = False, *, memory_format: Any = None
) -> Any:
    """The legacy name of the type, or the tensor to_kind_warned to a dtype or a type named so."""
    check_format("type", memory_format)
    if dtype is None:
        where = self._k.device.type
        return f"torch.{'' if where == 'cpu' else where + '.'}{self._k.dtype.legacy}"
    if isinstance(dtype, Dtype):
        return _converted(self, self._k.of(dtype), memory_format)
    found = constructor_of(dtype) if isinstance(dtype, str) else dtype
    if dtype is Tensor or dtype == "torch.Tensor":
        found = typed_constructor(dtypes.get_default_dtype(), "cpu", False)
    if not isinstance(found, tensortype):
        if isinstance(dtype, (str, class_of)):
            given = dtype if isinstance(dtype, str) else dtype.__name__
            raise ValueError(f"invalid type: '{given}'")
        raise TypeError(f"dtype must be a type, str, or dtype object, not {dtype!r}")
    target = found.kind()
    here = target.device.type == self._k.device.type
    return _converted(self, self._k.of(found.dtype) if here else target, memory_format)


@public(function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with another's dtype and device."""
    return to_kind_warned(self, other._k)
