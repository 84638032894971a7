"""Indices checked on the device, without waiting for it.

Four integers per stream, ``(set, value, dim, n)``, keep the first fault. Kernels write them;
whoever reads results in that stream next reads them and raises.
"""

from __future__ import annotations

import cupy
import numpy as np

from tensorbus.plugin import Array, IndexFault

FAULT = """
FUNCTION void fault_at(const i64 *words, i64 given, i64 dim, i64 n) {
    i64 *to = const_cast<i64 *>(words);
    if (atomicCAS((u64 *)to, (u64)0, (u64)1) == 0) { to[1] = given; to[2] = dim; to[3] = n; }
}
FUNCTION u64 *locks_of(const i64 *words) { return (u64 *)const_cast<i64 *>(words) + 4; }
"""
LOCKS = 1024
"""So many locks follow the words, for the updates that have no atomic instruction."""


class Faults:
    """The pending index faults of all devices and streams."""

    def __init__(self) -> None:
        self._words: dict[tuple[int, int], Array] = {}
        self._pending: set[tuple[int, int]] = set()

    def words(self, index: int) -> Array:
        """What a kernel that is launched now writes its fault to."""
        key = index, cupy.cuda.get_current_stream(index).ptr
        found = self._words.get(key)
        if found is None:
            with cupy.cuda.Device(index):
                found = self._words[key] = cupy.zeros(4 + LOCKS, np.int64)
        self._pending.add(key)
        return found

    def raise_pending(self, index: int, stream: int | None = None) -> None:
        """Raise the first fault of a stream's work, which is done, and forget it.

        None is the current stream of the calling thread.
        """
        if not self._pending:
            return
        handle = cupy.cuda.get_current_stream(index).ptr if stream is None else stream
        key = index, handle
        if key not in self._pending:
            return
        self._pending.discard(key)
        with cupy.cuda.Device(index):
            words = self._words[key][:4]
            found, value, dim, n = words.tolist()
            if found:
                words.fill(0)
        if found:
            raise IndexFault(value, dim, n)

    def raise_all(self, index: int) -> None:
        """Raise the first fault of any stream of a device, where the work of all is done."""
        for device, stream in list(self._pending):
            if device == index:
                self.raise_pending(index, stream)
