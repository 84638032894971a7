"""Messages between two ranks: each direction has a socket, each incoming one a thread that reads.

A message that is waited for is read straight into its array; another is kept until somebody asks.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque

from tensorbus.plugin import CommContext, CommError, CommTimeout, PeerLost, dtype
from tensorbus.plugin.calls import Call
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_tcp import frames
from tensorbus_comm_tcp.links import Link, Links
from tensorbus_comm_tcp.polling import wait_ready

KEPT_LIMIT = 256 << 20
"""Bytes of one sender's messages that are kept unasked; then it has to wait."""
_PIECE = 64 << 20
"""The most bytes that are made room for before they have come: a length may be a lie."""
_SMALL = 2048
"""Bytes up to which a message goes out with its header in one call."""


class _Wanted:
    """A receive that waits for its message."""

    def __init__(self, view: memoryview, call: Call, src: int | None, tag: int):
        self.view, self.call, self.src, self.tag = view, call, src, tag
        self.sender = -1
        self.taken = False
        self.done = False
        self.error: CommError | None = None

    def takes(self, header: frames.Header) -> bool:
        """Whether such a message fits. A user may send bytes and receive numbers: the dtype counts
        in the frontend's own messages, those of a collective."""
        return header.call == self.call if self.tag < 0 else header.call.nbytes == self.call.nbytes


class Messages:
    """The messages of one rank."""

    links: Links

    def __init__(self, context: CommContext, changed: threading.Condition):
        self.context = context
        self._changed = changed
        self._wanted: list[_Wanted] = []
        self._kept: deque[tuple[int, frames.Header, bytearray]] = deque()
        self._kept_bytes = dict.fromkeys(range(context.size), 0)
        self._ended: dict[int, CommError] = {}
        self._connected: set[int] = set()
        self._locks = [threading.Lock() for _ in context.ranks]
        self._closed = False

    # -- sending -----------------------------------------------------------------------------
    def send(self, view: memoryview, dtype: dtype, dst: int, tag: int, deadline: Deadline) -> None:
        """Send a message; it counts as sent when the system has taken all of it."""
        header = frames.Header(Call.of("message", view.nbytes, dtype), tag)
        lock = self._locks[dst]
        if not lock.acquire(timeout=deadline.left()):
            raise self._late(dst, "takes nothing")
        try:
            link = self.links.outgoing(dst, deadline)
            sock, head = link.sock, header.pack(link.outgoing)
            sock.setblocking(False)
            small = view.nbytes <= _SMALL
            for part in [memoryview(head + view)] if small else [memoryview(head), view]:
                while part.nbytes:
                    try:
                        part = part[sock.send(part) :]
                    except BlockingIOError:
                        self._writable(sock, deadline)
        except (OSError, ValueError) as e:
            if isinstance(e, TimeoutError):
                raise self._late(dst, "takes nothing") from None
            raise self.links.failure(dst, e) from None
        finally:
            lock.release()

    def _writable(self, sock: socket.socket, deadline: Deadline) -> None:
        wait_ready(None, sock, deadline.left())
        deadline.left()
        if self.links.error is not None:
            raise self.links.error

    def _late(self, peer: int, what: str) -> CommTimeout:
        return CommTimeout(f"{self.context.peer(peer)} {what} in time", [self.context.ranks[peer]])

    # -- receiving ---------------------------------------------------------------------------
    def recv(
        self, view: memoryview, dtype: dtype, src: int | None, tag: int, deadline: Deadline
    ) -> int:
        """Fill *view* with the next message of that sender and tag; its sender."""
        wanted = _Wanted(view, Call.of("message", view.nbytes, dtype), src, tag)
        with self._changed:
            for i, (sender, header, data) in enumerate(self._kept):
                if header.number == tag and src in (None, sender):
                    del self._kept[i]
                    self._kept_bytes[sender] -= len(data)
                    self._changed.notify_all()
                    if not wanted.takes(header):
                        raise self._unlike(sender, header, wanted)
                    view[:] = data
                    return sender
            self._wanted.append(wanted)
            try:
                self._await(wanted, deadline)
            finally:
                if wanted in self._wanted:
                    self._wanted.remove(wanted)
        if wanted.error is not None:
            raise wanted.error
        return wanted.sender

    def connected(self, rank: int) -> None:
        """That rank has made the connection over which its messages will come."""
        self._connected.add(rank)

    def _await(self, wanted: _Wanted, deadline: Deadline) -> None:
        while not wanted.done:
            if self.links.error is not None:
                raise self.links.error
            if self._closed:
                raise CommError("the group was destroyed while a receive was waiting")
            if not wanted.taken:
                self._check_senders(wanted)
            try:
                self._changed.wait(deadline.left())
            except TimeoutError:
                if wanted.src is None:
                    raise CommTimeout("no rank sent a message in time") from None
                raise self._late(wanted.src, "sent no message") from None

    def _check_senders(self, wanted: _Wanted) -> None:
        for rank in range(self.context.size):
            if rank not in self._connected and self.links.is_over(rank):
                own = self.context.ranks[rank]
                self._ended[rank] = PeerLost(f"{self.context.peer(rank)} has left the job", [own])
        if wanted.src is not None:
            if wanted.src in self._ended:
                raise self._ended[wanted.src]
        elif len(self._ended) == self.context.size - 1:
            raise next(iter(self._ended.values()))

    def _unlike(self, sender: int, sent: frames.Header, wanted: _Wanted) -> CommError:
        return CommError(
            f"{self.context.peer(sender)} sent a {sent.call}, but the tensor given to recv takes a "
            f"{wanted.call}: shapes and dtypes must agree on both sides",
            [self.context.ranks[sender]],
        )

    # -- the reading thread ------------------------------------------------------------------
    def listen_to(self, rank: int, link: Link) -> None:
        """Read a peer's messages until it ends; runs in the thread that accepted it."""
        ended: CommError
        try:
            while True:
                self._read_one(rank, link)
        except OSError:
            peer = self.context.peer(rank)
            ended = PeerLost(f"{peer} closed the connection", [self.context.ranks[rank]])
        except MemoryError:
            peer = self.context.peer(rank)
            ended = CommError(f"there is no memory for a message of {peer} that nobody waits for")
        except CommError as e:
            ended = e
        with self._changed:
            self._ended[rank] = self.links.error or ended
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            link.sock.close()

    def _read_one(self, rank: int, link: Link) -> None:
        connection = link.sock
        header = frames.unpack(_read_header(connection), link.incoming)
        wanted, size = None, header.call.nbytes
        if header.call.kind != "message":
            raise CommError(f"{self.context.peer(rank)} sent {header} where messages belong")
        with self._changed:
            wanted = self._claim(rank, header.number)
            while wanted is None and self._kept_bytes[rank] > KEPT_LIMIT and not self._closed:
                self._changed.wait(1.0)
                wanted = self._claim(rank, header.number)
        if wanted is not None and wanted.takes(header):
            view = wanted.view
            while view.nbytes:
                count = connection.recv_into(view)
                if not count:
                    self._fail(wanted, rank)
                    raise ConnectionResetError
                view = view[count:]
        else:
            connection.settimeout(None)
            data = _read(connection, size)
            if wanted is None:
                self._keep(rank, header, data)
                return
            wanted.error = self._unlike(rank, header, wanted)
        with self._changed:
            wanted.sender, wanted.done = rank, True
            self._changed.notify_all()

    def _claim(self, rank: int, tag: int) -> _Wanted | None:
        for wanted in self._wanted:
            if wanted.tag == tag and wanted.src in (None, rank) and not wanted.taken:
                wanted.taken = True
                self._wanted.remove(wanted)
                return wanted
        return None

    def _keep(self, rank: int, header: frames.Header, data: bytearray) -> None:
        with self._changed:
            wanted = self._claim(rank, header.number)
            if wanted is None:
                self._kept.append((rank, header, data))
                self._kept_bytes[rank] += len(data)
                return
            if wanted.takes(header):
                wanted.view[:] = data
            else:
                wanted.error = self._unlike(rank, header, wanted)
            wanted.sender, wanted.done = rank, True
            self._changed.notify_all()

    def _fail(self, wanted: _Wanted, rank: int) -> None:
        with self._changed:
            wanted.error = PeerLost(
                f"{self.context.peer(rank)} was lost in the middle of a message",
                [self.context.ranks[rank]],
            )
            wanted.done = True
            self._changed.notify_all()

    def close(self) -> None:
        """Wake every receive that waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _read_header(connection: socket.socket) -> bytearray:
    connection.settimeout(None)
    return _read(connection, frames.SIZE)


def _read(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(min(size, _PIECE))
    at = 0
    while at < size:
        if at == len(data):
            data += bytes(min(size - at, _PIECE))
        with memoryview(data) as view:
            count = connection.recv_into(view[at:])
        if not count:
            raise ConnectionResetError
        at += count
    return data
