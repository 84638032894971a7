"""``TcpComm``: the seven calls, over rings for large arrays and doubling steps for small ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import numpy as np

from tensorbus.plugin import HOST, Comm, CommContext, CommError, dtype, reduce_into
from tensorbus.plugin.calls import Call
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_tcp.frames import Header
from tensorbus_comm_tcp.links import Links
from tensorbus_comm_tcp.messages import Messages
from tensorbus_comm_tcp.pump import CHUNK, In, Out, Sink, pump
from tensorbus_comm_tcp.tables import DTYPES

SMALL = 128 << 10
"""Bytes up to which an array is combined whole with one partner after the other."""


class TcpComm(Comm):
    """One rank of a group whose members talk over sockets."""

    name = "tcp"

    def __init__(self, context: CommContext):
        super().__init__(context)
        self.rank, self.size = context.rank, context.size
        changed = threading.Condition()
        self._messages = Messages(context, changed)
        self._links = Links(context, changed, self._messages.connected, self._messages.listen_to)
        self._messages.links = self._links
        self._count = 0
        self._chunk = bytearray(CHUNK)

    def capabilities(self) -> Mapping[str, frozenset[dtype]]:
        return {HOST: DTYPES}

    # -- point to point ----------------------------------------------------------------------
    def send(self, array: np.ndarray, dtype: dtype, dst: int, tag: int, timeout: float) -> None:
        self._messages.send(_bytes(array), dtype, dst, tag, Deadline(timeout))

    def recv(
        self, array: np.ndarray, dtype: dtype, src: int | None, tag: int, timeout: float
    ) -> int:
        return self._messages.recv(_bytes(array), dtype, src, tag, Deadline(timeout))

    # -- collectives -------------------------------------------------------------------------
    def broadcast(self, array: np.ndarray, dtype: dtype, src: int, timeout: float) -> None:
        header, deadline = (
            self._begin("broadcast", array.nbytes, dtype, root=src),
            Deadline(timeout),
        )
        view = _bytes(array)
        if view.nbytes <= SMALL:
            self._broadcast_tree(view, src, header, deadline)
            return
        # A chain: each rank passes on what it has, while more comes in.
        position = (self.rank - src) % self.size
        out = into = None
        if position + 1 < self.size:
            out = self._out((self.rank + 1) % self.size, header, [view], deadline)
        if position:
            into = self._in((self.rank - 1) % self.size, header, [(view, None)], deadline)
        self._pump(out, into, 0, deadline)

    def _broadcast_tree(
        self, view: memoryview, src: int, header: Header, deadline: Deadline
    ) -> None:
        position, step = (self.rank - src) % self.size, 1
        while step < self.size:
            if position < step:
                if position + step < self.size:
                    peer = (self.rank + step) % self.size
                    self._pump(self._out(peer, header, [view], deadline), None, 0, deadline)
            elif position < 2 * step:
                peer = (self.rank - step) % self.size
                self._pump(None, self._in(peer, header, [(view, None)], deadline), 0, deadline)
            step *= 2

    def all_reduce(self, array: np.ndarray, dtype: dtype, op: str, timeout: float) -> None:
        header, deadline = self._begin("all_reduce", array.nbytes, dtype, op), Deadline(timeout)
        if array.nbytes <= SMALL:
            self._double(array, dtype, op, header, deadline)
            return
        n, r = self.size, self.rank
        blocks = _blocks(array, n)
        order = [(r - 1 - k) % n for k in range(2 * (n - 1))]
        incoming = [(r - 2 - k) % n for k in range(2 * (n - 1))]
        sinks: list[Sink] = [
            (_bytes(blocks[b]), _combiner(blocks[b], dtype, op) if k < n - 1 else None)
            for k, b in enumerate(incoming)
        ]
        self._ring([_bytes(blocks[b]) for b in order], sinks, header, dtype, deadline)

    def _double(
        self, array: np.ndarray, dtype: dtype, op: str, header: Header, deadline: Deadline
    ) -> None:
        """Combine with partners at distances 1, 2, 4...; ranks beyond a power of two hand in first.

        Both partners combine the same two operands, and all operations commute, so every rank
        gets the same bits.
        """
        n, r, view = self.size, self.rank, _bytes(array)
        power = 1 << (n.bit_length() - 1)
        extra = n - power
        if r >= power:
            peer = r - power
            self._pump(self._out(peer, header, [view], deadline), None, 0, deadline)
            self._pump(None, self._in(peer, header, [(view, None)], deadline), 0, deadline)
            return
        add = (view, _combiner(array, dtype, op))
        if r < extra:
            into = self._in(r + power, header, [add], deadline, dtype.itemsize)
            self._pump(None, into, 0, deadline)
        step = 1
        while step < power:
            peer = r ^ step
            # The stream out holds a copy, for the stream in changes the array.
            out = self._out(peer, header, [memoryview(bytes(view))], deadline)
            into = self._in(peer, header, [add], deadline, dtype.itemsize)
            self._pump(out, into, view.nbytes, deadline)
            step *= 2
        if r < extra:
            self._pump(self._out(r + power, header, [view], deadline), None, 0, deadline)

    def all_gather(self, out: np.ndarray, array: np.ndarray, dtype: dtype, timeout: float) -> None:
        header, deadline = self._begin("all_gather", array.nbytes, dtype), Deadline(timeout)
        n, r = self.size, self.rank
        blocks = _blocks(out, n)
        blocks[r][...] = array
        sent = [_bytes(blocks[(r - k) % n]) for k in range(n - 1)]
        sinks: list[Sink] = [(_bytes(blocks[(r - 1 - k) % n]), None) for k in range(n - 1)]
        self._ring(sent, sinks, header, dtype, deadline)

    def reduce_scatter(
        self, out: np.ndarray, array: np.ndarray, dtype: dtype, op: str, timeout: float
    ) -> None:
        header, deadline = self._begin("reduce_scatter", array.nbytes, dtype, op), Deadline(timeout)
        n, r = self.size, self.rank
        blocks = _blocks(array.copy(), n)
        sent = [_bytes(blocks[(r - 1 - k) % n]) for k in range(n - 1)]
        incoming = [blocks[(r - 2 - k) % n] for k in range(n - 1)]
        sinks: list[Sink] = [(_bytes(b), _combiner(b, dtype, op)) for b in incoming]
        self._ring(sent, sinks, header, dtype, deadline)
        out[...] = blocks[r]

    def barrier(self, timeout: float) -> None:
        header, deadline = self._begin("barrier"), Deadline(timeout)
        step = 1
        while step < self.size:
            out = self._out((self.rank + step) % self.size, header, [], deadline)
            into = self._in((self.rank - step) % self.size, header, [], deadline)
            self._pump(out, into, 0, deadline)
            step *= 2

    # -- streams -----------------------------------------------------------------------------
    def _begin(
        self, kind: str, nbytes: int = 0, dtype: dtype | None = None, op: str = "", root: int = -1
    ) -> Header:
        self._count += 1
        return Header(Call.of(kind, nbytes, dtype, op, root), self._count)

    def _ring(
        self, sent: list[memoryview], sinks: list[Sink], header: Header, dtype: dtype,
        deadline: Deadline,
    ) -> None:  # fmt: skip
        """Pass blocks to the right while blocks come from the left.

        The block of each step but the first is the one that came in the step before.
        """
        if self.size == 1:
            return
        out = self._out((self.rank + 1) % self.size, header, sent, deadline)
        into = self._in((self.rank - 1) % self.size, header, sinks, deadline, dtype.itemsize)
        self._pump(out, into, sent[0].nbytes, deadline)

    def _out(self, peer: int, header: Header, parts: list[memoryview], deadline: Deadline) -> Out:
        return Out(self._links.collective(peer, deadline), peer, header, parts)

    def _in(
        self, peer: int, header: Header, sinks: list[Sink], deadline: Deadline, itemsize: int = 1
    ) -> In:
        link = self._links.collective(peer, deadline)
        scratch = self._chunk
        return In(link, peer, header, sinks, lambda size: scratch, self.context, itemsize)

    def _pump(self, out: Out | None, into: In | None, ahead: int, deadline: Deadline) -> None:
        pump(self._links, out, into, ahead, deadline)

    # -- end ---------------------------------------------------------------------------------
    def prepare(self, timeout: float) -> None:
        self._links.prepare(timeout)

    def peer_died(self, rank: int) -> bool:
        self._links.gone(rank)
        return True

    def peer_left(self, rank: int) -> None:
        self._links.gone(rank)

    def abort(self, error: CommError) -> None:
        self._links.error = self._links.error or error
        self.close()

    def close(self) -> None:
        self._links.close()
        self._messages.close()


def _bytes(array: np.ndarray) -> memoryview:
    return array.view(np.uint8).reshape(-1).data if array.size else memoryview(bytearray())


def _blocks(array: np.ndarray, count: int) -> list[np.ndarray]:
    """The array in *count* parts that differ by one element at most."""
    size, longer = divmod(array.size, count)
    blocks, at = [], 0
    for i in range(count):
        end = at + size + (i < longer)
        blocks.append(array[at:end])
        at = end
    return blocks


def _combiner(block: np.ndarray, dtype: dtype, op: str) -> Callable[[int, np.ndarray], None]:
    def combine(at: int, data: np.ndarray) -> None:
        new = data.view(block.dtype)
        start = at // block.itemsize
        reduce_into(op, dtype, block[start : start + new.size], new)

    return combine
