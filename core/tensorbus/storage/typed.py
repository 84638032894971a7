"""The elements behind tensors: storages with a dtype, and their legacy constructors."""

from __future__ import annotations

import copyreg
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.storage.untyped import (
    UntypedStorage,
    check_values,
    index_of,
    shown,
    storage_of,
    tensor_from_storage,
)


class TypedStorage:
    """The elements behind a tensor and all its views: ``x.storage()``.

    ``FloatStorage([1, 2])`` and ``TypedStorage([1, 2], dtype=...)`` are new ones. An index gives a
    Python number; slices can only be written to.

    >>> import tensorbus
    >>> s = tensorbus.FloatStorage([1, 2, 3])
    >>> s[1:] = 5
    >>> s[0], s.tolist()
    (1.0, [1.0, 5.0, 5.0])
    """

    __slots__ = ("_untyped", "dtype")
    is_sparse = False

    def __init__(
        self, size: Any = 0, *, dtype: Any = None, device: Any = "cpu", wrap_storage: Any = None
    ):
        self.dtype = dtypes.checked(dtype or dtypes.get_default_dtype(), "TypedStorage")
        if wrap_storage is None:
            kind = kind_of(Device(device), self.dtype)
            if isinstance(size, (list, tuple)):
                array = _placed(size, kind)
            else:
                array = kind.empty((operator.index(size),))
            nbytes = self.dtype.itemsize * int(array.shape[0])
            wrap_storage = UntypedStorage.over(array, kind, 0, nbytes)
        self._untyped: UntypedStorage = wrap_storage

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped

    def _tensor(self) -> Tensor:
        return tensor_from_storage(self._untyped, self.dtype, 0, (len(self),), (1,))

    @property
    def device(self) -> Device:
        """Where the elements are."""
        return self._untyped.device

    @property
    def is_cuda(self) -> bool:
        """Whether they are on a device of type ``cuda``."""
        return self._untyped.is_cuda

    def size(self) -> int:
        """The number of elements."""
        return self._untyped.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        check_values(self)
        return self._tensor().tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        check_values(self)
        return self._tensor()[index_of(self._checked(index), len(self))].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._tensor()[index if isinstance(index, slice) else self._checked(index)] = value

    def _checked(self, index: Any) -> int:
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return int(index)

    def fill_(self, value: Any) -> TypedStorage:
        """Write one number everywhere."""
        self._tensor().fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Overwrite with the elements of another storage, converted."""
        self._tensor().copy_(source._tensor())
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Refused unless nothing changes: the memory is as large as it was made."""
        self._untyped.resize_(operator.index(size) * self.dtype.itemsize)
        return self

    def clone(self) -> TypedStorage:
        """A copy of the elements."""
        return TypedStorage(dtype=self.dtype, wrap_storage=self._untyped.clone())

    def cpu(self) -> TypedStorage:
        """The storage itself if it is on the CPU, else a copy that is."""
        here = self.device.type == "cpu"
        return self if here else TypedStorage(dtype=self.dtype, wrap_storage=self._untyped.cpu())

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is in pinned memory, which no storage is."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes can use it, which they never can."""
        return False

    def type(self, dtype: Any = None) -> Any:
        """The name of the legacy class; or a copy with another dtype."""
        if dtype is None:
            home = "torch" if self.device.type == "cpu" else f"torch.{self.device.type}"
            return f"{home}.{_legacy(self.dtype)}"
        return self._as(dtypes.checked(dtype, "type"))

    def _as(self, dtype: dtypes.dtype) -> TypedStorage:
        if dtype is self.dtype:
            return self
        made = self._tensor().to(dtype)
        return TypedStorage(dtype=dtype, wrap_storage=storage_of(made))

    def __repr__(self) -> str:
        return shown(self, f"TypedStorage(dtype={self.dtype}, device={self.device})")

    def __reduce__(self) -> Any:
        return _typed, (self._untyped, self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return memo.setdefault(id(self), self.clone())

    __copy__ = clone


def _placed(values: Any, kind: Kind) -> Any:
    """A new array of a kind with the numbers of a list."""
    host_dtype = dtypes.float32 if kind.dtype is dtypes.bfloat16 else kind.dtype
    source = kind.of(host_dtype)
    host = np.asarray(values).astype(host_dtype.name)
    array = source.from_host(host)
    return array if source is kind else kind.cast(array, source)


def _typed(untyped: UntypedStorage, dtype: dtypes.dtype) -> TypedStorage:
    return TypedStorage(dtype=dtype, wrap_storage=untyped)


def _converter(dtype: dtypes.dtype) -> Any:
    def convert(self: TypedStorage) -> TypedStorage:
        return self._as(dtype)

    convert.__doc__ = f"The elements as {dtype.name}."
    return convert


for _name in "float double half bfloat16 int long short bool".split():
    setattr(TypedStorage, _name, _converter(getattr(dtypes, _name)))
for _name, _dtype in (("byte", dtypes.uint8), ("char", dtypes.int8)):
    setattr(TypedStorage, _name, _converter(_dtype))


class storagetype(type):
    """The type of ``FloatStorage`` and the like: a storage is an instance if it has their dtype."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _legacy(dtype: dtypes.dtype) -> str:
    return dtype.legacy.replace("Tensor", "Storage")


def _legacy_class(dtype: dtypes.dtype) -> storagetype:
    made = storagetype(_legacy(dtype), (), {"__module__": "torch"})
    made.dtype = dtype
    made.__doc__ = f"A storage of {dtype.name}: of so many elements, or of those in a list."
    return made


LEGACY: dict[str, storagetype] = {_legacy(d): _legacy_class(d) for d in dtypes.ALL}
"""``FloatStorage`` and the like, by name."""


def _legacy_named(name: str) -> Any:
    return LEGACY[name]


copyreg.pickle(storagetype, lambda cls: (_legacy_named, (cls.__name__,)))
