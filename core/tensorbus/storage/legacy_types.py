"""``FloatStorage``, ``cuda.FloatStorage`` and the like: storage classes by dtype and device."""

from __future__ import annotations

import copyreg
import functools
from typing import Any

from tensorbus._base import dtypes
from tensorbus.storage.typed import TypedStorage, legacy_name


class storagetype(type):
    """The type of ``FloatStorage`` and the like: a storage is an instance if it has their dtype."""

    dtype: dtypes.dtype
    device_type: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) > 1:
            raise RuntimeError(
                f"{cls.__name__}() takes one argument, a size or a list of elements, but "
                f"{len(args)} were given"
            )
        return TypedStorage(*args, **{"device": cls.device_type, **kwargs, "dtype": cls.dtype})

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, TypedStorage)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device_type
        )


@functools.cache
def storage_class(dtype: dtypes.dtype, device_type: str) -> storagetype:
    """The class of the storages of a dtype on a type of device."""
    home = "torch" if device_type == "cpu" else f"torch.{device_type}"
    space = {"__module__": home, "__slots__": ()}
    made = storagetype(legacy_name(dtype), (TypedStorage,), space)
    made.dtype, made.device_type = dtype, device_type
    made.__doc__ = f"A storage of {dtype.name}: of so many elements, or of those in a list."
    return made


def storage_class_in(device_type: str, name: str) -> storagetype | None:
    """The class of that name in the namespace of a device type; None where there is none."""
    found = next((d for d in dtypes.ALL if legacy_name(d) == name), None)
    return None if found is None else storage_class(found, device_type)


LEGACY: dict[str, storagetype] = {legacy_name(d): storage_class(d, "cpu") for d in dtypes.ALL}
"""``FloatStorage`` and the like, by name."""

copyreg.pickle(storagetype, lambda cls: (storage_class, (cls.dtype, cls.device_type)))
