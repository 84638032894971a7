"""``NcclComm``: the contract's calls on NCCL's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cupy
from cupy.cuda import nccl

from tensorbus.plugin import Array, Comm, CommContext, CommError, CommTimeout, dtype, reduce_into
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_nccl.links import Fate, Issue, Link, poll, store_of
from tensorbus_comm_nccl.messages import Messages
from tensorbus_comm_nccl.tables import DTYPES, native

_FLUSH = 5.0
BYTES = nccl.NCCL_UINT8


class NcclComm(Comm):
    """One rank of a group whose members have a GPU each.

    The communicator is made with the first collective, on the GPU of its array.
    """

    name = "nccl"

    def __init__(self, context: CommContext):
        super().__init__(context)
        self._fate = Fate()
        self._store = store_of(context)
        self._messages = Messages(context, self._fate)
        self._link: Link | None = None
        self._barriers = 0

    def capabilities(self) -> Mapping[str, frozenset[dtype]]:
        return {"cuda": DTYPES}

    # -- point to point ----------------------------------------------------------------------
    def send(self, array: Array, dtype: dtype, dst: int, tag: int, timeout: float) -> None:
        self._messages.send(array, dst, tag, timeout)

    def recv(self, array: Array, dtype: dtype, src: int | None, tag: int, timeout: float) -> int:
        return self._messages.recv(array, src, tag, timeout)

    # -- collectives -------------------------------------------------------------------------
    def broadcast(self, array: Array, dtype: dtype, src: int, timeout: float) -> None:
        address = array.data.ptr
        self._run(
            "broadcast", array, timeout,
            lambda c, s: c.broadcast(address, address, array.nbytes, BYTES, src, s),
        )  # fmt: skip

    def all_reduce(self, array: Array, dtype: dtype, op: str, timeout: float) -> None:
        found, address = native(op, dtype), array.data.ptr
        if found is None:
            array[...] = self._folded(array, dtype, op, timeout)
            return
        kind, operation, parts = found
        self._run(
            "all_reduce", array, timeout,
            lambda c, s: c.allReduce(address, address, array.size * parts, kind, operation, s),
        )  # fmt: skip

    def reduce(self, array: Array, dtype: dtype, op: str, dst: int, timeout: float) -> None:
        found, address = native(op, dtype), array.data.ptr
        if found is None:
            self.all_reduce(array, dtype, op, timeout)
            return
        kind, operation, parts = found
        self._run(
            "reduce", array, timeout,
            lambda c, s: c.reduce(address, address, array.size * parts, kind, operation, dst, s),
        )  # fmt: skip

    def all_gather(self, out: Array, array: Array, dtype: dtype, timeout: float) -> None:
        source, target = array.data.ptr, out.data.ptr
        self._run(
            "all_gather", array, timeout,
            lambda c, s: c.allGather(source, target, array.nbytes, BYTES, s),
        )  # fmt: skip

    def reduce_scatter(
        self, out: Array, array: Array, dtype: dtype, op: str, timeout: float
    ) -> None:
        found, rank = native(op, dtype), self.context.rank
        if found is None:
            total = self._folded(array, dtype, op, timeout)
            out[...] = total[rank * out.size : (rank + 1) * out.size]
            return
        kind, operation, parts = found
        source, target = array.data.ptr, out.data.ptr
        self._run(
            "reduce_scatter", out, timeout,
            lambda c, s: c.reduceScatter(source, target, out.size * parts, kind, operation, s),
        )  # fmt: skip

    def gather(
        self, out: Array | None, array: Array, dtype: dtype, dst: int, timeout: float
    ) -> None:
        sent = [array.nbytes if r == dst else 0 for r in range(self.context.size)]
        got = [array.nbytes if out is not None else 0] * self.context.size
        self._exchange("gather", out, array, got, sent, timeout)

    def scatter(
        self, out: Array, array: Array | None, dtype: dtype, src: int, timeout: float
    ) -> None:
        got = [out.nbytes if r == src else 0 for r in range(self.context.size)]
        sent = [out.nbytes if array is not None else 0] * self.context.size
        self._exchange("scatter", out, array, got, sent, timeout)

    def all_to_all(
        self, out: Array, array: Array, dtype: dtype, out_counts: Sequence[int],
        counts: Sequence[int], timeout: float,
    ) -> None:  # fmt: skip
        size = dtype.itemsize
        got, sent = [n * size for n in out_counts], [n * size for n in counts]
        self._exchange("all_to_all", out, array, got, sent, timeout)

    def barrier(self, timeout: float) -> None:
        self._fate.check()
        self._barriers += 1
        key, size = f"barrier/{self._barriers}", self.context.size
        # By the store: no GPU is known to belong to this rank before it has shown a tensor.
        self._store.add(key, 1)
        if not poll(lambda: self._store.add(key, 0) >= size, Deadline(timeout), self._fate):
            raise CommTimeout("barrier did not end in time", ())

    # -- how ---------------------------------------------------------------------------------
    def _run(self, call: str, array: Array, timeout: float, issue: Issue) -> None:
        if array.size:
            deadline = Deadline(timeout)
            self._joined(array.device.id, deadline).run(call, issue, deadline)

    def _joined(self, device: int, deadline: Deadline) -> Link:
        """The link of all ranks, which is made when all of them have come here once."""
        link = self._link
        if link is None:
            ranks = range(self.context.size)
            link = self._link = Link(self.context, self._fate, "all", ranks, device, deadline)
        elif link.device != device:
            raise CommError(
                f"the tensor is on cuda:{device}, but this group's collectives began on "
                f"cuda:{link.device}: NCCL wants one GPU for each rank of a group"
            )
        return link

    def _folded(self, array: Array, dtype: dtype, op: str, timeout: float) -> Array:
        """What NCCL can't combine: every rank gets all arrays, and combines them by rank."""
        with array.device:
            every = cupy.empty(self.context.size * array.size, array.dtype)
            self.all_gather(every, array, dtype, timeout)
            rows = every.reshape(self.context.size, array.size)
            for other in rows[1:]:
                reduce_into(op, dtype, rows[0], other)
            return rows[0]

    def _exchange(
        self, call: str, out: Array | None, array: Array | None, got: list[int], sent: list[int],
        timeout: float,
    ) -> None:  # fmt: skip
        """Bytes to and from each rank, all at once."""

        def issue(communicator: Any, stream: int) -> None:
            source = array.data.ptr if array is not None else 0
            target = out.data.ptr if out is not None else 0
            nccl.groupStart()
            try:
                for rank in range(self.context.size):
                    if sent[rank]:
                        communicator.send(source, sent[rank], BYTES, rank, stream)
                    if got[rank]:
                        communicator.recv(target, got[rank], BYTES, rank, stream)
                    source, target = source + sent[rank], target + got[rank]
            finally:
                nccl.groupEnd()

        deadline, known = Deadline(timeout), array if array is not None else out
        assert known is not None
        # A rank with nothing to send or receive comes too: the others wait for it.
        link = self._joined(known.device.id, deadline)
        if any(sent) or any(got):
            link.run(call, issue, deadline)

    # -- end ---------------------------------------------------------------------------------
    def abort(self, error: CommError) -> None:
        self._fate.end(error)

    def close(self) -> None:
        healthy = self._fate.error is None
        if healthy:
            self._messages.flush(Deadline(_FLUSH))
        gone = CommError("the group was destroyed while an operation was running")
        self._fate.end(gone, orderly=healthy)
        self._messages.close()
