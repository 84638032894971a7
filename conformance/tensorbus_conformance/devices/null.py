"""The device ``null``: shapes and dtypes, no data and no computing.

A program runs on it with its real sizes, in no memory and hardly any time: all values read as 0.
That shows errors of shape, dtype and device, what the frontend itself costs, and, by
``tensorbus.accelerator.memory_allocated("null")``, how much memory the tensors would take.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import (
    POINTWISE,
    PRIMITIVE_TABLE,
    REDUCTIONS,
    SCANS,
    Backend,
    BackendSpec,
    Capabilities,
    Kernel,
    OutOfMemoryError,
    Traits,
    hookimpl,
)
from tensorbus.plugin import dtype as DType
from tensorbus_conformance import formats
from tensorbus_conformance.layouts import row_major
from tensorbus_conformance.primitives import result_dtype


class Storage:
    """So many bytes that nobody holds; they count as allocated while it lives."""

    __slots__ = ("counter", "nbytes")

    def __init__(self, nbytes: int, counter: list[int]):
        self.nbytes, self.counter = nbytes, counter
        counter[0] += nbytes

    def __del__(self) -> None:
        self.counter[0] -= self.nbytes


class NullArray:
    """An array without elements' values."""

    __slots__ = ("offset", "shape", "storage", "strides")

    def __init__(
        self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, storage: Storage
    ):
        self.shape, self.strides, self.offset, self.storage = shape, strides, offset, storage


class NullBackend(Backend):
    """A device that keeps shapes and forgets values."""

    name = "null"
    traits = Traits(broadcasts=True, takes_empty=True, survives_fork=True)

    def __init__(self) -> None:
        self._allocated = [0]

    def device_count(self) -> int:
        return 1

    def capabilities(self, index: int) -> Capabilities:
        return Capabilities("shapes without data, for tests", frozenset(formats.ALL))

    def memory_allocated(self, index: int) -> int:
        return self._allocated[0]

    def empty(self, shape: Sequence[int], dtype: DType, index: int) -> NullArray:
        shape = tuple(shape)
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes >= 1 << 56:  # no machine can address so much
            raise OutOfMemoryError(nbytes)
        storage = Storage(nbytes, self._allocated)
        return NullArray(shape, row_major(shape), 0, storage)

    def from_host(self, array: np.ndarray, dtype: DType, index: int) -> NullArray:
        return self.empty(array.shape, dtype, index)

    def to_host(self, array: NullArray, dtype: DType) -> np.ndarray:
        return np.zeros(array.shape, formats.host_dtype(dtype))

    def copy_(self, dst: NullArray, dst_dtype: DType, src: Any, src_dtype: DType | None) -> None:
        pass  # there are no values to copy

    def as_strided(
        self,
        array: NullArray,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: DType,
        new_dtype: DType,
    ) -> NullArray:
        return NullArray(tuple(shape), tuple(strides), offset, array.storage)

    def layout(self, array: NullArray, dtype: DType) -> tuple[Hashable, int, tuple[int, ...]]:
        return id(array.storage), array.offset, array.strides

    def storage_size(self, array: NullArray, dtype: DType) -> int:
        return array.storage.nbytes

    def data_ptr(self, array: NullArray) -> int:
        return id(array.storage) + array.offset

    def kernel(self, op: str, dtype: DType, index: int) -> Kernel | None:
        shape = _SHAPES.get(op)
        if shape is None:
            return None
        return functools.partial(self._call, op, shape, dtype, index)

    def _call(
        self,
        op: str,
        shape: Callable[..., Sequence[int]],
        dtype: DType,
        index: int,
        *args: Any,
        out: NullArray | None = None,
    ) -> NullArray:
        if PRIMITIVE_TABLE[op].writes:
            written: NullArray = args[0]
            return written
        if out is not None:
            return out
        return self.empty(shape(*args), _result_dtype(op, dtype, args), index)


def _result_dtype(op: str, dtype: DType, args: Sequence[Any]) -> DType:
    if PRIMITIVE_TABLE[op].result == "given":
        named: DType = args[-1]
        return named
    return result_dtype(op, dtype)


def _pointwise(*args: Any) -> Sequence[int]:
    return np.broadcast_shapes(*(x.shape for x in args if isinstance(x, NullArray)))


def _reduced(x: NullArray, dims: int | Sequence[int], *_: Any) -> Sequence[int]:
    gone = (dims,) if isinstance(dims, int) else dims
    return [n for d, n in enumerate(x.shape) if d not in gone]


def _product(a: NullArray, b: NullArray, *_: Any) -> Sequence[int]:
    return *np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]


def _taken(x: NullArray, dim: int, i: NullArray, *_: Any) -> Sequence[int]:
    return *x.shape[:dim], *i.shape, *x.shape[dim + 1 :]


_SHAPES: dict[str, Callable[..., Sequence[int]]] = {
    **dict.fromkeys(POINTWISE, _pointwise),
    **dict.fromkeys(REDUCTIONS, _reduced),
    **dict.fromkeys([*SCANS, "argsort"], lambda x, *_: x.shape),
    "matmul": _product,
    "take": _taken,
    "gather": lambda x, dim, i: i.shape,
    "put": lambda out, *_: out.shape,
    "scatter": lambda out, *_: out.shape,
    "arange": lambda n, *_: (n,),
    "random_bits": lambda key, offset, n: (n,),
}


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """The backend of device type ``null``."""
    return BackendSpec(name="null", load=NullBackend, api=2)
