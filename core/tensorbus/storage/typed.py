"""The elements behind tensors: storages with a dtype, and their legacy constructors."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.warning import warn_once
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.storage.untyped import (
    UntypedStorage,
    check_values,
    index_of,
    shown,
    size_of_storage,
    storage_of,
)
from tensorbus.storage.views import view_of


def warn_typed() -> None:
    """Say once that storages with a dtype are deprecated."""
    warn_once(
        "TypedStorage",
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. Use tensor.untyped_storage() instead of tensor.storage()",
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
        warn_typed()
        self.dtype = dtypes.checked(dtype or dtypes.get_default_dtype(), "TypedStorage")
        if wrap_storage is None:
            kind = kind_of(Device(device), self.dtype)
            if isinstance(size, (list, tuple)):
                array = _placed(size, kind)
            else:
                array = kind.empty((size_of_storage(type(self).__name__, size),))
            nbytes = self.dtype.itemsize * int(array.shape[0])
            wrap_storage = UntypedStorage.over(array, kind, 0, nbytes)
            wrap_storage.alone = True
        self._untyped: UntypedStorage = wrap_storage

    @classmethod
    def over(cls, untyped: UntypedStorage, dtype: dtypes.dtype) -> TypedStorage:
        """The elements of a dtype that lie in a storage."""
        made = object.__new__(TypedStorage)
        made.dtype, made._untyped = dtype, untyped
        return made

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Any = None,
        device: Any = "cpu",
    ) -> TypedStorage:
        """A storage with a copy of *count* elements of a buffer, from byte *offset* on.

        The *byte_order* is ``little``, ``big`` or ``native``, and is given for elements of more
        than one byte. ValueError for others, and where the buffer does not hold whole elements.
        """
        d = _dtype_for(cls, dtype)
        untyped = UntypedStorage.from_buffer(
            buffer, byte_order, count, offset, dtype=d, device=device
        )
        return cls.over(untyped, d)

    @classmethod
    def from_file(
        cls, filename: Any, shared: bool, size: int = 0, *, dtype: Any = None
    ) -> TypedStorage:
        """The first *size* elements of a file: changes go there if *shared*, else nowhere.

        A shared file is made or made larger as needed; RuntimeError for another one too small.
        """
        d = _dtype_for(cls, dtype)
        return cls.over(UntypedStorage.from_file(filename, shared, size * d.itemsize), d)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped

    def _tensor(self) -> Tensor:
        return view_of(self._untyped, self.dtype, 0, (len(self),), (1,))

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
        """Give it room for so many elements; refused where tensors may share the memory."""
        self._untyped.resize_(operator.index(size) * self.dtype.itemsize)
        return self

    def clone(self) -> TypedStorage:
        """A copy of the elements."""
        return self.over(self._untyped.clone(), self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage itself if it is on the CPU, else a copy that is."""
        here = self.device.type == "cpu"
        return self if here else self.over(self._untyped.cpu(), self.dtype)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage itself if it is there, else a copy on a device of type ``cuda``."""
        return self.over(self._untyped.cuda(device, non_blocking), self.dtype)

    def get_device(self) -> int:
        """The index of the device, -1 for the CPU."""
        return self._untyped.get_device()

    @property
    def filename(self) -> str | None:
        """The file that the elements lie in; None where they lie in none."""
        return self._untyped.filename

    def pickle_storage_type(self) -> str:
        """The name of the legacy class: ``FloatStorage``."""
        return legacy_name(self.dtype)

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is in pinned memory, which no storage is."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes can use it: in a file opened so, or after ``share_memory_``."""
        return self._untyped.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the elements into memory that other processes use too; the storage itself."""
        self._untyped.share_memory_()
        return self

    def type(self, dtype: Any = None) -> Any:
        """The name of the legacy class; or a copy with another dtype."""
        if dtype is None:
            home = "torch" if self.device.type == "cpu" else f"torch.{self.device.type}"
            return f"{home}.{legacy_name(self.dtype)}"
        if isinstance(dtype, str):
            named = (d for d in dtypes.ALL if legacy_name(d) == dtype.removeprefix("torch."))
            if (found := next(named, None)) is None:
                raise ValueError(f"invalid type: '{dtype}'")
            return self._as(found)
        dtype = getattr(dtype, "dtype", dtype)
        return self._as(dtypes.checked(dtype, "type"))

    def _as(self, dtype: dtypes.dtype) -> TypedStorage:
        if dtype is self.dtype:
            return self
        made = self._tensor().to(dtype)
        return self.over(storage_of(made), dtype)

    def __repr__(self) -> str:
        return shown(self, f"TypedStorage(dtype={self.dtype}, device={self.device})")

    def __reduce__(self) -> Any:
        return TypedStorage.over, (self._untyped, self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return memo.setdefault(id(self), self.clone())

    __copy__ = clone


def _placed(values: Any, kind: Kind) -> Any:
    """A new array of a kind with the numbers of a list."""
    host_dtype = kind.dtype.widened()
    source = kind.of(host_dtype)
    host = np.asarray(values).astype(host_dtype.name)
    array = source.from_host(host)
    return array if source is kind else kind.cast(array, source)


def _dtype_for(cls: type[TypedStorage], dtype: Any) -> dtypes.dtype:
    """The dtype of a storage class, or the one given, or the default."""
    own = getattr(cls, "dtype", None)
    given = own if isinstance(own, dtypes.dtype) else dtype or dtypes.get_default_dtype()
    return dtypes.checked(given, cls.__name__)


def legacy_name(dtype: dtypes.dtype) -> str:
    """The name of the storage class of a dtype: ``FloatStorage``."""
    return dtype.legacy.replace("Tensor", "Storage")


def _converter(dtype: dtypes.dtype) -> Any:
    def convert(self: Any) -> TypedStorage:
        typed = self if isinstance(self, TypedStorage) else TypedStorage.over(self, dtypes.uint8)
        return typed._as(dtype)

    convert.__doc__ = f"The elements as {dtype.name}; those of an untyped storage are its bytes."
    return convert


_CONVERTERS = {
    **{name: getattr(dtypes, name) for name in "double half bfloat16 int long short bool".split()},
    **{d.name: d for d in dtypes.STORED if d.name.startswith("float8")},
    "float": dtypes.float32,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "complex_float": dtypes.complex64,
    "complex_double": dtypes.complex128,
}
for _name, _dtype in _CONVERTERS.items():
    for _class in (TypedStorage, UntypedStorage):
        setattr(_class, _name, _converter(_dtype))
