"""Copies by way of the host, so that a device works before it can compile a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from tensorbus.plugin import KernelLanguageBackend, dtype
from tensorbus.plugin.kernel_language import StridedArray


class HostCopies(KernelLanguageBackend):
    """A kernel-language backend that gets along with ``alloc``, ``upload`` and ``download``."""

    @property
    def compiles(self) -> bool:
        """Whether the base class may use kernels for copies."""
        raise NotImplementedError

    def to_host(self, array: StridedArray, dtype: dtype) -> np.ndarray:
        """A NumPy array with a copy of the values."""
        if array.flat or self.compiles:
            return super().to_host(array, dtype)
        return _view(self._memory(array), array).copy()

    def copy_(self, dst: StridedArray, dst_dtype: dtype, src: Any, src_dtype: dtype | None) -> None:
        """Write *src*, an array or a number, into *dst*."""
        if self.compiles:
            super().copy_(dst, dst_dtype, src, src_dtype)
            return
        memory = self._memory(dst)
        values = self.scalar(src, dst_dtype) if src_dtype is None else self.to_host(src, src_dtype)
        with np.errstate(all="ignore"):
            if dst_dtype.name in ("uint8", "int8", "int16") and isinstance(values, np.ndarray):
                # C leaves floats out of range undefined; tensorbus truncates to int64 first.
                values = values.astype(np.int64) if values.dtype.kind == "f" else values
            _view(memory, dst)[...] = values
        with self.lock:
            self.upload(dst.storage.index, dst.buffer, memory)

    def _memory(self, array: StridedArray) -> np.ndarray:
        """The bytes of the whole storage of an array."""
        memory = np.empty(array.storage.nbytes, np.uint8)
        with self.lock:
            self.download(array.storage.index, array.buffer, 0, memory)
        return memory


def _view(memory: np.ndarray, array: StridedArray) -> np.ndarray:
    size, kind = array.dtype.itemsize, np.dtype(array.dtype.name)
    if 0 in array.shape:
        return np.empty(array.shape, kind)
    strides = [stride * size for stride in array.strides]
    return np.ndarray(array.shape, kind, memory, array.offset * size, strides)
