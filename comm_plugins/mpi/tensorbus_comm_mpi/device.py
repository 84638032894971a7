"""GPU arrays, which an MPI library that is built for it takes as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array


def holds(array: Array) -> bool:
    """Whether the array is in a GPU's memory."""
    return not isinstance(array, np.ndarray)


def like(array: Array, count: int) -> Any:
    """New memory beside the array's, of its dtype."""
    return np.empty_like(array, shape=(count,))


def values(array: Array) -> bytes:
    """The bytes of an array, on the host."""
    return array.get().tobytes() if holds(array) else array.tobytes()


def fill(array: Array, data: np.ndarray) -> None:
    """Write an array from one of its size and dtype on the host."""
    if holds(array):
        array.set(data)
    else:
        array[...] = data


def settle(array: Array) -> None:
    """Wait until a GPU has done what was asked of it: MPI does not know of its queue."""
    if holds(array):
        import cupy

        cupy.cuda.get_current_stream().synchronize()
