"""``LocalComm``: the seven calls between threads, each written as plainly as it can be."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from tensorbus import plugin
from tensorbus.plugin import (
    HOST,
    Comm,
    CommContext,
    CommError,
    PeerLost,
    dtype,
    reduce_into,
)
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_local.hub import hub_of

DTYPES = frozenset(
    getattr(plugin, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
)


class LocalComm(Comm):
    """One thread of a group."""

    name = "local"

    def __init__(self, context: CommContext):
        super().__init__(context)
        self._hub = hub_of(context)
        self._error: CommError | None = None

    def capabilities(self) -> Mapping[str, frozenset[dtype]]:
        return {HOST: DTYPES}

    # -- point to point ----------------------------------------------------------------------
    def send(self, array: np.ndarray, dtype: dtype, dst: int, tag: int, timeout: float) -> None:
        hub = self._hub
        with hub.changed:
            self._check()
            if dst in hub.left:
                raise self._lost(dst)
            box = hub.messages.setdefault((dst, tag), deque())
            box.append((self.context.rank, array.copy()))
            hub.changed.notify_all()

    def recv(
        self, array: np.ndarray, dtype: dtype, src: int | None, tag: int, timeout: float
    ) -> int:
        hub, deadline = self._hub, Deadline(timeout)
        with hub.changed:
            while True:
                self._check()
                box = hub.messages.setdefault((self.context.rank, tag), deque())
                found = next((m for m in box if src in (None, m[0])), None)
                if found is not None:
                    self._take(tag, found)
                    break
                if src in hub.left:
                    raise self._lost(src or 0)
                try:
                    hub.wait(self.context, [] if src is None else [src], deadline)
                except CommError:
                    self._check()
                    raise
        sender, sent = found
        if sent.nbytes != array.nbytes:
            raise CommError(
                f"{self.context.peer(sender)} sent a message of {sent.nbytes} bytes, but the "
                f"tensor given to recv has {array.nbytes}: shapes and dtypes must agree",
                [self.context.ranks[sender]],
            )
        array[...] = sent.view(array.dtype)
        return sender

    def _take(self, tag: int, found: tuple[int, np.ndarray]) -> None:
        key = (self.context.rank, tag)
        rest = deque(m for m in self._hub.messages[key] if m is not found)
        if rest:
            self._hub.messages[key] = rest
        else:
            del self._hub.messages[key]

    # -- collectives -------------------------------------------------------------------------
    def broadcast(self, array: np.ndarray, dtype: dtype, src: int, timeout: float) -> None:
        shown = self._meet("broadcast", array, timeout)
        array[...] = shown[src]
        self._meet("broadcast", None, timeout)

    def all_reduce(self, array: np.ndarray, dtype: dtype, op: str, timeout: float) -> None:
        total = self._combined("all_reduce", array, dtype, op, timeout)
        self._meet("all_reduce", None, timeout)
        array[...] = total

    def all_gather(self, out: np.ndarray, array: np.ndarray, dtype: dtype, timeout: float) -> None:
        shown = self._meet("all_gather", array.copy(), timeout)
        out.reshape(self.context.size, -1)[...] = shown

    def reduce_scatter(
        self, out: np.ndarray, array: np.ndarray, dtype: dtype, op: str, timeout: float
    ) -> None:
        total = self._combined("reduce_scatter", array, dtype, op, timeout)
        self._meet("reduce_scatter", None, timeout)
        out[...] = total.reshape(self.context.size, -1)[self.context.rank]

    def barrier(self, timeout: float) -> None:
        self._meet("barrier", None, timeout)

    def _combined(
        self, call: str, array: np.ndarray, dtype: dtype, op: str, timeout: float
    ) -> np.ndarray:
        shown = self._meet(call, array, timeout)
        total = shown[0].copy()
        for other in shown[1:]:
            reduce_into(op, dtype, total, other)
        return total

    def _meet(self, call: str, array: np.ndarray | None, timeout: float) -> list[np.ndarray]:
        """The arrays of all ranks, after a check that all are in the same call."""
        self._check()
        context = self.context
        size = None if array is None else array.nbytes
        try:
            shown = self._hub.meet(context, (call, size, array), Deadline(timeout))
        except CommError:
            self._check()
            raise
        for rank, (other, its_size, _) in enumerate(shown):
            if (other, its_size) != (call, size):
                raise CommError(
                    f"{context.peer(rank)}: it is in {other} of {its_size} bytes while this rank "
                    f"is in {call} of {size}: the ranks call different operations, or with "
                    f"tensors of different sizes",
                    [context.ranks[rank]],
                )
        return [array for _, _, array in shown]

    # -- end ---------------------------------------------------------------------------------
    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _lost(self, rank: int) -> PeerLost:
        return PeerLost(f"{self.context.peer(rank)} has left", [self.context.ranks[rank]])

    def abort(self, error: CommError) -> None:
        self._error = self._error or error
        self.close()

    def close(self) -> None:
        with self._hub.changed:
            self._hub.left.add(self.context.rank)
            self._hub.changed.notify_all()
