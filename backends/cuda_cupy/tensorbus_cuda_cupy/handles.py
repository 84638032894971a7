"""Storages between processes, by CUDA's handles for memory."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

import cupy
from cupy.cuda import runtime

from tensorbus.plugin import Array
from tensorbus_cuda_cupy.storage import storage_of

_OFFSET = struct.Struct("<Q")


class _Opened:
    """Memory of another process, which it is told when the last array over it is gone."""

    def __init__(self, handle: bytes, index: int, release: Callable[[], None]):
        self.index = index
        with cupy.cuda.Device(index):
            self.start = runtime.ipcOpenMemHandle(handle)
        self.release = release

    def __del__(self) -> None:
        if hasattr(self, "release"):
            with cupy.cuda.Device(self.index) as device:
                device.synchronize()
                runtime.ipcCloseMemHandle(self.start)
            self.release()


def exported(array: Array) -> bytes | None:
    """The handle of what was allocated around an array's storage, and the place in it."""
    memory = storage_of(array)
    if isinstance(memory.memory, cupy.cuda.UnownedMemory) or not memory.size:
        return None  # CUDA gives no handles of what it did not allocate here
    with array.device as device:
        device.synchronize()
        handle = runtime.ipcGetMemHandle(memory.ptr)
    return _OFFSET.pack(memory.ptr - _allocation(memory.ptr)) + handle


def _allocation(pointer: int) -> int:
    """Where the allocation begins that a pointer is in: CuPy's pool hands out parts of them."""
    driver = ctypes.CDLL("libcuda.so.1")
    start, size = ctypes.c_uint64(), ctypes.c_size_t()
    find = driver.cuMemGetAddressRange_v2
    failed = find(ctypes.byref(start), ctypes.byref(size), ctypes.c_uint64(pointer))
    if failed:
        raise RuntimeError(f"CUDA knows no allocation at {pointer:#x}: error {failed}")
    return start.value


def imported(handle: bytes, nbytes: int, index: int, release: Callable[[], None]) -> Array:
    """Bytes over the storage that another process exported."""
    opened = _Opened(handle[_OFFSET.size :], index, release)
    (offset,) = _OFFSET.unpack_from(handle)
    memory = cupy.cuda.UnownedMemory(opened.start + offset, nbytes, opened, index)
    return cupy.ndarray((nbytes,), "uint8", cupy.cuda.MemoryPointer(memory, 0))
