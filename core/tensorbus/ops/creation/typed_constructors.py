"""``FloatTensor``, ``cuda.LongTensor``, ``sparse.DoubleTensor``: types by dtype, device and layout.

They construct tensors, and a tensor is an instance of the one that has its dtype and device. Each
device type has them, in the namespace of its name.
"""

from __future__ import annotations

import copyreg
import functools
from types import ModuleType
from typing import Any

from tensorbus import discovery
from tensorbus._base import dtypes, registered
from tensorbus._base.formats import layout, sparse_coo, strided
from tensorbus._base.warning import warn_user
from tensorbus._device import defaults
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.options import checked_device
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.legacy import construct
from tensorbus.storage import storage_class_in


class tensortype(type):
    """The type of the typed constructors: a tensor is an instance if it has their dtype."""

    dtype: dtypes.dtype
    device_type: str
    layout: layout

    @property
    def is_sparse(cls) -> bool:
        """Whether it stands for sparse tensors."""
        return cls.layout is sparse_coo

    @property
    def is_cuda(cls) -> bool:
        """Whether it stands for tensors on devices of type ``cuda``."""
        return cls.device_type == "cuda"

    def __call__(cls, *args: Any, device: Any = None, **named: Any) -> Tensor:
        name = cls.__name__
        if cls.is_sparse:
            return registered.construct_sparse(cls.dtype, device or cls.device_type, args, named)
        where = checked_device(name, device)
        if where is not None and where.type != cls.device_type:
            raise RuntimeError(
                f"legacy constructor expects device type: {cls.device_type} but device type: "
                f"{where.type} was passed"
            )
        if where is None:
            where = cls.available().device
        return construct(kind_of(where, cls.dtype), args, named, f"{name}()")

    def available(cls) -> Kind:
        """The kind of its tensors; TypeError where the device can't be used here."""
        try:
            return cls.kind()
        except RuntimeError as error:
            raise TypeError(f"type {cls.full_name} not available: {error}") from error

    def kind(cls) -> Kind:
        """The dtype and device of its tensors."""
        return kind_of(Device(cls.device_type), cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance._k.dtype is cls.dtype
            and instance._k.device.type == cls.device_type
            and instance.layout is cls.layout
        )

    @property
    def full_name(cls) -> str:
        """What it is called with its namespace: ``torch.cuda.FloatTensor``."""
        return f"{cls.__module__}.{cls.__name__}"


@functools.cache
def typed_constructor(dtype: dtypes.dtype, device_type: str, sparse: bool) -> tensortype:
    """The type of the tensors of a dtype on a type of device."""
    where = [] if device_type == "cpu" else [device_type]
    doc = (
        f"``sparse.{dtype.legacy}(indices, values, size)``: a sparse {dtype.name} tensor, as by "
        "``sparse_coo_tensor``."
    )
    if not sparse:
        doc = (
            f"``{dtype.legacy}(2, 3)``: an uninitialised {dtype.name} tensor; "
            f"``{dtype.legacy}([1, 2])``: one of these values."
        )
    home = ".".join(["torch", *where, *["sparse"] * sparse])
    made = tensortype(dtype.legacy, (), {"__module__": home, "__doc__": doc})
    made.dtype, made.device_type, made.layout = (
        dtype,
        device_type,
        sparse_coo if sparse else strided,
    )
    return made


copyreg.pickle(
    tensortype, lambda cls: (typed_constructor, (cls.dtype, cls.device_type, cls.is_sparse))
)


def constructor_in(device_type: str, sparse: bool, name: str) -> tensortype | None:
    """The type of that name in the namespace of a device type; None where there is none."""
    found = next((d for d in dtypes.ALL if d.legacy == name), None)
    return None if found is None else typed_constructor(found, device_type, sparse)


def constructor_of(text: str) -> tensortype | None:
    """The type that a text names, as ``torch.cuda.FloatTensor``; None where it names none."""
    home, *between, name = text.split(".") if "." in text else ("", text)
    sparse = between[-1:] == ["sparse"]
    where = between[: len(between) - sparse] or ["cpu"]
    if home != "torch" or len(where) > 1 or where[0] not in discovery.backend_names():
        return None
    return constructor_in(where[0], sparse, name)


class DeviceNamespace(ModuleType):
    """``torch.opencl`` and the like: the types of tensors and storages there."""

    def __init__(self, device_type: str, sparse: bool = False):
        super().__init__(f"tensorbus.{device_type}{'.sparse' * sparse}")
        self.__doc__ = f"The types of tensors on devices of type ``{device_type}``."
        self._device_type, self._sparse = device_type, sparse

    def __getattr__(self, name: str) -> Any:
        if name == "sparse" and not self._sparse:
            return DeviceNamespace(self._device_type, True)
        found: Any = constructor_in(self._device_type, self._sparse, name)
        if found is None and not self._sparse:
            found = storage_class_in(self._device_type, name)
        if found is None:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self
            )
        return found

    def __dir__(self) -> list[str]:
        inner = [] if self._sparse else ["sparse"]
        return sorted([*super().__dir__(), *(d.legacy for d in dtypes.ALL), *inner])

    def __reduce__(self) -> Any:
        return DeviceNamespace, (self._device_type, self._sparse)


def device_namespace(name: str) -> DeviceNamespace | None:
    """The namespace of a device type that is installed here, usable or not; None for others."""
    return DeviceNamespace(name) if name in discovery.backend_names() else None


for _dtype in dtypes.ALL:
    FUNCTIONS[_dtype.legacy] = typed_constructor(_dtype, "cpu", False)


@public(method=False)
def set_default_tensor_type(t: Any) -> None:
    """Set dtype and device of new tensors by a typed constructor or its name; deprecated.

    TypeError for a dtype that is not floating point, and for a device that can't be used here.
    """
    warn_user(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    found = constructor_of(t) if isinstance(t, str) else t
    if not isinstance(found, tensortype):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    if found.is_sparse:
        raise TypeError("only dense types are supported as the default type")
    found.available()
    dtypes.set_default_dtype(found.dtype)
    defaults.set_default_device(found.device_type)
