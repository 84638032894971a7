"""The array of devices that have no array type of their own."""

from __future__ import annotations

from math import prod
from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus._base.size import contiguous_strides, is_row_major


class Storage:
    """A block of device memory; views of it share the one object."""

    __slots__ = ("__weakref__", "buffer", "index", "nbytes")

    def __init__(self, buffer: Any, nbytes: int, index: int):
        self.buffer = buffer
        self.nbytes = nbytes
        self.index = index


class StridedArray:
    """A view of a storage: shape, strides and offset count elements of *dtype*.

    ``flat`` says that the array is row-major without gaps.
    """

    __slots__ = ("buffer", "dtype", "flat", "offset", "shape", "storage", "strides")

    def __init__(
        self,
        storage: Storage,
        dtype: dtype,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
        flat: bool,
    ):
        self.storage = storage
        self.buffer = storage.buffer
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.flat = flat

    def __repr__(self) -> str:
        return (
            f"StridedArray(shape={self.shape}, dtype={self.dtype.name}, "
            f"strides={self.strides}, offset={self.offset})"
        )


_row_major: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}


def row_major(shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The strides of a dense array of that shape, and how many elements it has."""
    found = _row_major.get(shape)
    if found is None:
        if len(_row_major) > 4096:
            _row_major.clear()
        found = _row_major[shape] = contiguous_strides(shape), prod(shape)
    return found


def view(
    array: StridedArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> StridedArray:
    """Another view of the same storage with the same dtype."""
    return StridedArray(
        array.storage, array.dtype, shape, strides, offset, is_row_major(shape, strides)
    )
