"""``CudaBackend``: CuPy arrays in GPU memory.

What differs from NumPy is in the modules of this package: CuPy lacks some functions, wraps indices
outside an array without a word, and leaves shifts and casts out of range to the hardware.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import cupy
import numpy as np

from tensorbus.plugin import (
    Array,
    ArrayLibraryBackend,
    Capabilities,
    Event,
    Kernel,
    OutOfMemoryError,
    Stream,
    Traits,
    bfloat16,
    dtype,
)
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.narrow import BFloat16, narrow_dtype
from tensorbus.plugin.array_library.runtime import host_scalar
from tensorbus_cuda_cupy import handles, indexing, ordering, random, reductions
from tensorbus_cuda_cupy.faults import Faults
from tensorbus_cuda_cupy.memory import Memory
from tensorbus_cuda_cupy.narrow import DeviceBFloat16
from tensorbus_cuda_cupy.pointwise import pointwise_kernel
from tensorbus_cuda_cupy.softmax import softmax_kernel
from tensorbus_cuda_cupy.sources import compile_source
from tensorbus_cuda_cupy.storage import is_whole, storage_key, storage_of, storage_size
from tensorbus_cuda_cupy.streams import CudaEvent, Streams, waited_for


class CudaBackend(ArrayLibraryBackend):
    """NVIDIA GPUs, through CuPy."""

    name = "cuda"
    xp: ClassVar[Any] = cupy
    traits: ClassVar[Traits] = Traits(
        broadcasts=True,
        takes_empty=True,
        negative_strides=True,
        strided_out=True,
        host_sync=False,
        scalar_results=False,
        python_scalars=True,
        deterministic_scatter=False,
    )

    narrow = MappingProxyType({bfloat16: DeviceBFloat16})
    tables: ClassVar[tuple[Table, ...]] = (
        ordering.TABLE,
        reductions.TABLE,
        *ArrayLibraryBackend.tables,
    )

    def __init__(self) -> None:
        self.faults = Faults()
        self._memory = Memory()
        self._streams: dict[int, Streams] = {}

    # -- devices -----------------------------------------------------------------------------
    def device_count(self) -> int:
        return cupy.cuda.runtime.getDeviceCount()

    def capabilities(self, index: int) -> Capabilities:
        found = cupy.cuda.runtime.getDeviceProperties(index)
        return Capabilities(
            name=found["name"].decode(),
            dtypes=super().capabilities(index).dtypes,
            memory_total=found["totalGlobalMem"],
            details={
                "compute capability": f"{found['major']}.{found['minor']}",
                "pci": f"{found['pciDomainID']:04x}:{found['pciBusID']:02x}:"
                f"{found['pciDeviceID']:02x}.0",
                "cupy": cupy.__version__,
                "CUDA": str(cupy.cuda.runtime.runtimeGetVersion()),
                "peers": ",".join(map(str, self._peers(index))),
                # CuPy compiles all kernels with NVRTC's option -ftz=true.
                "subnormals": "flush",
            },
            accelerator=True,
        )

    def _peers(self, index: int) -> list[int]:
        """The other devices whose memory this one's kernels can read."""
        runtime = cupy.cuda.runtime
        others = (other for other in range(self.device_count()) if other != index)
        return [other for other in others if runtime.deviceCanAccessPeer(index, other)]

    def synchronize(self, index: int) -> None:
        with cupy.cuda.Device(index) as device:
            waited_for(index, device.synchronize)
            for stream in self._of(index).all():
                stream.let_go()
            self.faults.raise_all(index)

    def device_of(self, array: Array) -> int:
        return array.device.id

    # -- memory ------------------------------------------------------------------------------
    def empty(self, shape: Sequence[int], dtype: dtype, index: int) -> Array:
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes >= 1 << 63:  # CuPy counts bytes in 64 bits, and would allocate what is left
            raise OutOfMemoryError(nbytes)
        with cupy.cuda.Device(index):
            return super().empty(shape, dtype, index)

    def from_host(self, array: np.ndarray, dtype: dtype, index: int) -> Array:
        with cupy.cuda.Device(index):
            return super().from_host(array, dtype, index)

    def to_host(self, array: Array, dtype: dtype) -> np.ndarray:
        with array.device:
            host = cupy.asnumpy(array, order="C")
            self.faults.raise_pending(array.device.id)
        return host.view(f"u{host.itemsize}") if narrow_dtype(dtype) else host

    def copy_(self, dst: Array, dst_dtype: dtype, src: Array, src_dtype: dtype | None) -> None:
        if isinstance(src, np.generic):  # a number of ``scalar``'s
            with dst.device:
                src = cupy.asarray(src)
        if src_dtype is not None and src.device != dst.device:
            # A dense copy crosses in one transfer; elements one by one would need peer access.
            with src.device:
                src = cupy.ascontiguousarray(src)
            with dst.device:
                src = cupy.array(src)
        with dst.device:
            super().copy_(dst, dst_dtype, src, src_dtype)

    def memory_allocated(self, index: int) -> int:
        with cupy.cuda.Device(index):
            return cupy.get_default_memory_pool().used_bytes()

    def compile_source(self, source: str, name: str, index: int) -> Callable[..., None]:
        return compile_source(source, name, index)

    def memory_stats(self, index: int) -> dict[str, int]:
        return self._memory.stats(index)

    def reset_memory_peaks(self, index: int) -> None:
        self._memory.reset_peaks(index)

    def empty_cache(self) -> None:
        for streams in self._streams.values():
            for stream in streams.all():
                stream.let_go()
        self._memory.free_held()

    # -- streams -----------------------------------------------------------------------------
    def _of(self, index: int) -> Streams:
        found = self._streams.get(index)
        if found is None:
            made = Streams(index, self.faults.raise_pending)
            found = self._streams.setdefault(index, made)
        return found

    def default_stream(self, index: int) -> Stream:
        return self._of(index).default

    def current_stream(self, index: int) -> Stream:
        return self._of(index).current()

    def set_stream(self, stream: Stream) -> None:
        self._of(stream.index).choose(stream)

    def new_stream(self, index: int, priority: int = 0) -> Stream:
        return self._of(index).new(priority)

    def wrap_stream(self, handle: int, index: int) -> Stream:
        return self._of(index).of_handle(handle)

    def new_event(
        self, index: int, timing: bool = False, interprocess: bool = False
    ) -> Event | None:
        return None if interprocess else CudaEvent(index, timing)

    def record_stream(self, array: Array, stream: Stream) -> None:
        self._of(stream.index).known(stream).hold(array.data.mem)

    # -- views -------------------------------------------------------------------------------
    def strided_view(
        self,
        array: Array,
        shape: tuple[int, ...],
        dtype: np.dtype,
        offset: int,
        strides: tuple[int, ...],
    ) -> Array:
        pointer = cupy.cuda.MemoryPointer(storage_of(array), offset)
        return cupy.ndarray(shape, dtype, pointer, strides)

    def layout(self, array: Array, dtype: dtype) -> tuple[Hashable, int, tuple[int, ...]]:
        size = dtype.itemsize
        start = array.data.mem.ptr
        strides = tuple([s // size for s in array.strides])
        return storage_key(array), (array.data.ptr - start) // size, strides

    def storage_size(self, array: Array, dtype: dtype) -> int:
        return storage_size(array)

    def owns_storage(self, array: Array) -> bool:
        return is_whole(array)

    def data_ptr(self, array: Array) -> int:
        return array.data.ptr

    # -- exchange ----------------------------------------------------------------------------
    def dlpack_device(self, index: int) -> tuple[int, int]:
        """A CUDA device's."""
        return 2, index

    def to_dlpack(
        self,
        array: Array,
        dtype: dtype,
        stream: int | None,
        max_version: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        with array.device:
            options = {} if max_version is None else {"max_version": max_version}
            if narrow_dtype(dtype):  # the base class says what the integers are
                return super().to_dlpack(array, dtype, stream, max_version, copy)
            return (array.copy() if copy else array).__dlpack__(stream=stream, **options)

    def export_storage(self, array: Array, dtype: dtype) -> bytes | None:
        return handles.exported(array)

    def import_storage(
        self, handle: bytes, nbytes: int, index: int, release: Callable[[], None]
    ) -> Array | None:
        return handles.imported(handle, nbytes, index, release)

    # -- kernels -----------------------------------------------------------------------------
    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        kernel = self._kernel(op, dtype, index)
        if kernel is None or self.device_count() == 1:
            return kernel

        # CuPy launches on the current device, whatever the arrays' own is.
        @functools.wraps(kernel)
        def on_device(*args: Any, **options: Any) -> Array:
            with cupy.cuda.Device(index):
                return kernel(*args, **options)

        return on_device

    def _kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        if dtype in self.narrow:
            return super().kernel(op, dtype, index)
        indexed = indexing.MAKERS.get(op)
        if indexed is not None:
            return indexed(dtype, self.faults, index)
        drawn = random.MAKERS.get(op)
        if drawn is not None:
            return drawn(dtype)
        own = pointwise_kernel(op, dtype) or softmax_kernel(op, dtype)
        return own or super().kernel(op, dtype, index)

    def cast(self, src: Array, src_dtype: dtype, dst_dtype: dtype) -> Array:
        # A conversion to bool may look at a part of the bits; a comparison may not.
        if dst_dtype.name == "bool":
            return (self.dtype(src_dtype).widened(src) if src_dtype in self.narrow else src) != 0
        return super().cast(src, src_dtype, dst_dtype)

    def scalar(self, value: bool | int | float | complex, dtype: dtype) -> Any:
        """A Python number: it travels as a kernel's argument and needs no memory on the device."""
        if dtype in self.narrow:
            number = value.real if isinstance(value, complex) else value
            return BFloat16().narrowed(np.asarray(number))[()]
        return host_scalar(value, dtype).item()
