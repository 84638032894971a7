"""The bytes behind tensors. Objects are made on demand; nothing keeps them."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.modes import fresh_cell
from tensorbus._base.size import size_of
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array, new


class UntypedStorage:
    """The bytes behind a tensor and all its views, or a slice of them.

    ``UntypedStorage(4)`` is a new one of 4 bytes, ``UntypedStorage([1, 2])`` one of these bytes.
    An index gives a byte as an int, a slice a storage over the same memory.

    >>> import tensorbus
    >>> x = tensorbus.tensor([1, 2, 3], dtype=tensorbus.uint8)
    >>> x.untyped_storage()[1:].fill_(0).tolist(), x.tolist()
    ([0, 0], [1, 0, 0])
    """

    __slots__ = ("_array", "_key", "_kind", "_size", "_start")
    is_sparse = False

    def __init__(self, size: Any = 0, *, device: Any = "cpu"):
        kind = kind_of(Device(device), dtypes.uint8)
        if isinstance(size, (list, tuple)):
            host = np.asarray(size, dtype=np.int64).astype(np.uint8)
            array = kind.from_host(host)
        else:
            array = kind.empty((operator.index(size),))
        self._set(array, kind)
        self._size = len(size) if isinstance(size, (list, tuple)) else operator.index(size)

    def _set(self, array: Any, kind: Kind, start: int = 0, size: int | None = None) -> None:
        self._array, self._kind = array, kind
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
        """Whether other processes can use it, which they never can."""
        return False

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._kind.backend.data_ptr(self._bytes())

    def _bytes(self) -> Any:
        return self._kind.backend.as_strided(
            self._array, (self._size,), (1,), self._start, self._kind.dtype, dtypes.uint8
        )

    def _tensor(self) -> Tensor:
        return tensor_from_storage(self, dtypes.uint8, 0, (self._size,), (1,))

    def clone(self) -> UntypedStorage:
        """A copy of the bytes."""
        kind = self._kind.of(dtypes.uint8)
        return UntypedStorage.over(kind.clone(self._bytes()), kind)

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

    def resize_(self, size: int) -> UntypedStorage:
        """Refused unless nothing changes: the memory is as large as it was made."""
        if operator.index(size) != self._size:
            raise RuntimeError(
                f"Trying to resize storage that is not resizable: it has {self._size} bytes, not "
                f"{size}. Resize a tensor instead, with resize_(), or make a new one"
            )
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


def tensor_from_storage(
    storage: UntypedStorage,
    dtype: dtypes.dtype,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
) -> Tensor:
    """A tensor over a storage; RuntimeError where it would reach beyond the end."""
    shape, strides = tuple(size), tuple(stride)
    check_bounds(storage.nbytes(), dtype, storage_offset, shape, strides)
    kind = kind_of(storage.device, dtype)
    if storage._start % dtype.itemsize:
        raise RuntimeError(
            f"a slice of a storage from byte {storage._start} on cannot hold {dtype}, whose "
            f"elements begin at multiples of {dtype.itemsize}"
        )
    if 0 in shape:
        t = from_array(kind.empty(shape), kind)
    else:
        offset = storage_offset + storage._start // dtype.itemsize
        array = kind.backend.as_strided(
            storage._array, shape, strides, offset, storage._kind.dtype, dtype
        )
        t = new(Tensor)
        t._a, t._k, t._s, t._c, t._e = array, kind, size_of(shape), fresh_cell(), None
        whole = storage.nbytes() == dtype.itemsize * t._s.numel()
        t._b = None if whole and kind.is_contiguous(array) else PERMUTED
    return t.requires_grad_() if requires_grad else t


def check_bounds(
    nbytes: int, dtype: dtypes.dtype, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """Refuse a view that does not lie within its storage."""
    if len(shape) != len(strides):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {len(strides)} strides, {len(shape)} sizes"
        )
    if offset < 0 or any(n < 0 for n in shape) or any(s < 0 for s in strides):
        raise RuntimeError(
            f"a view needs an offset, sizes and strides of 0 or more, got offset {offset}, "
            f"sizes {list(shape)}, strides {list(strides)}"
        )
    if 0 in shape:
        return
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    needed = (last + 1) * dtype.itemsize
    if needed > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {dtype.itemsize} requiring a storage size of {needed} are out of bounds "
            f"for storage of size {nbytes}"
        )
