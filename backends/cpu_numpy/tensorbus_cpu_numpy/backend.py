"""``CpuBackend``: NumPy arrays in host memory."""

from __future__ import annotations

import os
import platform
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from tensorbus.plugin import Array, ArrayLibraryBackend, Capabilities, Traits, dtype
from tensorbus.plugin.array_library.narrow import UNSIGNED, dtype_by_name, narrow_dtype
from tensorbus.plugin.array_library.table import Table, silence
from tensorbus_cpu_numpy import (
    convolution,
    equations,
    fourier,
    fused,
    indexing,
    joining,
    linear_algebra,
    losses,
    ordering,
    pooling,
    products,
    selection,
    special_functions,
    spectra,
    sums,
    symmetric_indefinite,
    threads,
    views,
)
from tensorbus_cpu_numpy.narrow import WAYS

silence("tensorbus_cpu_numpy")

_X86 = platform.machine().lower() in ("x86_64", "amd64")


class CpuBackend(ArrayLibraryBackend):
    """The CPU, through NumPy.

    >>> CpuBackend().kernel("add", tensorbus.float32, 0)
    <ufunc 'add'>
    """

    name = "cpu"
    xp: ClassVar[Any] = np
    traits: ClassVar[Traits] = Traits(
        broadcasts=True,
        takes_empty=True,
        contiguous_inputs=False,
        negative_strides=True,
        strided_out=True,
        host_sync=True,
        scalar_results=True,
        python_scalars=True,
        survives_fork=True,
        deterministic_scatter=True,
        piece=32768,
    )

    narrow = MappingProxyType({dtype_by_name(name): way for name, way in WAYS.items()})
    tables: ClassVar[tuple[Table, ...]] = (
        sums.TABLE,
        selection.TABLE,
        indexing.TABLE,
        ordering.TABLE,
        products.TABLE,
        fused.TABLE,
        views.TABLE,
        convolution.TABLE,
        pooling.TABLE,
        losses.TABLE,
        joining.TABLE,
        linear_algebra.TABLE,
        equations.TABLE,
        spectra.TABLE,
        fourier.TABLE,
        special_functions.TABLE,
        symmetric_indefinite.TABLE,
        *ArrayLibraryBackend.tables,
    )

    def capabilities(self, index: int) -> Capabilities:
        base = super().capabilities(index)
        details = {
            "numpy": np.__version__,
            "threads": str(threads.count()),
            **dict.fromkeys(
                ("linear algebra", "Fourier transforms", "special functions"),
                linear_algebra.library(),
            ),
        }
        return Capabilities(
            name=platform.processor() or platform.machine() or "cpu",
            dtypes=base.dtypes | UNSIGNED,
            memory_total=_memory_total(),
            details=details,
        )

    def share_host(self, array: np.ndarray, dtype: dtype) -> Array | None:
        """The array itself, or None where its offset in the storage is no whole element."""
        size = array.itemsize
        if (
            narrow_dtype(dtype)
            or array.dtype != self.dtype(dtype)
            or not array.dtype.isnative
            or not array.flags.aligned
        ):
            return None
        if any(stride % size for stride in array.strides):
            return None
        if type(array) is not np.ndarray:
            array = array.view(np.ndarray)
        root = self.root(array)
        if (self.address(array) - self.extent(root)[0]) % size:
            return None
        return array

    def truncated(self, src: Array, dtype: dtype) -> Array:
        # These processors' own instructions do what is to be done, in one pass.
        if _X86 and dtype.name != "uint64":
            wide = np.int32 if dtype.name == "int32" else np.int64
            return src.astype(wide).astype(self.dtype(dtype), copy=False)
        return super().truncated(src, dtype)

    def view_host(self, array: Array, dtype: dtype) -> np.ndarray:
        return array.view(f"u{array.itemsize}") if narrow_dtype(dtype) else array.view()

    def dlpack_device(self, index: int) -> tuple[int, int]:
        """The host's."""
        return 1, 0

    def set_num_threads(self, n: int) -> None:
        """Use *n* threads where kernels split their work, and in BLAS where that can be set."""
        threads.set_count(n)


def _memory_total() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
