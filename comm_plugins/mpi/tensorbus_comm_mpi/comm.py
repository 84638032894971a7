"""``MpiComm``: the contract's calls on a communicator of MPI; buffers only, never pickles."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from mpi4py import MPI

from tensorbus.plugin import HOST, Array, Comm, CommContext, CommError, bfloat16, dtype
from tensorbus.plugin.calls import Call
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi import device, groups, runtime
from tensorbus_comm_mpi.agreement import Agreement
from tensorbus_comm_mpi.messages import Messages
from tensorbus_comm_mpi.progress import Progress, spread
from tensorbus_comm_mpi.reductions import SEGMENT, Reductions, combined
from tensorbus_comm_mpi.runtime import guard
from tensorbus_comm_mpi.tables import DTYPES

_PARTS = 3
"""The tag of the parts of ``all_to_all``, beside those of messages."""
_FLUSH = 1.0
_BYTES = np.dtype(np.uint8)


class MpiComm(Comm):
    """One rank of a group whose members were started by mpiexec."""

    name = "mpi"

    def __init__(self, context: CommContext):
        super().__init__(context)
        self._progress = Progress(context)
        self.world_ranks = groups.world_ranks(context)
        self._comm = groups.make(context, self.world_ranks, self._progress)
        self._messages = Messages(context, self._comm, self._progress)
        self._agreement = Agreement(context, self._comm, self._progress)
        self._progress.idle = self._idle
        self._reductions = Reductions(context, self._comm, self._progress)
        self._closed = False
        if context.size > 1:
            runtime.watch(self, f"rank {context.ranks[context.rank]}")

    def capabilities(self) -> Mapping[str, frozenset[dtype]]:
        if runtime.takes_cuda():
            return {HOST: DTYPES, "cuda": DTYPES - {bfloat16}}
        return {HOST: DTYPES}

    # -- point to point ----------------------------------------------------------------------
    def send(self, array: Array, dtype: dtype, dst: int, tag: int, timeout: float) -> None:
        self._messages.send(array, dst, tag, timeout)

    def recv(self, array: Array, dtype: dtype, src: int | None, tag: int, timeout: float) -> int:
        return self._messages.recv(array, src, tag, timeout)

    # -- collectives -------------------------------------------------------------------------
    def broadcast(self, array: Array, dtype: dtype, src: int, timeout: float) -> None:
        deadline, parts = Deadline(timeout), [array]
        call = Call.of("broadcast", array.nbytes, dtype, root=src)
        if array.nbytes <= self._agreement.rooted_room:
            if self.context.rank == src:
                self._give(call, array, deadline)
            else:
                device.fill(array, self._exchange(call, array, deadline, b"")[src])
            return
        if array.nbytes > SEGMENT:
            step = SEGMENT // dtype.itemsize
            parts = [array[at : at + step] for at in range(0, array.size, step)]
        with self._calling(call, array):
            with self._progress.calling("broadcast"):
                requests = [self._comm.Ibcast([p, p.nbytes, MPI.BYTE], src) for p in parts]
            for number, request in enumerate(requests):
                self._wait(request, "broadcast", deadline, SEGMENT, requests[number:])

    def all_reduce(self, array: Array, dtype: dtype, op: str, timeout: float) -> None:
        deadline, call = Deadline(timeout), Call.of("all_reduce", array.nbytes, dtype, op)
        if array.nbytes <= self._agreement.room and self._reductions.by_rank(dtype, op):
            parts = self._exchange(call, array, deadline)
            device.fill(array, combined(parts, dtype, op))
            return
        with self._calling(call, array, deadline):
            if self.context.size > 1:
                self._reductions.all_reduce(array, dtype, op, deadline)

    def reduce(self, array: Array, dtype: dtype, op: str, dst: int, timeout: float) -> None:
        deadline, call = Deadline(timeout), Call.of("reduce", array.nbytes, dtype, op, dst)
        if array.nbytes <= self._agreement.rooted_room:
            if self.context.rank == dst:
                device.fill(array, combined(self._exchange(call, array, deadline), dtype, op))
            else:
                self._give(call, array, deadline)
            return
        with self._calling(call, array):
            if self.context.size > 1:
                self._reductions.reduce(array, dtype, op, dst, deadline)

    def reduce_scatter(
        self, out: Array, array: Array, dtype: dtype, op: str, timeout: float
    ) -> None:
        deadline = Deadline(timeout)
        with self._calling(Call.of("reduce_scatter", array.nbytes, dtype, op), array, deadline):
            self._reductions.reduce_scatter(out, array, dtype, op, deadline)

    def all_gather(self, out: Array, array: Array, dtype: dtype, timeout: float) -> None:
        deadline, part = Deadline(timeout), spread(array.nbytes)
        call = Call.of("all_gather", array.nbytes, dtype)
        if array.nbytes <= self._agreement.room:
            parts = self._exchange(call, array, deadline)
            device.fill(out, np.concatenate(parts))
            return
        with self._calling(call, array, deadline):
            with self._progress.calling("all_gather"):
                request = self._comm.Iallgather([array, *part], [out, *part])
            self._wait(request, "all_gather", deadline, out.nbytes)

    def gather(
        self, out: Array | None, array: Array, dtype: dtype, dst: int, timeout: float
    ) -> None:
        part = spread(array.nbytes)
        with self._calling(Call.of("gather", array.nbytes, dtype, root=dst), array):
            with self._progress.calling("gather"):
                target = None if out is None else [out, *part]
                request = self._comm.Igather([array, *part], target, dst)
            self._wait(request, "gather", Deadline(timeout), array.nbytes * self.context.size)

    def scatter(
        self, out: Array, array: Array | None, dtype: dtype, src: int, timeout: float
    ) -> None:
        part = spread(out.nbytes)
        with self._calling(Call.of("scatter", out.nbytes, dtype, root=src), out):
            with self._progress.calling("scatter"):
                source = None if array is None else [array, *part]
                request = self._comm.Iscatter(source, [out, *part], src)
            self._wait(request, "scatter", Deadline(timeout), out.nbytes * self.context.size)

    def all_to_all(
        self, out: Array, array: Array, dtype: dtype, out_counts: Sequence[int],
        counts: Sequence[int], timeout: float,
    ) -> None:  # fmt: skip
        requests: list[MPI.Request] = []
        deadline, at, out_at = Deadline(timeout), 0, 0
        with self._calling(Call.of("all_to_all", 0, dtype), array, deadline):
            with self._progress.calling("all_to_all"):
                for rank, (count, out_count) in enumerate(zip(counts, out_counts, strict=True)):
                    part, into = array[at : at + count], out[out_at : out_at + out_count]
                    at, out_at = at + count, out_at + out_count
                    requests.append(self._comm.Irecv([into, *spread(into.nbytes)], rank, _PARTS))
                    requests.append(self._comm.Isend([part, *spread(part.nbytes)], rank, _PARTS))
            self._progress.wait(requests, "all_to_all", deadline, array.nbytes + out.nbytes)

    def barrier(self, timeout: float) -> None:
        self._progress.check()
        if self.context.size > 1:
            self._agreement.exchange(Call.of("barrier"), b"", Deadline(timeout), _BYTES, 0)

    def _exchange(
        self, call: Call, array: Array, deadline: Deadline, given: bytes | None = None
    ) -> list[np.ndarray]:
        """The values of all ranks, on the host; *given*: what this one gives, else the array."""
        self._progress.check()
        values = device.values(array) if given is None else given
        if self.context.size == 1:
            return [np.frombuffer(values, array.dtype)]
        return self._agreement.exchange(call, values, deadline, array.dtype, array.size)

    def _give(self, call: Call, array: Array, deadline: Deadline) -> None:
        self._progress.check()
        self._agreement.give(call, device.values(array), deadline)

    def _calling(
        self, call: Call, array: Array, together: Deadline | None = None
    ) -> AbstractContextManager[None]:
        """Around a collective; *together*: it ends on no rank before all have begun it."""
        self._progress.check()
        device.settle(array)
        return self._agreement.during(call, together)

    def _idle(self) -> None:
        self._messages.make_room()
        self._agreement.check()

    def _wait(
        self, request: MPI.Request, call: str, deadline: Deadline, nbytes: int = 0,
        kept: object = None,
    ) -> None:  # fmt: skip
        self._progress.wait([request], call, deadline, nbytes, kept=kept)

    # -- end ---------------------------------------------------------------------------------
    def abort(self, error: CommError) -> None:
        self._progress.fail(error)
        runtime.note_failure(str(error))

    def close(self) -> None:
        if self._closed or MPI.Is_finalized():
            return
        self._closed = True
        healthy = False
        with contextlib.suppress(CommError, MPI.Exception):
            self._messages.flush(Deadline(_FLUSH))
            healthy = self._agreement.settle(Deadline(_FLUSH)) and self._progress.error is None
        self._messages.backlog.close()
        self._progress.fail(CommError("the group was destroyed while an operation was running"))
        runtime.unwatch(self)
        if healthy:
            # Where a transfer is open the library would wait for its end.
            with guard:
                self._agreement.free()
                self._comm.Free()
