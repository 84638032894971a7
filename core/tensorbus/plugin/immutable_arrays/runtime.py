"""Memory, copies and views over immutable arrays, and what the library must bring for them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import Any, ClassVar

import numpy as np

from tensorbus._base.dtypes import INTEGER, dtype, float64, int64
from tensorbus._base.float_warnings import quietly
from tensorbus._base.rounding import as_float, truncated
from tensorbus._base.size import contiguous_strides
from tensorbus.plugin.array_library.index import UPDATES
from tensorbus.plugin.array_library.runtime import NUMPY_DTYPES, host_scalar
from tensorbus.plugin.backend import Backend, Capabilities, DType
from tensorbus.plugin.immutable_arrays.boxes import Box, Storage, padded, places

_KEPT = 1 << 16
"""Places of so many elements are kept on the device for the next view of that layout."""


class ImmutableRuntime(Backend):
    """The runtime half of ``ImmutableArrayBackend``."""

    xp: ClassVar[Any] = np
    """The library's module of functions with NumPy's names."""
    dtypes: ClassVar[dict[dtype, Any]] = NUMPY_DTYPES
    """The library's dtype for each that the device has."""

    # -- what the library does, for arrays of one dimension ------------------------------------
    def array(self, values: np.ndarray, dtype: DType) -> Any:
        """The library's array with a copy of *values*; those of bfloat16 are its bits."""
        return self.xp.array(values, self.dtypes[dtype])

    def host(self, array: Any, dtype: DType) -> np.ndarray:
        """A NumPy array with the values of one of the library's; waits for them."""
        return np.asarray(array)

    def bits(self, array: Any, dtype: DType, new_dtype: DType) -> Any:
        """The same bytes as another dtype, which divides them."""
        return array.view(self.dtypes[new_dtype])

    def cast(self, array: Any, dtype: DType, new_dtype: DType) -> Any:
        """The values in another dtype, by the rules of ``copy_``."""
        if dtype.is_complex and not new_dtype.is_complex and new_dtype.name != "bool":
            array = array.real
        if array.dtype.kind not in "biu" and new_dtype.category == INTEGER:
            return quietly(truncated, self.xp, array, new_dtype)
        return quietly(array.astype, self.dtypes[new_dtype])

    def filled(self, n: int, value: Any, dtype: DType) -> Any:
        """*n* elements of one value, from ``number``; raises ``OutOfMemoryError``."""
        return self.xp.full(n, value, self.dtypes[dtype])

    def pick(self, array: Any, index: Any, fill: Any) -> Any:
        """Elements of *array*, read as one run, at *index*; *fill* where that is past its end."""
        flat = array.reshape(-1)
        return self.xp.where(index < len(flat), flat[self.xp.clip(index, 0, len(flat) - 1)], fill)

    def placed(self, array: Any, index: Any, values: Any, op: str) -> Any:
        """*array* with *values*, many or one, joined to the elements at *index* by *op*.

        *op* is one of ``put``'s. An index past the end is none, and equal ones count each.
        """
        inside = index < len(array)
        made, values = array.copy(), np.broadcast_to(values, index.shape)[inside]
        if op == "set":
            made[index[inside]] = values
        else:
            quietly(getattr(np, UPDATES[op]).at, made, index[inside], values)
        return made

    def number(self, value: bool | int | float | complex, dtype: DType) -> Any:
        """A Python number as an array without dimensions; NumPy has no bfloat16."""
        if dtype.name == "bfloat16":
            real = as_float(value.real, dtype)
            return self.cast(self.array(np.array(real), float64), float64, dtype)
        return self.array(host_scalar(value, dtype), dtype)

    def capacity(self, n: int) -> int:
        """How many elements an array of *n* has with the padding at its end.

        A library that compiles for each shape asks for few of them; 1 stays 1.
        """
        return n

    # -- boxes ---------------------------------------------------------------------------------
    @cached_property
    def _names(self) -> dict[Any, DType]:
        return {np.dtype(theirs): ours for ours, theirs in self.dtypes.items()}

    @cached_property
    def _places(self) -> Any:
        return lru_cache(1024)(lambda *layout: self.array(places(*layout), int64))

    def boxed(self, flat: Any, shape: Sequence[int]) -> Box:
        """A new array over one of the library's, of ``capacity`` elements in row-major order."""
        shape = tuple(shape)
        dtype = self._names[flat.dtype]
        storage = Storage(flat, dtype, prod(shape) * dtype.itemsize)
        return Box(storage, dtype, shape, contiguous_strides(shape), 0)

    def contents(self, storage: Storage, dtype: DType) -> Any:
        """All that a storage holds, as elements of *dtype*."""
        flat, held = storage.held
        if held is dtype:
            return flat
        missing = -len(flat) * held.itemsize % dtype.itemsize
        if missing:
            tail = self.filled(missing // held.itemsize, self.number(0, held), held)
            flat = self.xp.concatenate([flat, tail])
        return self.bits(flat, held, dtype)

    def index_of(self, box: Box) -> Any:
        """The places of a box's elements, with padding, as an array of the library."""
        room = self.capacity(box.size)
        layout = box.shape, box.strides, box.offset, room
        return self._places(*layout) if room <= _KEPT else self.array(places(*layout), int64)

    def read(self, box: Box) -> Any:
        """The elements in row-major order, with padding of any values."""
        flat = self.contents(box.storage, box.dtype)
        if box.contiguous and box.offset == 0 and len(flat) == self.capacity(box.size):
            return flat
        return self.pick(flat, self.index_of(box), self.number(0, box.dtype))

    def write(self, box: Box, flat: Any) -> None:
        """Make *flat*, in row-major order with padding, the box's elements."""
        storage = box.storage
        whole = box.contiguous and box.size * box.dtype.itemsize == storage.nbytes
        if whole:
            storage.held = flat, box.dtype
            return
        index = self.index_of(box)
        with storage.lock:
            old = self.contents(storage, box.dtype)
            storage.held = self.placed(old, index, flat, "set"), box.dtype

    # -- devices -------------------------------------------------------------------------------
    def device_count(self) -> int:
        return 1

    def capabilities(self, index: int) -> Capabilities:
        return Capabilities(self.name, frozenset(self.dtypes))

    # -- memory --------------------------------------------------------------------------------
    def empty(self, shape: Sequence[int], dtype: DType, index: int) -> Box:
        n = self.capacity(prod(shape))
        return self.boxed(self.filled(n, self.number(0, dtype), dtype), shape)

    def from_host(self, array: np.ndarray, dtype: DType, index: int) -> Box:
        flat = padded(np.ravel(array), self.capacity(array.size))
        return self.boxed(self.array(flat, dtype), array.shape)

    def to_host(self, array: Box, dtype: DType) -> np.ndarray:
        flat = self.host(self.read(array), dtype)
        return np.array(flat[: array.size]).reshape(array.shape)

    def copy_(self, dst: Box, dst_dtype: DType, src: Any, src_dtype: DType | None) -> None:
        if 0 in dst.shape:
            return
        if src_dtype is None:
            value = self.number(src, dst_dtype)
            flat = self.filled(self.capacity(dst.size), value, dst_dtype)
        else:
            flat = self.read(src)
            if src_dtype is not dst_dtype:
                flat = self.cast(flat, src_dtype, dst_dtype)
        self.write(dst, flat)

    def scalar(self, value: bool | int | float | complex, dtype: DType) -> Box:
        return self.boxed(self.number(value, dtype).reshape(1), ())

    # -- views ---------------------------------------------------------------------------------
    def as_strided(
        self,
        array: Box,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: DType,
        new_dtype: DType,
    ) -> Box:
        return Box(array.storage, new_dtype, tuple(shape), tuple(strides), offset)

    def layout(self, array: Box, dtype: DType) -> tuple[Hashable, int, tuple[int, ...]]:
        return array.storage, array.offset, array.strides

    def storage_size(self, array: Box, dtype: DType) -> int:
        return array.storage.nbytes

    def data_ptr(self, array: Box) -> int:
        return id(array.storage) + array.offset * array.dtype.itemsize

    def is_contiguous(self, array: Box, dtype: DType) -> bool:
        return array.contiguous
