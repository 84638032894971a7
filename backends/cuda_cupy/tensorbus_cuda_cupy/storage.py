"""Which memory an array of CuPy is a view of.

CuPy's pool hands out more than was asked for, and an array made over a pointer does not know what
it is a view of: here such a view's memory says so.
"""

from __future__ import annotations

from collections.abc import Hashable

import cupy

from tensorbus.plugin import Array


class Storage(cupy.cuda.UnownedMemory):  # type: ignore[misc]
    """The memory of an array, as large as the array: what views of it are made over."""

    def __init__(self, root: Array):
        self.memory = root.data.mem
        super().__init__(root.data.mem.ptr, root.nbytes, self.memory, root.device.id)


def storage_of(array: Array) -> Storage:
    """The storage that *array* is a view of, to make further views of."""
    memory = array.data.mem
    return memory if isinstance(memory, Storage) else Storage(_root(array))


def storage_key(array: Array) -> Hashable:
    """Equal for arrays that share memory, and for them alone, while they live."""
    memory = array.data.mem
    return id(memory.memory if isinstance(memory, Storage) else memory)


def storage_size(array: Array) -> int:
    """The bytes that were asked for, of which the pool's block may have more."""
    memory = array.data.mem
    return memory.size if isinstance(memory, Storage) else _root(array).nbytes


def is_whole(array: Array) -> bool:
    """Whether *array* was allocated, and is no view of another."""
    return array.base is None and not isinstance(array.data.mem, Storage)


def _root(array: Array) -> Array:
    return array if array.base is None else array.base
