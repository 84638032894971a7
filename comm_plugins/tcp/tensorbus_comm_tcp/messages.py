"""Messages between two ranks: each direction has a socket, each incoming one a thread that reads.

A message that is waited for is read straight into its array; another is kept until somebody asks.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque

from tensorbus.plugin import CommContext, CommError, CommTimeout, PeerLost
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_tcp import frames
from tensorbus_comm_tcp.links import Links
from tensorbus_comm_tcp.polling import wait_ready

KEPT_LIMIT = 256 << 20
"""Bytes of one sender's messages that are kept unasked; then it has to wait."""
_PIECE = 64 << 20
"""The most bytes that are made room for before they have come: a length may be a lie."""
_LAST_WORDS = 0.5
"""Seconds for the connection of a rank that has left to come out of the proof of the secret."""
_SMALL = 2048
"""Bytes up to which a message goes out with its header in one call."""


class _Wanted:
    """A receive that waits for its message."""

    def __init__(self, view: memoryview, src: int | None, tag: int):
        self.view, self.src, self.tag = view, src, tag
        self.sender = -1
        self.taken = False
        self.done = False
        self.error: CommError | None = None


class Messages:
    """The messages of one rank."""

    links: Links

    def __init__(self, context: CommContext):
        self.context = context
        self._changed = threading.Condition()
        self._wanted: list[_Wanted] = []
        self._kept: deque[tuple[int, int, bytearray]] = deque()
        self._kept_bytes = dict.fromkeys(range(context.size), 0)
        self._ended: dict[int, CommError] = {}
        self._connected: set[int] = set()
        self._left: dict[int, float] = {}
        self._locks = [threading.Lock() for _ in context.ranks]
        self._closed = False

    # -- sending -----------------------------------------------------------------------------
    def send(self, view: memoryview, dst: int, tag: int, deadline: Deadline) -> None:
        """Send a message; it counts as sent when the system has taken all of it."""
        header = frames.Header(0, tag, view.nbytes).pack()
        lock = self._locks[dst]
        if not lock.acquire(timeout=deadline.left()):
            raise self._late(dst, "takes nothing")
        try:
            sock = self.links.outgoing(dst, deadline)
            sock.setblocking(False)
            small = view.nbytes <= _SMALL
            for part in [memoryview(header + view)] if small else [memoryview(header), view]:
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
    def recv(self, view: memoryview, src: int | None, tag: int, deadline: Deadline) -> int:
        """Fill *view* with the next message of that sender and tag; its sender."""
        with self._changed:
            for i, (sender, its_tag, data) in enumerate(self._kept):
                if its_tag == tag and src in (None, sender):
                    del self._kept[i]
                    self._kept_bytes[sender] -= len(data)
                    self._changed.notify_all()
                    if len(data) != view.nbytes:
                        raise self._wrong_size(sender, len(data), view.nbytes)
                    view[:] = data
                    return sender
            wanted = _Wanted(view, src, tag)
            self._wanted.append(wanted)
            try:
                self._await(wanted, deadline)
            finally:
                if wanted in self._wanted:
                    self._wanted.remove(wanted)
        if wanted.error is not None:
            raise wanted.error
        return wanted.sender

    def has_left(self, rank: int) -> None:
        """That rank has left. Where it never connected, nothing is there that could end."""
        with self._changed:
            self._left[rank] = time.monotonic() + _LAST_WORDS
            self._changed.notify_all()

    def _await(self, wanted: _Wanted, deadline: Deadline) -> None:
        while not wanted.done:
            if self.links.error is not None:
                raise self.links.error
            if self._closed:
                raise CommError("the group was destroyed while a receive was waiting")
            if not wanted.taken:
                self._check_senders(wanted)
            try:
                left = deadline.left()
                self._changed.wait(min(left, _LAST_WORDS) if self._left else left)
            except TimeoutError:
                if wanted.src is None:
                    raise CommTimeout("no rank sent a message in time") from None
                raise self._late(wanted.src, "sent no message") from None

    def _check_senders(self, wanted: _Wanted) -> None:
        for rank, when in self._left.items():
            if rank not in self._connected and time.monotonic() > when:
                own = self.context.ranks[rank]
                self._ended[rank] = PeerLost(f"{self.context.peer(rank)} has left the job", [own])
        if wanted.src is not None:
            if wanted.src in self._ended:
                raise self._ended[wanted.src]
        elif len(self._ended) == self.context.size - 1:
            raise next(iter(self._ended.values()))

    def _wrong_size(self, sender: int, sent: int, wanted: int) -> CommError:
        return CommError(
            f"{self.context.peer(sender)} sent a message of {sent} bytes, but the tensor given to "
            f"recv has {wanted}: shapes and dtypes must agree on both sides",
            [self.context.ranks[sender]],
        )

    # -- the reading thread ------------------------------------------------------------------
    def listen_to(self, rank: int, connection: socket.socket) -> None:
        """Read a peer's messages until it ends; runs in the thread that accepted it."""
        ended: CommError
        with self._changed:
            self._connected.add(rank)
        try:
            while True:
                self._read_one(rank, connection)
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
            connection.close()

    def _read_one(self, rank: int, connection: socket.socket) -> None:
        header = frames.unpack(_read_header(connection))
        wanted, size = None, header.nbytes
        if header.kind:
            raise CommError(f"{self.context.peer(rank)} sent {header} where messages belong")
        with self._changed:
            wanted = self._claim(rank, header.number)
            while wanted is None and self._kept_bytes[rank] > KEPT_LIMIT and not self._closed:
                self._changed.wait(1.0)
                wanted = self._claim(rank, header.number)
        if wanted is not None and size == wanted.view.nbytes:
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
                self._keep(rank, header.number, data)
                return
            wanted.error = self._wrong_size(rank, size, wanted.view.nbytes)
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

    def _keep(self, rank: int, tag: int, data: bytearray) -> None:
        with self._changed:
            wanted = self._claim(rank, tag)
            if wanted is None:
                self._kept.append((rank, tag, data))
                self._kept_bytes[rank] += len(data)
                return
            if len(data) == wanted.view.nbytes:
                wanted.view[:] = data
            else:
                wanted.error = self._wrong_size(rank, len(data), wanted.view.nbytes)
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
