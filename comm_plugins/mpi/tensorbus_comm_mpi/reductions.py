"""Combining arrays: segment by segment, by MPI itself or by an exchange and NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from tensorbus.plugin import Array, CommContext, dtype, reduce_into
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi import device
from tensorbus_comm_mpi.progress import Progress
from tensorbus_comm_mpi.tables import native

SEGMENT = 2 << 20
"""Bytes that are combined at once: what MPI keeps beside them stays in the cache, and their
number fits the int that MPI counts in."""
_FEW = 16 << 10
"""Bytes of all ranks that each rank combines by itself: two calls would cost more."""


class Reductions:
    """The reductions of one communicator."""

    def __init__(self, context: CommContext, comm: MPI.Intracomm, progress: Progress):
        self._size, self._rank = context.size, context.rank
        self._comm, self._progress = comm, progress

    def all_reduce(self, array: Array, dtype: dtype, op: str, deadline: Deadline) -> None:
        """Combine in place, on all ranks."""
        found = None if device.holds(array) else native(op, dtype)
        if found is None:
            for start, stop in _spans(array.size, SEGMENT // dtype.itemsize):
                self._exchange_all(array[start:stop], dtype, op, deadline)
            return
        seen, kind, operation = found
        view, comm = array.view(seen), self._comm
        self._stream(
            lambda a, b: comm.Iallreduce(MPI.IN_PLACE, [view[a:b], kind], operation),
            view, "all_reduce", deadline,
        )  # fmt: skip

    def reduce(self, array: Array, dtype: dtype, op: str, dst: int, deadline: Deadline) -> None:
        """Combine in place, on *dst*."""
        found = None if device.holds(array) else native(op, dtype)
        if found is None:
            self.all_reduce(array, dtype, op, deadline)
            return
        seen, kind, operation = found
        view, comm, here = array.view(seen), self._comm, self._rank == dst

        def start(a: int, b: int) -> MPI.Request:
            part = [view[a:b], kind]
            if here:
                return comm.Ireduce(MPI.IN_PLACE, part, operation, dst)
            return comm.Ireduce(part, None, operation, dst)

        self._stream(start, view, "reduce", deadline)

    def reduce_scatter(
        self, out: Array, array: Array, dtype: dtype, op: str, deadline: Deadline
    ) -> None:
        """Combine and keep this rank's part."""
        found = None if device.holds(array) else native(op, dtype)
        rows = array.reshape(self._size, out.size)
        for start, stop in _spans(out.size, SEGMENT // dtype.itemsize // self._size):
            # A copy: MPI wants the ranks' parts one after the other.
            packed = rows[:, start:stop].copy()
            if found is None:
                self._own_part(out[start:stop], packed, dtype, op, deadline)
                continue
            seen, kind, operation = found
            with self._progress.calling("reduce_scatter"):
                request = self._comm.Ireduce_scatter_block(
                    [packed.view(seen), kind], [out[start:stop].view(seen), kind], operation
                )
            self._wait([request], "reduce_scatter", deadline, packed.nbytes)

    def by_rank(self, dtype: dtype, op: str) -> bool:
        """Whether combining in the ranks' order gives what ``all_reduce`` gives, bit for bit."""
        exact = not dtype.is_floating_point and not dtype.is_complex
        return self._size == 2 or exact or native(op, dtype) is None

    def _stream(self, start: Any, view: np.ndarray, call: str, deadline: Deadline) -> None:
        """One segment is started while the one before it is under way."""
        running: list[MPI.Request] = []
        for a, b in _spans(view.size, SEGMENT // view.itemsize):
            with self._progress.calling(call):
                running.append(start(a, b))
            if len(running) > 1:
                self._wait(running[:1], call, deadline, SEGMENT, running)
                del running[0]
        if running:
            self._wait(running, call, deadline, SEGMENT)

    # -- by an exchange ----------------------------------------------------------------------
    def _exchange_all(self, array: Array, dtype: dtype, op: str, deadline: Deadline) -> None:
        """Each rank combines one part, by rank, and sends it to all: so all get the same bits.

        Of a few bytes each combines all, by rank: one call of MPI then.
        """
        n, count = self._size, -(-array.size // self._size)
        if array.nbytes * n <= _FEW:
            rows = device.like(array, n * array.size).reshape(n, array.size)
            self._gather(array, rows, deadline)
            array[...] = combined(rows, dtype, op)
            return
        packed = device.like(array, n * count)
        packed[: array.size] = array
        packed[array.size :] = 0
        part = device.like(array, count)
        self._own_part(part, packed.reshape(n, count), dtype, op, deadline)
        self._gather(part, packed, deadline)
        array[...] = packed[: array.size]

    def _gather(self, part: Array, out: Array, deadline: Deadline) -> None:
        device.settle(part)
        with self._progress.calling("all_reduce"):
            request = self._comm.Iallgather(
                [part, part.nbytes, MPI.BYTE], [out, part.nbytes, MPI.BYTE]
            )
        self._wait([request], "all_reduce", deadline, out.nbytes)

    def _own_part(self, out: Array, rows: Array, dtype: dtype, op: str, deadline: Deadline) -> None:
        theirs = device.like(out, rows.size).reshape(rows.shape)
        device.settle(out)
        with self._progress.calling("reduction"):
            request = self._comm.Ialltoall(
                [rows, out.nbytes, MPI.BYTE], [theirs, out.nbytes, MPI.BYTE]
            )
        self._wait([request], "reduction", deadline, rows.nbytes)
        out[...] = combined(theirs, dtype, op)

    def _wait(
        self, requests: list[MPI.Request], call: str, deadline: Deadline, nbytes: int,
        others: list[MPI.Request] | None = None,
    ) -> None:  # fmt: skip
        self._progress.wait(requests, call, deadline, nbytes * self._size, kept=others)


def combined(parts: Sequence[Array], dtype: dtype, op: str) -> Array:
    """The first of the ranks' parts, into which the others were combined."""
    total = parts[0]
    for other in parts[1:]:
        reduce_into(op, dtype, total, other)
    return total


def _spans(count: int, most: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, max(most, 1)):
        yield start, min(start + max(most, 1), count)
