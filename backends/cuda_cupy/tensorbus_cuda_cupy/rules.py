"""What CuPy does otherwise than NumPy, independent of a GPU: the tables are written over ``xp``."""

from __future__ import annotations

from typing import Any, ClassVar

from tensorbus.plugin import Array, ArrayLibraryBackend, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.runtime import host_scalar
from tensorbus_cuda_cupy import arithmetic, indexing, reductions
from tensorbus_cuda_cupy.faults import Faults


class CudaRules(ArrayLibraryBackend):
    """The kernels and casts of ``cuda``, for any array module."""

    tables: ClassVar[tuple[Table, ...]] = (
        arithmetic.TABLE,
        reductions.TABLE,
        *ArrayLibraryBackend.tables,
    )

    def __init__(self) -> None:
        self.faults = Faults(self.xp)

    def device_of(self, array: Array) -> int:
        """The number of the device *array* is on."""
        return 0

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        maker = indexing.MAKERS.get(op)
        if maker is not None:
            return maker(self.xp, dtype, self.faults, index)
        return super().kernel(op, dtype, index)

    def cast(self, src: Array, src_dtype: dtype, dst_dtype: dtype) -> Array:
        # A conversion to bool may look at a part of the bits; a comparison may not.
        if dst_dtype.name == "bool":
            return src != 0
        return super().cast(src, src_dtype, dst_dtype)

    def scalar(self, value: bool | int | float | complex, dtype: dtype) -> Any:
        """A NumPy scalar: it travels as a kernel's argument and needs no memory on the device."""
        return host_scalar(value, dtype)[()]
