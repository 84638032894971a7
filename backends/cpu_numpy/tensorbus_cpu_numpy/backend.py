"""``CpuBackend``: NumPy arrays in host memory."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Callable
from sys import getrefcount
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from tensorbus.plugin import Array, ArrayLibraryBackend, Capabilities, Traits, dtype
from tensorbus.plugin.array_library import quietly
from tensorbus.plugin.array_library.narrow import UNSIGNED, dtype_by_name, narrow_dtype
from tensorbus.plugin.array_library.table import (
    COMPLEX,
    FLOAT,
    INTEGER,
    Table,
    category,
    silence,
)
from tensorbus_cpu_numpy import (
    activations,
    bags,
    convolution,
    ctc,
    equations,
    error_functions,
    fourier,
    fused,
    indexing,
    joining,
    linear_algebra,
    logarithms,
    losses,
    lstm,
    memory,
    normalization,
    ordering,
    pooling,
    probabilities,
    products,
    recurrent,
    sampling,
    scans,
    selection,
    special_functions,
    spectra,
    sums,
    symmetric_indefinite,
    threads,
    top,
    transposing,
    views,
)
from tensorbus_cpu_numpy.narrow import WAYS

silence("tensorbus_cpu_numpy")
memory.keep_freed()

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
        scans.TABLE,
        selection.TABLE,
        indexing.TABLE,
        ordering.TABLE,
        top.TABLE,
        products.TABLE,
        fused.TABLE,
        activations.TABLE,
        probabilities.TABLE,
        views.TABLE,
        convolution.TABLE,
        pooling.TABLE,
        losses.TABLE,
        ctc.TABLE,
        bags.TABLE,
        sampling.TABLE,
        normalization.TABLE,
        recurrent.TABLE,
        lstm.TABLE,
        joining.TABLE,
        linear_algebra.TABLE,
        equations.TABLE,
        spectra.TABLE,
        fourier.TABLE,
        special_functions.TABLE,
        error_functions.TABLE,
        logarithms.TABLE,
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

    def copy_(self, dst: Array, dst_dtype: dtype, src: Array, src_dtype: dtype | None) -> None:
        if src_dtype is not dst_dtype:
            if src_dtype is not None and _by_numpy(src_dtype, dst_dtype):
                quietly(np.copyto, dst, src, "unsafe")
            else:
                super().copy_(dst, dst_dtype, src, src_dtype)
        elif src.size < transposing.MANY:
            dst[...] = src
        else:
            transposing.write(dst, src)

    def as_array(self, result: Any, dtype: dtype, index: int) -> Array:
        if type(result) is np.ndarray and result.flags.writeable:
            return result  # no constant, which is shared
        if narrow_dtype(dtype):
            return super().as_array(result, dtype, index)
        return np.array(result, self.dtype(dtype))

    def view_host(self, array: Array, dtype: dtype) -> np.ndarray:
        return array.view(f"u{array.itemsize}") if narrow_dtype(dtype) else array.view()

    def owns_storage(self, array: Array) -> bool:
        """Also for the one view of all of an array that no one else holds, as kernels return."""
        root = array.base
        if root is None:
            return True
        whole = type(root) is np.ndarray and root.base is None and root.nbytes == array.nbytes
        return whole and getrefcount(root) <= _HELD_ONCE

    def compile_source(self, source: str, name: str, index: int) -> Callable[..., None]:
        from tensorbus_cpu_numpy.sources import compile_source  # it starts processes: rarely wanted

        return compile_source(source, name)

    def dlpack_device(self, index: int) -> tuple[int, int]:
        """The host's."""
        return 1, 0

    def set_num_threads(self, n: int) -> None:
        """Use *n* threads where kernels split their work, and in BLAS where that can be set."""
        threads.set_count(n)


def _held_once() -> int:
    """What ``getrefcount`` says in ``owns_storage`` of an array that one view alone holds."""
    view = np.empty(4).reshape(2, 2)
    root = view.base
    return getrefcount(root)


_HELD_ONCE = _held_once()


@functools.cache
def _by_numpy(src: dtype, dst: dtype) -> bool:
    """Whether NumPy converts as ``copy_`` is to, so that no array need lie between."""
    if narrow_dtype(src) or narrow_dtype(dst):
        return False
    differs = {FLOAT: (INTEGER,), COMPLEX: (INTEGER, FLOAT)}
    return category(dst) not in differs.get(category(src), ())


def _memory_total() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
