"""Sorts, which CuPy has as machine code of Thrust."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from cuda_host import libraries


def install() -> None:
    """Put the host's sorts into the module that CuPy calls."""
    from cupy.cuda import thrust

    thrust.argsort = _argsort
    thrust.sort = _sort


def _memory(address: int, count: int, dtype: Any) -> np.ndarray:
    size = count * np.dtype(dtype).itemsize
    return (
        np.frombuffer((ctypes.c_char * size).from_address(address), dtype)
        if size
        else np.empty(0, dtype)
    )


def _argsort(dtype: Any, indices: int, data: int, keys: int, shape: tuple[int, ...]) -> None:
    """Sorts *data* along the last dimension too, as Thrust does."""
    libraries.device().host_launched(b"thrust argsort")
    count = math.prod(shape)
    values = _memory(data, count, dtype).reshape(shape)
    order = np.argsort(values, -1, kind="stable")
    _memory(indices, count, np.int64).reshape(shape)[...] = order
    values[...] = np.take_along_axis(values, order, -1)


def _sort(dtype: Any, data: int, keys: int, shape: tuple[int, ...]) -> None:
    libraries.device().host_launched(b"thrust sort")
    values = _memory(data, math.prod(shape), dtype).reshape(shape)
    values.sort(-1)
