"""``CudaBackend``: CuPy arrays in GPU memory.

What differs from NumPy is in the tables of this package: CuPy lacks some functions, wraps indices
outside an array without a word, and leaves shifts and casts out of range to the hardware.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import cupy
import numpy as np

from tensorbus.plugin import (
    Array,
    ArrayLibraryBackend,
    Capabilities,
    Kernel,
    Traits,
    dtype,
)
from tensorbus_cuda_cupy.rules import CudaRules


class CudaBackend(CudaRules, ArrayLibraryBackend):
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
                "cupy": cupy.__version__,
                "CUDA": str(cupy.cuda.runtime.runtimeGetVersion()),
            },
        )

    def synchronize(self, index: int) -> None:
        with cupy.cuda.Device(index) as device:
            device.synchronize()
            self.faults.raise_pending(index)

    def device_of(self, array: Array) -> int:
        return array.device.id

    # -- memory ------------------------------------------------------------------------------
    def empty(self, shape: Sequence[int], dtype: dtype, index: int) -> Array:
        with cupy.cuda.Device(index):
            return super().empty(shape, dtype, index)

    def from_host(self, array: np.ndarray, dtype: dtype, index: int) -> Array:
        with cupy.cuda.Device(index):
            return super().from_host(array, dtype, index)

    def to_host(self, array: Array, dtype: dtype) -> np.ndarray:
        with array.device:
            host = cupy.asnumpy(array, order="C")
            self.faults.raise_pending(array.device.id)
        return host

    def copy_(self, dst: Array, dst_dtype: dtype, src: Array, src_dtype: dtype | None) -> None:
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

    def empty_cache(self) -> None:
        cupy.get_default_memory_pool().free_all_blocks()

    # -- views -------------------------------------------------------------------------------
    def strided_view(
        self,
        array: Array,
        shape: tuple[int, ...],
        dtype: np.dtype,
        offset: int,
        strides: tuple[int, ...],
    ) -> Array:
        pointer = cupy.cuda.MemoryPointer(array.data.mem, offset)
        return cupy.ndarray(shape, dtype, pointer, strides)

    def layout(self, array: Array, dtype: dtype) -> tuple[Hashable, int, tuple[int, ...]]:
        size = dtype.itemsize
        start = array.data.mem.ptr
        strides = tuple([s // size for s in array.strides])
        return (array.device.id, start), (array.data.ptr - start) // size, strides

    def storage_size(self, array: Array, dtype: dtype) -> int:
        """The allocation's size, which CuPy's pool rounds up to a multiple of 512 bytes."""
        return array.data.mem.size

    def data_ptr(self, array: Array) -> int:
        return array.data.ptr

    # -- kernels -----------------------------------------------------------------------------
    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        kernel = super().kernel(op, dtype, index)
        if kernel is None or self.device_count() == 1:
            return kernel

        # CuPy launches on the current device, whatever the arrays' own is.
        @functools.wraps(kernel)
        def on_device(*args: Any, **options: Any) -> Array:
            with cupy.cuda.Device(index):
                return kernel(*args, **options)

        return on_device
