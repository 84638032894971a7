"""The one loop behind all collectives: a stream out and a stream in at the same time.

What is sent may depend on what has come in (a ring passes on what it has just combined). So the
outgoing stream may run ahead of the incoming one by a fixed number of bytes and no more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorbus.plugin import CommContext, CommError, CommTimeout
from tensorbus.plugin.calls import disagreement
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_tcp import frames
from tensorbus_comm_tcp.links import Link, Links
from tensorbus_comm_tcp.polling import wait_ready

CHUNK = 256 << 10
"""Bytes that are received before they are combined: they stay in the processor's cache."""
_BURST = 1 << 20
"""The most bytes handed to one system call, so that the two streams take turns."""
_SMALL = 2048

Sink = tuple[memoryview, Callable[[int, np.ndarray], None] | None]
"""Where incoming bytes go, and what combines them: called with the offset and the new bytes."""


class Out:
    """A stream of bytes to a peer: a header, then the parts one after the other."""

    def __init__(self, link: Link, peer: int, head: frames.Header, parts: list[memoryview]):
        self.sock, self.peer = link.sock, peer
        header = head.pack(link.outgoing)
        self.sent = -len(header)
        self.total = sum(p.nbytes for p in parts)
        parts = [p for p in parts if p.nbytes]
        if parts and parts[0].nbytes <= _SMALL:
            # One system call and one packet. Later parts may still change until they are sent.
            header += parts.pop(0)
        self._parts = [memoryview(header), *parts]
        self._next = 0
        self._at = 0

    def push(self, limit: int) -> bool:
        """Send bytes up to the offset *limit*; whether any were taken."""
        room = limit - self.sent
        part = self._parts[self._next]
        view = part[self._at : self._at + min(room, _BURST)]
        try:
            count = self.sock.send(view)
        except BlockingIOError:
            return False
        self.sent += count
        self._at += count
        if self._at == part.nbytes:
            self._next, self._at = self._next + 1, 0
        return True


class In:
    """A stream of bytes from a peer, into sinks one after the other."""

    def __init__(
        self, link: Link, peer: int, expected: frames.Header, sinks: list[Sink],
        scratch: Callable[[int], bytearray], context: CommContext, itemsize: int = 1,
    ):  # fmt: skip
        self._context = context
        self.sock, self.peer, self._expected = link.sock, peer, expected
        self._seal = link.incoming
        self.total = sum(view.nbytes for view, _ in sinks)
        self.got = 0
        self._header = bytearray(frames.SIZE)
        self._missing = frames.SIZE
        self._sinks = [s for s in sinks if s[0].nbytes]
        self._next = self._at = 0
        self._scratch, self._itemsize = scratch, itemsize
        self._chunk = memoryview(b"")
        self._filled = 0

    def pending(self) -> bool:
        """Whether bytes are still to come."""
        return self._missing > 0 or self.got < self.total

    def pull(self) -> bool:
        """Take what has come; whether there was any."""
        try:
            if self._missing:
                return self._pull_header()
            view, combine = self._sinks[self._next]
            if combine is None:
                count = self._receive(view[self._at : self._at + _BURST])
                self._advance(count, view)
                return True
            if not self._chunk:
                size = min(CHUNK - CHUNK % self._itemsize, view.nbytes - self._at)
                self._chunk, self._filled = memoryview(self._scratch(size))[:size], 0
            self._filled += self._receive(self._chunk[self._filled :])
        except BlockingIOError:
            return False
        if self._filled == self._chunk.nbytes:
            combine(self._at, np.frombuffer(self._chunk, np.uint8))
            self._chunk = memoryview(b"")
            self._advance(self._filled, view)
        return True

    def _pull_header(self) -> bool:
        self._missing -= self._receive(memoryview(self._header)[-self._missing :])
        if not self._missing:
            found = frames.unpack(self._header, self._seal)
            if found != self._expected:
                raise disagreement(self._context, self.peer, found, self._expected)
        return True

    def _receive(self, view: memoryview) -> int:
        count = self.sock.recv_into(view)
        if not count:
            raise ConnectionResetError("it ended")
        return count

    def _advance(self, count: int, view: memoryview) -> None:
        self.got += count
        self._at += count
        if self._at == view.nbytes:
            self._next, self._at = self._next + 1, 0


def pump(links: Links, out: Out | None, into: In | None, ahead: int, deadline: Deadline) -> None:
    """Run both streams to their ends; the outgoing one is at most *ahead* bytes ahead."""
    peer = 0
    try:
        while True:
            moved = False
            sending = out is not None and out.sent < out.total
            if out is not None and sending:
                peer = out.peer
                limit = min(out.total, ahead + into.got) if into is not None else out.total
                sending = limit > out.sent
                if sending:
                    moved = out.push(limit)
                    sending = not moved
            receiving = into is not None and into.pending()
            if into is not None and receiving:
                peer = into.peer
                if into.pull():
                    moved, receiving = True, False
            if not moved:
                if not sending and not receiving:
                    return
                peer = _wait(links, out if sending else None, into if receiving else None, deadline)
    except OSError as e:
        raise links.failure(peer, e) from None
    except ValueError:
        # A closed socket has no number to wait for.
        raise links.failure(peer) from None
    except CommError as e:
        if e.ranks or e is links.error:
            raise
        rank = links.context.ranks[peer]
        raise CommError(f"{links.context.peer(peer)}: {e}", [rank]) from None


def _wait(links: Links, out: Out | None, into: In | None, deadline: Deadline) -> int:
    """Wait until a stream can go on; the rank that is waited for."""
    peer = into.peer if into is not None else out.peer if out is not None else 0
    try:
        reading = None if into is None else into.sock
        wait_ready(reading, None if out is None else out.sock, deadline.left())
        deadline.left()
    except TimeoutError:
        if links.error is not None:
            raise links.error from None
        rank = links.context.ranks[peer]
        raise CommTimeout(f"{links.context.peer(peer)} sent nothing in time", [rank]) from None
    return peer
