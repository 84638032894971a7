"""What CuPy's memory pool gave, with the peaks, which the pool does not keep."""

from __future__ import annotations

from typing import Any

import cupy

_UNIT = 512
"""CuPy's pool gives whole multiples of so many bytes."""


class Memory:
    """Counts what the default pool gives, for each device.

    It stands before the pool as CuPy's allocator, unless the program has chosen another one: then
    only what the pool itself knows is told.
    """

    def __init__(self) -> None:
        self._pool = cupy.get_default_memory_pool()
        self._peak: dict[int, int] = {}
        self._reserved_peak: dict[int, int] = {}
        self._total: dict[int, int] = {}
        if cupy.cuda.get_allocator() == self._pool.malloc:
            cupy.cuda.set_allocator(self._allocate)

    def _allocate(self, size: int) -> Any:
        pool = self._pool
        made = pool.malloc(size)
        index = made.device_id
        self._total[index] = self._total.get(index, 0) - (-size // _UNIT * _UNIT)
        used = pool.used_bytes()
        if used > self._peak.get(index, 0):
            self._peak[index] = used
        return made

    def stats(self, index: int) -> dict[str, int]:
        """The figures of ``Backend.memory_stats``."""
        with cupy.cuda.Device(index) as device:
            used, held = self._pool.used_bytes(), self._pool.total_bytes()
            free: int = device.mem_info[0]
        peak = self._reserved_peak[index] = max(held, self._reserved_peak.get(index, 0))
        found = {"allocated": used, "reserved": held, "reserved_peak": peak, "free": free}
        if cupy.cuda.get_allocator() == self._allocate:
            found["allocated_peak"] = max(used, self._peak.get(index, 0))
            found["allocated_total"] = self._total.get(index, 0)
        return found

    def reset_peaks(self, index: int) -> None:
        """Let the peaks begin again, at what is in use now."""
        with cupy.cuda.Device(index):
            self._peak[index] = self._pool.used_bytes()
            self._reserved_peak[index] = self._pool.total_bytes()

    def free_held(self) -> None:
        """Give the memory that no array has back to the driver."""
        for index in range(cupy.cuda.runtime.getDeviceCount()):
            self.stats(index)  # the peak of what was reserved is here, if anywhere
        self._pool.free_all_blocks()
