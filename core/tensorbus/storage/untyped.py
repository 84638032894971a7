"""The bytes behind tensors. Objects are made on demand; nothing keeps them."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus._base import dtypes, registered
from tensorbus._base.shared_memory import memory_of
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.discovery import offered
from tensorbus.storage.buffers import elements_of_buffer, mapped_file
from tensorbus.storage.views import view_of


class UntypedStorage:
    """The bytes behind a tensor and all its views, or a slice of them.

    ``UntypedStorage(4)`` is a new one of 4 bytes, ``UntypedStorage([1, 2])`` one of these bytes.
    An index gives a byte as an int, a slice a storage over the same memory.

    >>> import tensorbus
    >>> x = tensorbus.tensor([1, 2, 3], dtype=tensorbus.uint8)
    >>> x.untyped_storage()[1:].fill_(0).tolist(), x.tolist()
    ([0, 0], [1, 0, 0])
    """

    __slots__ = ("_array", "_key", "_kind", "_size", "_start", "alone", "filename")
    is_sparse = False
    is_sparse_csr = False

    alone: bool
    """Whether no tensor and no other storage can share the memory."""
    filename: str | None
    """The file that the bytes lie in; None where they lie in none."""

    def __init__(self, size: Any = 0, *, device: Any = "cpu"):
        kind = kind_of(Device(device), dtypes.uint8)
        if isinstance(size, (list, tuple)):
            self._set(kind.from_host(_bytes_of(size)), kind)
            self._size = len(size)
        else:
            n = size_of_storage("UntypedStorage", size)
            self._set(kind.empty((n,)), kind)
            self._size = n
        self.alone = True

    def _set(self, array: Any, kind: Kind, start: int = 0, size: int | None = None) -> None:
        self._array, self._kind, self.alone, self.filename = array, kind, False, None
        whole = kind.backend.storage_size(array, kind.dtype)
        self._start, self._size = start, whole if size is None else size
        key = kind.device, kind.layout(array)[0]
        self._key: Any = key if self._size == whole else (*key, start, self._size)

    @classmethod
    def over(
        cls, array: Any, kind: Kind, start: int = 0, size: int | None = None
    ) -> UntypedStorage:
        """The storage of an array, or *size* of its bytes from *start* on."""
        made = object.__new__(cls)
        made._set(array, kind, start, size)
        return made

    @classmethod
    def from_host(cls, host: np.ndarray, device: Any = "cpu") -> UntypedStorage:
        """A new storage on a device with a copy of bytes given as a uint8 array."""
        kind = kind_of(Device(device), dtypes.uint8)
        bytes_ = np.ascontiguousarray(host).reshape(-1).view(np.uint8)
        return cls.over(kind.from_host(bytes_), kind)

    @classmethod
    def over_host(cls, host: np.ndarray, device: Any = "cpu") -> UntypedStorage:
        """The storage of a uint8 array: in its memory where the device can use that, or a copy."""
        kind = kind_of(Device(device), dtypes.uint8)
        array = kind.backend.share_host(host, dtypes.uint8) if host.size else None
        if array is None:
            return cls.over(kind.from_host(host), kind)
        return cls.over(array, kind, kind.layout(array)[1], host.size)

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Any,
        device: Any = "cpu",
    ) -> UntypedStorage:
        """A storage with a copy of *count* elements of a buffer, from byte *offset* on.

        The *byte_order* is ``little``, ``big`` or ``native``, and is given for elements of more
        than one byte. ValueError for others, and where the buffer does not hold whole elements.
        """
        d = dtypes.checked(dtype, "from_buffer")
        made = cls.from_host(elements_of_buffer(buffer, byte_order, count, offset, d), device)
        made.alone = True
        return made

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first *nbytes* bytes of a file: changes go there if *shared*, else nowhere.

        A shared file is made or made larger as needed; RuntimeError for another one too small.
        """
        made = cls.over_host(mapped_file(filename, shared, nbytes))
        made.filename = str(filename) if shared else None
        return made

    @property
    def device(self) -> Device:
        """Where the bytes are."""
        return self._kind.device

    @property
    def is_cuda(self) -> bool:
        """Whether they are on a device of type ``cuda``."""
        return self.device.type == "cuda"

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._size

    size = nbytes
    __len__ = nbytes

    def element_size(self) -> int:
        """1: a storage counts bytes."""
        return 1

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is in pinned memory, which no storage is."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes can use it: in a file opened so, or after ``share_memory_``.

        Always on a device whose backend gives handles of its memory.
        """
        if self.filename is not None or memory_of(self._array) is not None:
            return True
        return offered(self._kind.backend, "export_storage") is not None

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes into memory that other processes use too; the storage itself.

        RuntimeError on devices whose memory is not shared, and where tensors or other storages use
        it: a tensor that is there is shared with its storage, by its own ``share_memory_``.
        """
        if not self.is_shared():
            registered.share_storage(self)
        return self

    def get_device(self) -> int:
        """The index of the device, -1 for the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._kind.backend.data_ptr(self._bytes())

    def _bytes(self) -> Any:
        return self._kind.backend.as_strided(
            self._array, (self._size,), (1,), self._start, self._kind.dtype, dtypes.uint8
        )

    def _tensor(self) -> Tensor:
        return view_of(self, dtypes.uint8, 0, (self._size,), (1,))

    def clone(self) -> UntypedStorage:
        """A copy of the bytes."""
        kind = self._kind.of(dtypes.uint8)
        made = UntypedStorage.over(kind.clone(self._bytes()), kind)
        made.alone = True
        return made

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The storage itself if it is there, else a copy on a device of type ``cuda``."""
        where = Device("cuda", device) if isinstance(device, int) else Device(device or "cuda")
        kind = kind_of(where, dtypes.uint8)
        if kind.device is self.device:
            return self
        return UntypedStorage.from_host(self.to_host(), kind.device)

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(0, device=self.device)

    def byteswap(self, dtype: Any) -> None:
        """Turn the byte order of the elements of a dtype round, in place."""
        d = dtypes.checked(dtype, "byteswap")
        width = d.itemsize // 2 if d.is_complex else d.itemsize
        turned = np.ascontiguousarray(self.to_host().reshape(-1, width)[:, ::-1]).reshape(-1)
        self.copy_(UntypedStorage.from_host(turned, self.device))

    def cpu(self) -> UntypedStorage:
        """The storage itself if it is on the CPU, else a copy that is."""
        return self if self.device.type == "cpu" else UntypedStorage.from_host(self.to_host())

    def to_host(self) -> np.ndarray:
        """A copy of the bytes, a uint8 array."""
        return self._kind.of(dtypes.uint8).to_host(self._bytes())

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        check_values(self)
        return self.to_host().tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, size = _window(index, self._size)
            self.alone = False
            return UntypedStorage.over(self._array, self._kind, self._start + start, size)
        _check_index(self, index)
        check_values(self)
        return self._tensor()[index_of(index, self._size)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(value) is not int:
            raise RuntimeError(
                f"can only set storage content with a int types, but got {type(value).__name__} "
                "instead"
            )
        if not isinstance(index, slice):
            _check_index(self, index)
            i = index_of(index, self._size, RuntimeError("out of bounds"))
            index = slice(i, i + 1)
        self[index].fill_(value)

    def fill_(self, value: int) -> UntypedStorage:
        """Write one byte everywhere: the last 8 bits of an int."""
        if self._size:
            self._tensor().fill_(value & 255)
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Overwrite with the bytes of another storage of the same size."""
        source = source.untyped()
        if len(source) != self._size:
            raise RuntimeError(f"size does not match, self was {self._size} bytes but src was "
                               f"{len(source)} bytes")  # fmt: skip
        self._tensor().copy_(source._tensor())
        return self

    def resizable(self) -> bool:
        """Whether ``resize_`` may change the size: if no tensor can share the memory."""
        return self.alone

    def resize_(self, size: int) -> UntypedStorage:
        """Give it room for so many bytes; the first ones are kept.

        RuntimeError where tensors may share the memory, as those of ``x.untyped_storage()``.
        """
        n = size_of_storage("resize_", size)
        if n == self._size:
            return self
        if not self.alone:
            raise RuntimeError(
                f"Trying to resize storage that is not resizable: it has {self._size} bytes, not "
                f"{size}. Resize a tensor instead, with resize_(), or make a new one"
            )
        made = UntypedStorage(n, device=self.device)
        kept = min(n, self._size)
        if kept:
            view_of(made, dtypes.uint8, 0, (kept,), (1,)).copy_(
                view_of(self, dtypes.uint8, 0, (kept,), (1,))
            )
        for slot in ("_array", "_key", "_kind", "_size", "_start"):
            setattr(self, slot, getattr(made, slot))
        return self

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def type(self) -> str:
        """The name of the class."""
        return "torch.storage.UntypedStorage"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        kind = f"UntypedStorage(device={self.device})"
        return shown(self, kind)

    def __reduce__(self) -> Any:
        return UntypedStorage.from_host, (self.to_host(), str(self.device))

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return memo.setdefault(id(self), self.clone())

    __copy__ = clone


def _bytes_of(values: Any) -> np.ndarray:
    """The last 8 bits of each int; RuntimeError for anything else."""
    for value in values:
        if type(value) is not int:
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type(values).__name__}), but one of the items was of type "
                f"{type(value).__name__} instead of int"
            )
    return np.asarray([value & 255 for value in values], dtype=np.uint8)


def size_of_storage(name: str, size: Any) -> int:
    """The size that was given; TypeError for what is no int, RuntimeError below 0."""
    if isinstance(size, (str, bytes, float, np.ndarray, Tensor)):
        raise TypeError(
            f"{name}(): expected a size or a list of elements, but got {type(size).__name__}"
        )
    n = operator.index(size)
    if n < 0:
        raise RuntimeError(f"{name}(): a storage cannot have the negative size {n}")
    return n


def _window(index: slice, size: int) -> tuple[int, int]:
    """Where a slice starts, and its length."""
    if index.step not in (None, 1):
        raise RuntimeError(
            f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
        )
    start, stop, _ = index.indices(size)
    return start, max(stop - start, 0)


def _check_index(storage: Any, index: Any) -> None:
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
        name = f"torch.{type(storage).__name__}"
        raise TypeError(f"can't index a {name} with {type(index).__name__}")


def index_of(index: int, size: int, error: Exception | None = None) -> int:
    """An index from the front; IndexError, or *error*, where there is nothing at it."""
    i = index + size if index < 0 else index
    if not 0 <= i < size:
        raise error or IndexError(f"index {i} out of range for storage of size {size}")
    return int(i)


def shown(storage: Any, kind: str) -> str:
    """What a storage prints: a value on each line, and what it is."""
    known = has_values(storage.device)
    values = "".join(f" {value}\n" for value in storage.tolist()) if known else "...\n"
    return f"{values}[torch.storage.{kind} of size {len(storage)}]"


def has_values(device: Device) -> bool:
    """Whether what lies on a device can be read."""
    return kind_of(device, dtypes.uint8).has_values


def check_values(storage: Any) -> None:
    """NotImplementedError where a storage has a size and no bytes."""
    if not has_values(storage.device):
        raise NotImplementedError(f"Not available for '{storage.device.type}' device type")


# -- of tensors ------------------------------------------------------------------------------
def storage_of(t: Tensor) -> UntypedStorage:
    """The storage that a tensor is a view of."""
    return UntypedStorage.over(t._a, t._k)
