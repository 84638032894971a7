"""A base class for devices that compute shapes, dtypes and strides, and no values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tensorbus._base.dtypes import ALL, STORED, bool, int32, int64
from tensorbus._base.errors import OutOfMemoryError
from tensorbus._base.size import contiguous_strides
from tensorbus.plugin.backend import Backend, Capabilities, DType, Kernel, Traits
from tensorbus.plugin.groups import GROUP_RESULTS, Results
from tensorbus.plugin.primitives import PRIMITIVE_TABLE, Primitive

Shape = tuple[int, ...]


class ShapeStorage:
    """So many bytes that nobody holds."""

    __slots__ = ("__weakref__", "nbytes")

    def __init__(self, nbytes: int):
        self.nbytes = nbytes


class ShapeArray:
    """An array without elements' values."""

    __slots__ = ("offset", "shape", "storage", "strides")

    def __init__(self, shape: Shape, strides: Shape, offset: int, storage: ShapeStorage):
        self.shape, self.strides, self.offset, self.storage = shape, strides, offset, storage


class ShapeBackend(Backend):
    """One device of arrays that have a shape, strides and an offset, and memory of a size only.

    Each primitive makes an array of the shape that its rule gives, so every op of the frontend
    runs. The trait ``has_values`` is False: reading values is an error.
    """

    traits = Traits(broadcasts=True, host_sync=False, survives_fork=True, has_values=False)
    most_bytes = 1 << 63
    """The size from which a storage is refused."""

    def device_count(self) -> int:
        return 1

    def capabilities(self, index: int) -> Capabilities:
        return Capabilities("shapes without data", frozenset((*ALL, *STORED)))

    def storage(self, nbytes: int) -> ShapeStorage:
        """A new storage."""
        return ShapeStorage(nbytes)

    def empty(self, shape: Sequence[int], dtype: DType, index: int) -> ShapeArray:
        shape = tuple(shape)
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes >= self.most_bytes:
            raise OutOfMemoryError(nbytes)
        return ShapeArray(shape, contiguous_strides(shape), 0, self.storage(nbytes))

    def from_host(self, array: np.ndarray, dtype: DType, index: int) -> ShapeArray:
        return self.empty(array.shape, dtype, index)

    def to_host(self, array: ShapeArray, dtype: DType) -> np.ndarray:
        raise NotImplementedError(f"Cannot copy out of {self.name} tensor; no data!")

    def copy_(self, dst: ShapeArray, dst_dtype: DType, src: Any, src_dtype: DType | None) -> None:
        pass  # there are no values to copy

    def as_strided(
        self,
        array: ShapeArray,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: DType,
        new_dtype: DType,
    ) -> ShapeArray:
        return ShapeArray(tuple(shape), tuple(strides), offset, array.storage)

    def layout(self, array: ShapeArray, dtype: DType) -> tuple[Hashable, int, Shape]:
        return id(array.storage), array.offset, array.strides

    def storage_size(self, array: ShapeArray, dtype: DType) -> int:
        return array.storage.nbytes

    def data_ptr(self, array: ShapeArray) -> int:
        return 0

    def kernel(self, op: str, dtype: DType, index: int) -> Kernel | None:
        primitive = PRIMITIVE_TABLE.get(op)
        if op in GROUP_RESULTS:
            return functools.partial(self._several, GROUP_RESULTS[op], dtype, index)
        if primitive is None:
            return None
        if primitive.writes:
            return _written
        return functools.partial(self._made, primitive, primitive.shape, dtype, index)

    def _made(
        self,
        primitive: Primitive,
        shape: Callable[..., Shape],
        dtype: DType,
        index: int,
        *args: Any,
        out: ShapeArray | None = None,
    ) -> ShapeArray:
        if out is not None:
            return out
        target = {"bool": bool, "int64": int64, "same": dtype}.get(primitive.result) or args[-1]
        return self.empty(shape(*args), target, index)

    def _several(
        self, results: Callable[..., Results], dtype: DType, index: int, *args: Any
    ) -> Any:
        kinds = {
            "same": dtype,
            "real": dtype.to_real(),
            "complex": dtype.to_complex(),
            "int32": int32,
        }
        made = tuple(self.empty(shape, kinds[kind], index) for shape, kind in results(*args))
        return made if len(made) > 1 else made[0]


def _written(out: ShapeArray, *_: Any) -> ShapeArray:
    return out
