"""Batched kinds: tensors of which the program sees one element of a batch, and all are computed.

Inside ``vmap`` a tensor's kind is that of a batch: its array is one of the inner kind with the
batch as its first dimension, its shape is that of one element. Such a kind has the same table as
any other; what runs in it for a row is a rule for the row's form (``batch_rules.py``) or the row's
composition. So autograd, views and in-place forms know nothing of batches.

The batch of an array has the size of its device, or 1 where all elements are the same.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.size import is_row_major
from tensorbus._base.weak import WeakValues
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._dispatch.lazy_kinds import LazyKind
from tensorbus.plugin.backend import Backend, Capabilities, DType, Kernel
from tensorbus.rows.registry import Row

Shape = tuple[int, ...]

_KEPT = 16
"""How many devices of batches are kept, with their tables, while no tensor is on them."""

_NO_VALUE = (
    " Inside vmap a tensor stands for all elements of the batch, so that it has no one value: "
    "write it with other operations, such as torch.where for a condition, or do it outside."
)
UNREADABLE = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations."
    + _NO_VALUE
)
UNDECIDED = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet." + _NO_VALUE
)
UNCOUNTED = (
    "vmap: We do not support batching operators that can output dynamic shape. Those of "
    "nonzero, or of an index that is a mask, would differ among the elements." + _NO_VALUE
)
UNWRITABLE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
    "vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
    "operators instead of inplace arithmetic. If `self` was made inside vmap, make it with the "
    "batch: with x.new_empty, x.new_zeros, zeros_like(x) or x.clone() instead of torch.empty or "
    "torch.zeros."
)
_WITHOUT_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


def reworded(error: RuntimeError, text: str) -> RuntimeError:
    """The error; where a value of a batch was wanted, one that says with *text* what for."""
    return RuntimeError(text) if error.args == (UNREADABLE,) else error


class BatchedArray:
    """An array of the inner kind, whose first dimension is the batch; ``shape`` is without it."""

    __slots__ = ("__weakref__", "alone", "array", "shape")
    __array_ufunc__ = None  # NumPy is not to take it for an object

    def __init__(self, array: Any, alone: bool = True):
        self.array = array
        self.shape: Shape = tuple(array.shape[1:])
        self.alone = alone
        """Whether no other array shares the memory."""

    def view(self, array: Any) -> BatchedArray:
        """Another array over the memory of this one."""
        self.alone = False
        return BatchedArray(array, False)


def writable(kind: Kind, x: BatchedArray, size: int) -> Any:
    """The inner array of *x*, for a write of a batch of that size.

    What is the same for all elements becomes one array for each where no view would miss that, else
    it is a RuntimeError.
    """
    if size not in (1, x.array.shape[0]):
        if not x.alone:
            raise RuntimeError(UNWRITABLE)
        x.array = kind.clone(kind.expand(x.array, (size, *x.shape)))
    return x.array


class BatchedDevice(Device):
    """Where the tensors of a batch of *size* are, which is where the inner ones are."""

    __slots__ = ("__weakref__", "backend", "inner", "kinds", "size")
    inner: Device
    size: int
    kinds: dict[dtypes.dtype, BatchedKind]
    backend: BatchBackend

    def kind(self, dtype: dtypes.dtype) -> BatchedKind:
        """The kind of a dtype here."""
        found = self.kinds.get(dtype)
        return self.kinds.setdefault(dtype, BatchedKind(self, dtype)) if found is None else found

    def __reduce__(self) -> Any:
        raise RuntimeError("a tensor inside vmap cannot be pickled: pickle what vmap returns")


_devices: WeakValues[tuple[Device, int], BatchedDevice] = WeakValues()
_recent: OrderedDict[tuple[Device, int], BatchedDevice] = OrderedDict()
_lock = threading.Lock()


def batched_device(inner: Device, size: int) -> BatchedDevice:
    """The device of the batches of a size on another device; one object for each."""
    with _lock:
        found = _devices.get((inner, size))
        if found is None:
            found = object.__new__(BatchedDevice)
            found.type, found.index, found.inner, found.size = inner.type, inner.index, inner, size
            found.kinds = {}
            found.backend = BatchBackend(found)
            _devices[inner, size] = found
        _recent[inner, size] = found
        _recent.move_to_end((inner, size))
        if len(_recent) > _KEPT:
            _recent.popitem(last=False)
    return found


def levels_of(device: Device) -> list[BatchedDevice]:
    """The devices of batches that one stands for, from the outermost ``vmap`` inwards."""
    found: list[BatchedDevice] = []
    while isinstance(device, BatchedDevice):
        found.append(device)
        device = device.inner
    return found[::-1]


def plain_device(device: Device) -> Device:
    """The device without batches."""
    while isinstance(device, BatchedDevice):
        device = device.inner
    return device


def moved_device(device: Device, root: Device) -> Device:
    """The device of the same batches on another device."""
    if device is root or not isinstance(device, BatchedDevice):
        return root
    return batched_device(moved_device(device.inner, root), device.size)


class BatchedKind(LazyKind):
    """The kernels of one dtype for the tensors of a batch."""

    def __init__(self, device: BatchedDevice, dtype: dtypes.dtype):
        self.inner: Kind = kind_of(device.inner, dtype)
        self.size = device.size
        super().__init__(device, dtype, device.backend)

    def rule_for(self, row: Row) -> Callable[..., Any] | None:
        """The entry of a row by its form; None where it is composed."""
        from tensorbus._dispatch.batch_rules import rule_for

        return rule_for(self, row)

    def batch_of(self, array: Any) -> BatchedArray:
        """A batch of the elements that an inner array has along its first dimension."""
        return BatchedArray(array)

    def every_value(self, x: BatchedArray) -> np.ndarray:
        return self.inner.every_value(x.array)

    def cast(self, x: BatchedArray, source: Kind) -> BatchedArray:
        return BatchedArray(self.inner.cast(x.array, kind_of(source.device, source.dtype).inner))

    def full(self, shape: Shape, value: Any) -> BatchedArray:
        return BatchedArray(self.inner.full((self.size, *shape), value))


class BatchBackend(Backend):
    """The memory of batches: that of the inner device, with a dimension more."""

    def __init__(self, device: BatchedDevice):
        self._size = device.size
        self._inner_device = device.inner
        inner = self._of(dtypes.bool).backend
        self._inner = inner
        self.name = f"vmap of {inner.name}"  # type: ignore[misc]
        self.traits = dataclasses.replace(  # type: ignore[misc]
            inner.traits,
            broadcasts=True,
            takes_empty=True,
            contiguous_inputs=False,
            strided_out=True,
            host_sync=False,
            python_scalars=True,
            deterministic_scatter=True,
            max_rank=64,
        )

    def _of(self, dtype: DType) -> Kind:
        return kind_of(self._inner_device, dtype)

    def device_count(self) -> int:
        return self._inner.device_count()

    def capabilities(self, index: int) -> Capabilities:
        return self._inner.capabilities(index)

    def empty(self, shape: Sequence[int], dtype: DType, index: int) -> BatchedArray:
        return BatchedArray(self._of(dtype).empty((self._size, *shape)))

    def from_host(self, array: np.ndarray, dtype: DType, index: int) -> BatchedArray:
        return BatchedArray(self._of(dtype).from_host(array[np.newaxis]))

    def to_host(self, array: BatchedArray, dtype: DType) -> np.ndarray:
        if array.array.shape[0] != 1:
            raise RuntimeError(UNREADABLE)
        return self._of(dtype).to_host(array.array)[0]  # it is the same for all elements

    def view_host(self, array: BatchedArray, dtype: DType) -> np.ndarray:
        raise RuntimeError(UNREADABLE)

    def copy_(self, dst: BatchedArray, dst_dtype: DType, src: Any, src_dtype: DType | None) -> None:
        if not isinstance(src, BatchedArray):
            self._of(dst_dtype).write(dst.array, src, src_dtype)
            return
        assert src_dtype is not None
        given = src.array
        into = writable(self._of(dst_dtype), dst, given.shape[0])
        if given.shape[0] != into.shape[0]:
            given = self._of(src_dtype).expand(given, (into.shape[0], *given.shape[1:]))
        self._of(dst_dtype).write(into, given, src_dtype)

    def as_strided(
        self,
        array: BatchedArray,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: DType,
        new_dtype: DType,
    ) -> BatchedArray:
        inner = array.array
        step = self._inner.strides(inner, dtype)[0] * dtype.itemsize // new_dtype.itemsize
        shape, strides = (inner.shape[0], *shape), (step, *strides)
        return array.view(self._inner.as_strided(inner, shape, strides, offset, dtype, new_dtype))

    def layout(self, array: BatchedArray, dtype: DType) -> Any:
        key, offset, strides = self._inner.layout(array.array, dtype)
        return key, offset, tuple(strides[1:])

    def strides(self, array: BatchedArray, dtype: DType) -> tuple[int, ...]:
        return tuple(self._inner.strides(array.array, dtype)[1:])

    def is_contiguous(self, array: BatchedArray, dtype: DType) -> bool:
        inner = self._inner
        if inner.is_contiguous(array.array, dtype):
            return True
        return is_row_major(array.shape, inner.strides(array.array, dtype)[1:])

    def storage_size(self, array: BatchedArray, dtype: DType) -> int:
        raise NotImplementedError("Cannot access storage of a tensor inside vmap")

    def data_ptr(self, array: BatchedArray) -> int:
        raise RuntimeError(_WITHOUT_STORAGE)

    def dlpack_device(self, index: int) -> tuple[int, int] | None:
        return self._inner.dlpack_device(index)

    def to_dlpack(self, array: BatchedArray, *arguments: Any) -> Any:
        raise RuntimeError(_WITHOUT_STORAGE)

    def as_array(self, result: Any, dtype: DType, index: int) -> BatchedArray:
        if isinstance(result, BatchedArray):
            return result
        return self.from_host(np.asarray(result), dtype, index)

    def dtype(self, dtype: DType) -> Any:
        return self._inner.dtype(dtype)

    def scalar(self, value: Any, dtype: DType) -> Any:
        return self._inner.scalar(value, dtype)

    def kernel(self, op: str, dtype: DType, index: int) -> Kernel | None:
        return None  # ``batch_rules`` knows the row, which says more
