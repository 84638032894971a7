"""The base class: the runtime of the contract over seven methods of the author's."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype
from tensorbus._base.size import is_row_major
from tensorbus.plugin.backend import Backend, Kernel, Traits
from tensorbus.plugin.graph import Graph
from tensorbus.plugin.kernel_language import graphs, kernels
from tensorbus.plugin.kernel_language.array import Storage, StridedArray
from tensorbus.plugin.kernel_language.device import DeadInChild, Device
from tensorbus.plugin.kernel_language.dialect import Dialect
from tensorbus.plugin.kernel_language.move import contiguous, copy, fill, wrap
from tensorbus.plugin.kernel_language.types import FLOAT8

_NUMPY = {
    d: np.dtype(d.name)
    for d in (
        dtypes.bool,
        dtypes.uint8,
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
        dtypes.uint16,
        dtypes.uint32,
        dtypes.uint64,
    )
} | {dtypes.bfloat16: np.dtype(np.uint16), **dict.fromkeys(FLOAT8, np.dtype(np.uint8))}


def _count_alone() -> int:
    """What ``getrefcount`` says of a storage that one array holds."""
    array = StridedArray(Storage(None, 0, 0), dtypes.uint8, (0,), (1,), 0, True)
    return getrefcount(array.storage)


_ALONE = _count_alone()


class KernelLanguageBackend(Backend):
    """A backend whose kernels are generated in a C-like language.

    The author supplies ``device_count`` and ``capabilities`` of the contract, and the seven
    methods below that raise here. The base class holds ``lock`` around each call of them, so they
    need no lock of their own. Kernels of a device run in the order they are launched, or those of
    one queue where ``current_queue`` tells several apart.
    """

    traits = Traits(
        broadcasts=True,
        takes_empty=True,
        negative_strides=True,
        strided_out=True,
        host_sync=False,
        scalar_results=False,
        python_scalars=True,
        deterministic_scatter=False,
    )

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()
        self._devices: dict[int, Device] = {}
        _at_fork(self)

    # -- the author's ------------------------------------------------------------------------
    def dialect(self, index: int) -> Dialect:
        """The kernel language of a device."""
        raise NotImplementedError

    def alloc(self, index: int, nbytes: int) -> Any:
        """A new buffer, which is freed when Python frees the object; *nbytes* is at least 1."""
        raise NotImplementedError

    def upload(self, index: int, buffer: Any, values: np.ndarray) -> None:
        """Copy a C-contiguous host array to the start of *buffer*; it may change afterwards."""
        raise NotImplementedError

    def download(self, index: int, buffer: Any, start: int, values: np.ndarray) -> None:
        """Fill a C-contiguous host array with the bytes of *buffer* from *start* on; waits."""
        raise NotImplementedError

    def build(
        self, index: int, source: str, name: str, types: Sequence[str | None]
    ) -> Callable[..., None]:
        """Compile *source* and return ``launch(size, *arguments)`` for its kernel *name*.

        *types* has ``None`` for a buffer and the name of the C type for a number. *size* is a
        tuple of one or two counts of work items, the first a multiple of the dialect's ``group``.
        A launch is queued, not waited for.
        """
        if type(self).compile is not KernelLanguageBackend.compile:
            # In version 1 of the contract this method was called ``compile``.
            launch: Any = self.compile
            return launch(index, source, name, types)
        raise NotImplementedError

    def finish(self, index: int) -> None:
        """Wait until all that was launched on a device, in all its queues, is done."""
        raise NotImplementedError

    def current_queue(self, index: int) -> Any:
        """What tells the queue that the calling thread's work goes into apart from others.

        Override it where there are several: index faults are kept for each of them.
        """
        return None

    # -- the contract's ----------------------------------------------------------------------
    def device(self, index: int) -> Device:
        """The state that the kernels of device *index* share."""
        found = self._devices.get(index)
        if found is None:
            with self.lock:
                found = self._devices.get(index)
                if found is None:
                    found = self._devices[index] = Device(self, index)
        return found

    def supported(self, index: int) -> frozenset[dtype]:
        """The dtypes that the kernels of a device take."""
        dialect = self.dialect(index)
        absent = {dtypes.float64: not dialect.float64, dtypes.float16: not dialect.float16}
        return frozenset(d for d in _NUMPY if not absent.get(d))

    def synchronize(self, index: int) -> None:
        device = self.device(index)
        with self.lock:
            self.finish(index)
        device.raise_faults()

    def empty(self, shape: Sequence[int], dtype: dtype, index: int) -> StridedArray:
        return self.device(index).new(tuple(shape), dtype)

    def from_host(self, array: np.ndarray, dtype: dtype, index: int) -> StridedArray:
        device = self.device(index)
        result = device.new(array.shape, dtype)
        device.upload(result, np.ascontiguousarray(array))
        return result

    def to_host(self, array: StridedArray, dtype: dtype) -> np.ndarray:
        device = self.device(array.storage.index)
        if not array.flat:
            array = contiguous(device, array)
        result = np.empty(array.shape, _NUMPY[dtype])
        device.download(array, result)
        device.raise_fault(self.current_queue(array.storage.index))
        return result

    def copy_(self, dst: StridedArray, dst_dtype: dtype, src: Any, src_dtype: dtype | None) -> None:
        device = self.device(dst.storage.index)
        if src_dtype is None:
            fill(device, dst, wrap(src, dst_dtype))
            return
        if src.storage.index != dst.storage.index:
            src = self.from_host(self.to_host(src, src_dtype), src_dtype, dst.storage.index)
        copy(device, dst, src)

    def as_strided(
        self,
        array: StridedArray,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: dtype,
        new_dtype: dtype,
    ) -> StridedArray:
        shape, strides = tuple(shape), tuple(strides)
        flat = is_row_major(shape, strides)
        return StridedArray(array.storage, new_dtype, shape, strides, offset, flat)

    def layout(self, array: StridedArray, dtype: dtype) -> tuple[Hashable, int, tuple[int, ...]]:
        return array.storage, array.offset, array.strides

    def storage_size(self, array: StridedArray, dtype: dtype) -> int:
        return array.storage.nbytes

    def data_ptr(self, array: StridedArray) -> int:
        return id(array.storage) + array.offset * array.dtype.itemsize

    def is_contiguous(self, array: StridedArray, dtype: dtype) -> bool:
        return array.flat

    def owns_storage(self, array: StridedArray) -> bool:
        return getrefcount(array.storage) <= _ALONE

    def scalar(self, value: bool | int | float | complex, dtype: dtype) -> Any:
        if dtype.is_complex or isinstance(value, complex):
            raise TypeError(f"device '{self.name}' has no kernels for complex numbers")
        return wrap(value, dtype)

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        if dtype not in self.supported(index):
            return None
        device = self.device(index)
        key = ("kernel", op, dtype)
        if key not in device.made:
            device.made[key] = kernels.find(device, op, dtype)
        return device.made[key]

    def compile(self, graph: Graph, index: int) -> Kernel | None:
        return graphs.compile_graph(self.device(index), graph)


_live: set[weakref.ref[KernelLanguageBackend]] = set()
_kept: list[Any] = []


def _at_fork(backend: KernelLanguageBackend) -> None:
    if not _live and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_kill)
    _live.add(weakref.ref(backend, _live.discard))


def _kill() -> None:
    for each in list(_live):
        backend = each()
        if backend is None:
            continue
        if backend._devices:
            # Releasing a device's objects here would wait for threads that only the parent has.
            _kept.append(dict(backend._devices))
            backend.lock = DeadInChild(backend.name)
        else:
            backend.lock = threading.RLock()
