"""Storages: the memory that tensors are views of. Objects are made on demand."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.size import size_of
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump, from_array, new, order_mark
from tensorbus.rows.layouts import strides_in_format


class UntypedStorage:
    """The bytes behind a tensor and all its views.

    >>> import tensorbus
    >>> x = tensorbus.zeros(4)
    >>> x.untyped_storage().nbytes()
    16
    """

    __slots__ = ("_array", "_key", "_kind")

    def __init__(self, array: Any, kind: Kind):
        self._array = array
        self._kind = kind
        self._key = (kind.device, kind.layout(array)[0])

    @classmethod
    def from_host(cls, host: np.ndarray, device: Any = "cpu") -> UntypedStorage:
        """A new storage on a device with a copy of bytes given as a uint8 array."""
        kind = kind_of(Device(device), dtypes.uint8)
        bytes_ = np.ascontiguousarray(host).reshape(-1).view(np.uint8)
        return cls(kind.backend.from_host(bytes_, dtypes.uint8, kind.index), kind)

    @property
    def device(self) -> Device:
        """Where the bytes are."""
        return self._kind.device

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._kind.backend.storage_size(self._array, self._kind.dtype)

    size = nbytes
    __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._kind.backend.data_ptr(self._bytes())

    def _bytes(self) -> Any:
        return self._kind.backend.as_strided(
            self._array, (self.nbytes(),), (1,), 0, self._kind.dtype, dtypes.uint8
        )

    def clone(self) -> UntypedStorage:
        """A copy of the bytes."""
        kind = self._kind.of(dtypes.uint8)
        return UntypedStorage(kind.clone(self._bytes()), kind)

    def to_host(self) -> np.ndarray:
        """A copy of the bytes, a uint8 array."""
        return self._kind.backend.to_host(self._bytes(), dtypes.uint8)

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self.to_host().tolist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<UntypedStorage of {self.nbytes()} bytes on {self.device}>"


def storage_of(t: Tensor) -> UntypedStorage:
    """The storage that a tensor is a view of."""
    return UntypedStorage(t._a, t._k)


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
    if 0 in shape:
        t = from_array(kind.empty(shape), kind)
    else:
        array = kind.backend.as_strided(
            storage._array, shape, strides, storage_offset, storage._kind.dtype, dtype
        )
        t = new(Tensor)
        t._a, t._k, t._s, t._c, t._e = array, kind, size_of(shape), None, None
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
            f"a view needs an offset, extents and strides of 0 or more, got offset {offset}, "
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


def resize_(t: Tensor, shape: tuple[int, ...], format: Any = None) -> Tensor:
    """Give a tensor another shape; memory grows by a new storage that keeps the old values."""
    if t.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    k, size, strides = t._k, size_of(tuple(shape)), strides_in_format(format, tuple(shape))
    _, offset, _ = k.layout(t._a)
    available = k.backend.storage_size(t._a, k.dtype) // k.dtype.itemsize
    if offset + size.numel() <= available:
        t._a = k.as_strided(t._a, tuple(size), strides, offset)
        t._b = t._b if t._b is not None else PERMUTED
    else:
        viewed = t._c is not None and getrefcount(t._c) > 2  # views share the version cell
        if viewed or (t._b is not None and t._b is not PERMUTED):
            raise RuntimeError(
                f"Trying to resize storage that is not resizable: {size.numel()} elements need "
                "more memory, and the tensor shares its own with a view. Resize a clone() instead."
            )
        array = k.empty((size.numel(),))
        kept = min(available - offset, size.numel())
        if kept > 0:
            old = k.as_strided(t._a, (kept,), (1,), offset)
            k.copy_(k.slice(array, 0, 0, kept, 1), old)
        t._a = k.as_strided(array, tuple(size), strides, 0)
        t._b = order_mark(k, t._a)
    t._s = size
    bump(t)
    return t
