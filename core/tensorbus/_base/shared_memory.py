"""Host memory that several processes use: an open file without a name.

Nothing has to be removed. The system frees it when the last process that holds it closes it or
dies, however it dies.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

CAN_SHARE = os.name == "posix"


class SharedMemory(mmap.mmap):
    """A mapping that a forked process shares, and others by the descriptor of its file."""

    descriptor: int

    @classmethod
    def of(cls, descriptor: int, nbytes: int) -> SharedMemory:
        """The memory of an open file, whose descriptor it closes when it goes."""
        made = cls(descriptor, max(nbytes, 1))
        made.descriptor = descriptor
        return made

    @classmethod
    def new(cls, nbytes: int) -> SharedMemory:
        """New memory of zeros."""
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("tensorbus", os.MFD_CLOEXEC)
        else:
            import tempfile  # here: it takes longer to import than the rest of this room

            descriptor, name = tempfile.mkstemp()
            os.unlink(name)
        try:
            os.ftruncate(descriptor, max(nbytes, 1))
            return cls.of(descriptor, nbytes)
        except BaseException:
            os.close(descriptor)
            raise

    def bytes_(self, nbytes: int) -> np.ndarray:
        """The memory as a uint8 array, which keeps it."""
        return np.ndarray((nbytes,), np.uint8, self)

    def __del__(self) -> None:
        descriptor, self.descriptor = getattr(self, "descriptor", -1), -1
        if descriptor >= 0:
            os.close(descriptor)


def root_of(array: np.ndarray) -> np.ndarray:
    """The array that an array is a view of, or itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def memory_of(array: Any) -> SharedMemory | None:
    """The shared memory that a NumPy array lies in, if it does."""
    if not isinstance(array, np.ndarray):
        return None
    base = root_of(array).base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, SharedMemory) else None
