"""Storages: the memory that tensors are views of."""

from typing import Any

from tensorbus._base.public_place import show_in
from tensorbus.storage.legacy_types import LEGACY, storage_class_in
from tensorbus.storage.resizing import resize_
from tensorbus.storage.typed import TypedStorage, warn_typed
from tensorbus.storage.untyped import UntypedStorage, storage_of
from tensorbus.storage.views import tensor_from_storage

BFloat16Storage = LEGACY["BFloat16Storage"]
BoolStorage = LEGACY["BoolStorage"]
ByteStorage = LEGACY["ByteStorage"]
CharStorage = LEGACY["CharStorage"]
ComplexDoubleStorage = LEGACY["ComplexDoubleStorage"]
ComplexFloatStorage = LEGACY["ComplexFloatStorage"]
DoubleStorage = LEGACY["DoubleStorage"]
FloatStorage = LEGACY["FloatStorage"]
HalfStorage = LEGACY["HalfStorage"]
IntStorage = LEGACY["IntStorage"]
LongStorage = LEGACY["LongStorage"]
ShortStorage = LEGACY["ShortStorage"]
Storage = FloatStorage  # that of the default dtype
_StorageBase = UntypedStorage
show_in(__name__, [(c.__name__, c) for c in (UntypedStorage, TypedStorage)])


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage, with a dtype or without."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


__all__ = [
    "LEGACY",
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "ShortStorage",
    "TypedStorage",
    "UntypedStorage",
    "is_storage",
    "resize_",
    "storage_class_in",
    "storage_of",
    "tensor_from_storage",
    "warn_typed",
]
