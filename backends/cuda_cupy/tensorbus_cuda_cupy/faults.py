"""Indices checked on the device, without waiting for it.

Four integers per device, ``(set, value, dim, n)``, keep the first fault. Kernels write them;
whoever reads results next reads them and raises.
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
    """The pending index faults of all devices."""

    def __init__(self) -> None:
        self._words: dict[int, Array] = {}
        self._pending: set[int] = set()

    def words(self, index: int) -> Array:
        """What a kernel that is launched now writes its fault to."""
        found = self._words.get(index)
        if found is None:
            with cupy.cuda.Device(index):
                found = self._words[index] = cupy.zeros(4 + LOCKS, np.int64)
        self._pending.add(index)
        return found

    def raise_pending(self, index: int) -> None:
        """Raise the device's first fault, if there is one, and forget it."""
        if index not in self._pending:
            return
        self._pending.discard(index)
        words = self._words[index][:4]
        found, value, dim, n = words.tolist()
        if found:
            words.fill(0)
            raise IndexFault(value, dim, n)
