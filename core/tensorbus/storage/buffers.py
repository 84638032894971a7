"""Bytes for storages that come from elsewhere: buffers of Python objects, and files."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from tensorbus._base import dtypes

_ORDERS = ("big", "little", "native")


def elements_of_buffer(
    buffer: Any, byte_order: str | None, count: int, offset: int, dtype: dtypes.dtype
) -> np.ndarray:
    """The bytes of *count* elements of a buffer, in this machine's byte order."""
    if byte_order is None and dtype.itemsize > 1:
        raise RuntimeError(
            f"from_buffer() is missing the argument 'byte_order' for {dtype}: one of {_ORDERS}"
        )
    if byte_order is not None and byte_order not in _ORDERS:
        raise ValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
        )
    whole = np.frombuffer(buffer, np.uint8)
    if not 0 <= offset <= len(whole):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({len(whole)}), but "
            f"got {offset}"
        )
    rest, width = whole[offset:], dtype.itemsize
    if count < 0:
        if len(rest) % width:
            raise ValueError(
                f"buffer size ({len(rest)}) must be a multiple of element size ({width})"
            )
        count = len(rest) // width
    if count * width > len(rest):
        raise ValueError(
            f"buffer has only {len(rest)} bytes from offset {offset} on, but {count} elements of "
            f"{width} bytes were asked for"
        )
    parts = width // 2 if dtype.is_complex else width
    rows = rest[: count * width].reshape(-1, parts)
    if byte_order not in (None, "native", sys.byteorder):
        rows = rows[:, ::-1]
    if dtype is dtypes.bool:
        rows = (rows != 0).view(np.uint8)
    return np.ascontiguousarray(rows).reshape(-1)


def mapped_file(filename: Any, shared: bool, nbytes: int) -> np.ndarray:
    """The first bytes of a file: changes go there if *shared*, else nowhere.

    A shared file is made or made larger as needed; RuntimeError for another one too small.
    """
    name = os.fspath(filename)
    if shared:
        with open(name, "ab") as file:
            if file.tell() < nbytes:
                file.truncate(nbytes)
    size = os.stat(name).st_size
    if size < nbytes:
        raise RuntimeError(
            f"file <{name}> size <{size}> is smaller than the required mapping size <{nbytes}>"
        )
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.memmap(name, np.uint8, "r+" if shared else "c", shape=(nbytes,))
