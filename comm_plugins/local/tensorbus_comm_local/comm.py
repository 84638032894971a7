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
from tensorbus.plugin.calls import Call, disagreement
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_local.hub import Message, hub_of

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
            box.append((self.context.rank, dtype, array.copy()))
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
        sender, its_dtype, sent = found
        # A user may send bytes and receive numbers: the dtype counts in the frontend's messages.
        if sent.nbytes != array.nbytes or (tag < 0 and its_dtype is not dtype):
            theirs, mine = (
                Call.of("message", a.nbytes, d) for a, d in ((sent, its_dtype), (array, dtype))
            )
            raise CommError(
                f"{self.context.peer(sender)} sent a {theirs}, but the tensor given to recv takes "
                f"a {mine}: shapes and dtypes must agree on both sides",
                [self.context.ranks[sender]],
            )
        array[...] = sent.view(array.dtype)
        return sender

    def _take(self, tag: int, found: Message) -> None:
        key = (self.context.rank, tag)
        rest = deque(m for m in self._hub.messages[key] if m is not found)
        if rest:
            self._hub.messages[key] = rest
        else:
            del self._hub.messages[key]

    # -- collectives -------------------------------------------------------------------------
    def broadcast(self, array: np.ndarray, dtype: dtype, src: int, timeout: float) -> None:
        call = Call.of("broadcast", array.nbytes, dtype, root=src)
        shown = self._meet(call, array, timeout)
        array[...] = shown[src]
        self._meet(call, None, timeout)

    def all_reduce(self, array: np.ndarray, dtype: dtype, op: str, timeout: float) -> None:
        call = Call.of("all_reduce", array.nbytes, dtype, op)
        total = self._combined(call, array, dtype, op, timeout)
        self._meet(call, None, timeout)
        array[...] = total

    def all_gather(self, out: np.ndarray, array: np.ndarray, dtype: dtype, timeout: float) -> None:
        shown = self._meet(Call.of("all_gather", array.nbytes, dtype), array.copy(), timeout)
        out.reshape(self.context.size, -1)[...] = shown

    def reduce_scatter(
        self, out: np.ndarray, array: np.ndarray, dtype: dtype, op: str, timeout: float
    ) -> None:
        call = Call.of("reduce_scatter", array.nbytes, dtype, op)
        total = self._combined(call, array, dtype, op, timeout)
        self._meet(call, None, timeout)
        out[...] = total.reshape(self.context.size, -1)[self.context.rank]

    def barrier(self, timeout: float) -> None:
        self._meet(Call.of("barrier"), None, timeout)

    def _combined(
        self, call: Call, array: np.ndarray, dtype: dtype, op: str, timeout: float
    ) -> np.ndarray:
        shown = self._meet(call, array, timeout)
        total = shown[0].copy()
        for other in shown[1:]:
            reduce_into(op, dtype, total, other)
        return total

    def _meet(self, call: Call, array: np.ndarray | None, timeout: float) -> list[np.ndarray]:
        """The arrays of all ranks, after a check that all are in the same call."""
        self._check()
        context = self.context
        try:
            shown = self._hub.meet(context, (call, array), Deadline(timeout))
        except CommError:
            self._check()
            raise
        for rank, (other, _) in enumerate(shown):
            if other != call:
                raise disagreement(context, rank, other, call)
        return [array for _, array in shown]

    # -- end ---------------------------------------------------------------------------------
    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _lost(self, rank: int) -> PeerLost:
        return PeerLost(f"{self.context.peer(rank)} has left", [self.context.ranks[rank]])

    def peer_died(self, rank: int) -> bool:
        return True  # its thread closes its comm, which says the rest

    def abort(self, error: CommError) -> None:
        self._error = self._error or error
        self.close()

    def close(self) -> None:
        with self._hub.changed:
            self._hub.left.add(self.context.rank)
            self._hub.changed.notify_all()
