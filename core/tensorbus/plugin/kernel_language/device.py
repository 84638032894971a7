"""One device of a kernel-language backend: allocation, compiled kernels, pending faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus._base.errors import OutOfMemoryError
from tensorbus.plugin.faults import TELLING, IndexFault
from tensorbus.plugin.kernel_language.array import Storage, StridedArray, row_major
from tensorbus.plugin.kernel_language.types import definitions
from tensorbus.plugin.kernel_language.vector_maths import vector_maths

if TYPE_CHECKING:
    from tensorbus.plugin.kernel_language.backend import KernelLanguageBackend

Launch = Callable[..., None]
"""``launch(global_size, *arguments)`` queues a kernel; the size is a tuple of one or two ints."""

FAULT = """
FUNCTION void fault_at(GLOBAL i64 *fault, i64 value, i64 dim, i64 n) {
    if (CAS32((GLOBAL u32 *)fault, 0u, 1u) == 0u) {
        fault[1] = value; fault[2] = dim; fault[3] = n;
    }
}
"""
"""Keeps the first fault in the device's four words: (1 if any, value, dim, n)."""

INDEX_AT = """
FUNCTION i64 index_at(GLOBAL i64 *fault, i64 given, i64 wrap, i64 dim, i64 n) {
    i64 index = wrap && given < 0 ? given + n : given;
    if (index >= 0 && index < n) return index;
    fault_at(fault, given, dim, n);
    return -1;
}
"""
"""The index that was given, or -1 after keeping the fault that it is outside."""


_UNSIGNED = {"w16": 16, "u32": 32, "u64": 64}


def _as_signed(types: Sequence[str | None]) -> list[str | None]:
    """The types of arguments for backends, which pass numbers of signed types: the bits are equal,
    so a kernel takes them for unsigned ones."""
    return [f"i{_UNSIGNED[t]}" if t in _UNSIGNED else t for t in types]


def _with_unsigned(launch: Launch, types: Sequence[str | None]) -> Launch:
    """The launch for arguments of which some are unsigned numbers."""
    bits = [(at, _UNSIGNED[t]) for at, t in enumerate(types) if t in _UNSIGNED]

    def signed(size: tuple[int, ...], *arguments: Any) -> None:
        given = list(arguments)
        for at, n in bits:
            given[at] = int(given[at]) - (int(given[at]) >> (n - 1) << n)
        launch(size, *given)

    return signed


class DeadInChild:
    """Takes the place of a backend's lock in a forked child, where its devices do not work."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> None:
        raise RuntimeError(
            f"the device '{self.name}' was in use when this process was forked, and does not work "
            "in the child. Start processes with "
            "multiprocessing.get_context('spawn') instead of fork."
        )

    def __exit__(self, *exc: object) -> None: ...


class Device:
    """What the kernels of one device share."""

    def __init__(self, backend: KernelLanguageBackend, index: int):
        self.backend = backend
        self.index = index
        self.dialect = backend.dialect(index)
        self._faults: dict[Any, StridedArray] = {}
        self._pending: set[Any] = set()
        self.made: dict[Any, Any] = {}

    def new(self, shape: tuple[int, ...], d: dtype) -> StridedArray:
        """A row-major array of any values."""
        strides, n = row_major(shape)
        backend = self.backend
        if n >= 1 << 60:  # beyond what drivers count
            raise OutOfMemoryError(n * d.itemsize)
        # Whole words, so that a compare-and-swap on the word around a small element stays inside.
        nbytes = (n * d.itemsize + 7) & -8 or 8
        with backend.lock:
            buffer = backend.alloc(self.index, nbytes)
        return StridedArray(Storage(buffer, n * d.itemsize, self.index), d, shape, strides, 0, True)

    def build(self, name: str, source: str, types: Sequence[str | None]) -> Launch:
        """The launch of one kernel; *types* are C types of the arguments, None for a buffer."""
        backend = self.backend
        with backend.lock:
            prelude = self.dialect.prelude + definitions(source, self.dialect.float64)
            prelude += vector_maths(source, self.dialect.polynomials)
            launch = backend.build(self.index, prelude + source, name, _as_signed(types))
        if _as_signed(types) != [*types]:
            launch = _with_unsigned(launch, types)

        def guarded(size: tuple[int, ...], *arguments: Any) -> None:
            with backend.lock:
                launch(size, *arguments)

        return guarded

    def upload(self, array: StridedArray, values: np.ndarray) -> None:
        """Fill a fresh array with C-contiguous values."""
        if values.size:
            with self.backend.lock:
                self.backend.upload(self.index, array.buffer, values)

    def download(self, array: StridedArray, values: np.ndarray) -> None:
        """Fill C-contiguous *values* from a flat array; waits."""
        if values.size:
            start = array.offset * array.dtype.itemsize
            with self.backend.lock:
                self.backend.download(self.index, array.buffer, start, values)

    def fault_words(self) -> StridedArray:
        """The array that kernels with indices write faults to, in the calling thread's queue."""
        from tensorbus._base import dtypes

        key = self.backend.current_queue(self.index), TELLING.wording
        found = self._faults.get(key)
        if found is None:
            found = self.new((4,), dtypes.int64)
            self.upload(found, np.zeros(4, np.int64))
            self._faults[key] = found
        self._pending.add(key)
        return found

    def raise_fault(self, queue: Any) -> None:
        """Raise the first index fault of a queue since the last call, if there was one.

        One with a wording goes before others, which the backward pass of its function may have met.
        """
        if not self._pending:
            return
        met = None
        for key in [key for key in self._pending if key[0] == queue]:
            words = np.zeros(4, np.int64)
            self.download(self._faults[key], words)
            self._pending.discard(key)
            if words[0]:
                self.upload(self._faults[key], np.zeros(4, np.int64))
                if met is None or key[1] is not None:
                    met = IndexFault(int(words[1]), int(words[2]), int(words[3]), key[1])
        if met is not None:
            raise met

    def raise_faults(self) -> None:
        """Raise the first index fault of any queue, where the work of all is done."""
        for queue in {key[0] for key in self._pending}:
            self.raise_fault(queue)
