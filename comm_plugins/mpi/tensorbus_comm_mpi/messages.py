"""Messages with 64-bit tags, from a given rank or from any.

Each begins with a head: its tag and its size, and where it is small itself. The body of a large
one follows by itself, so that it is received where it is wanted. MPI keeps the order of heads and
that of bodies, so the n-th body of a rank belongs to its n-th large head.
"""

from __future__ import annotations

import struct
import threading
from collections import deque

import numpy as np
from mpi4py import MPI

from tensorbus.plugin import Array, CommContext, CommError, CommTimeout
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi import device
from tensorbus_comm_mpi.backlog import Backlog
from tensorbus_comm_mpi.progress import Progress, spread, test
from tensorbus_comm_mpi.runtime import guard

_HEAD, _BODY = 1, 2
_FORMAT = struct.Struct("<qQ")
SMALL = 4096
"""Bytes up to which a message travels in its head: libraries send so much without asking."""


class _Message:
    """One that has begun to arrive."""

    __slots__ = ("body", "data", "nbytes", "request", "src", "tag")

    def __init__(self, src: int, tag: int, nbytes: int, data: np.ndarray | None):
        self.src, self.tag, self.nbytes = src, tag, nbytes
        self.data = data
        """The bytes, where they are here already, or are coming in by ``request``."""
        self.body: MPI.Message | None = None
        self.request: MPI.Request | None = None


class Messages:
    """The messages of one communicator."""

    def __init__(self, context: CommContext, comm: MPI.Intracomm, progress: Progress):
        self._context, self._comm, self._progress = context, comm, progress
        self._lock = threading.Lock()
        self._order = threading.Lock()
        self._arrived: dict[int, deque[_Message]] = {}
        self._bodiless: dict[int, deque[_Message]] = {}
        self.backlog = Backlog(f"{context.name} sends", progress)

    # -- sending -----------------------------------------------------------------------------
    def send(self, array: Array, dst: int, tag: int, timeout: float) -> None:
        """Send; a large message waits until *dst* takes it, or waits itself for something."""
        self._progress.check()
        deadline, on_device, body = Deadline(timeout), device.holds(array), None
        device.settle(array)
        head = _FORMAT.pack(tag, array.nbytes)
        if array.nbytes <= SMALL and not on_device:
            head += array.tobytes()
        data = np.frombuffer(head, np.uint8)
        with self._order, self._progress.calling("send"):
            self.backlog.add(self._comm.Isend(data, dst, _HEAD), data)
            if array.nbytes > SMALL or (on_device and array.nbytes):
                body = self._comm.Isend([array, *spread(array.nbytes)], dst, _BODY)
        if body is not None:
            self._progress.wait([body], "send", deadline, array.nbytes, [dst])

    def flush(self, deadline: Deadline) -> bool:
        """Whether everything that was sent is on its way."""
        return self._progress.until(self.backlog.done, deadline)

    # -- receiving ---------------------------------------------------------------------------
    def recv(self, array: Array, src: int | None, tag: int, timeout: float) -> int:
        """Fill the array; the sender's rank."""
        self._progress.check()
        deadline = Deadline(timeout)
        message = self._claim(src, tag, deadline)
        if message.nbytes != array.nbytes:
            self._put_away(message, deadline)
            raise CommError(
                f"{self._context.peer(message.src)} sent a message of {message.nbytes} bytes, but "
                f"the tensor given to recv has {array.nbytes}: shapes and dtypes must agree",
                [self._context.ranks[message.src]],
            )
        if message.data is not None:
            self._finish(message, deadline)
            device.fill(array, message.data.view(array.dtype))
        elif message.body is not None:
            device.settle(array)
            with guard:
                message.request = message.body.Irecv([array, *spread(array.nbytes)])
            self._finish(message, deadline)
        return message.src

    def _claim(self, src: int | None, tag: int, deadline: Deadline) -> _Message:
        found: list[_Message] = []

        def look() -> bool:
            with self._lock:
                self._take_in()
                for message in self._arrived.get(tag, ()):
                    if src in (None, message.src):
                        if message.data is None and message.body is None and message.nbytes:
                            return False  # the head of the next one is here, its body not yet
                        self._arrived[tag].remove(message)
                        if not self._arrived[tag]:
                            del self._arrived[tag]
                        found.append(message)
                        return True
            return False

        if not self._progress.until(look, deadline):
            wanted = [] if src is None else [src]
            names = self._context.peer(src) if src is not None else "any rank"
            raise CommTimeout(
                f"no message came from {names} in time", [self._context.ranks[r] for r in wanted]
            )
        return found[0]

    def _finish(self, message: _Message, deadline: Deadline) -> None:
        if message.request is not None:
            self._progress.wait([message.request], "recv", deadline, message.nbytes, [message.src])

    def _put_away(self, message: _Message, deadline: Deadline) -> None:
        """Receive what nobody wants: its sender waits for that."""
        if message.data is None and message.body is not None:
            self._receive_aside(message)
        self._finish(message, deadline)

    def _receive_aside(self, message: _Message) -> None:
        if message.body is not None:
            message.data = np.empty(message.nbytes, np.uint8)
            with guard:
                message.request = message.body.Irecv([message.data, *spread(message.nbytes)])

    def _take_in(self) -> None:
        """Sort what has arrived."""
        status = MPI.Status()
        while True:
            with guard:
                head = self._comm.Improbe(MPI.ANY_SOURCE, _HEAD, status)
                if head is None:
                    break
                data = np.empty(status.Get_count(MPI.BYTE), np.uint8)
                head.Recv(data)
            tag, nbytes = _FORMAT.unpack(data[: _FORMAT.size].tobytes())
            rest = data[_FORMAT.size :]
            inline = rest if rest.size or not nbytes else None
            message = _Message(status.Get_source(), tag, nbytes, inline)
            self._arrived.setdefault(tag, deque()).append(message)
            if inline is None:
                self._bodiless.setdefault(message.src, deque()).append(message)
        for src, waiting in self._bodiless.items():
            while waiting:
                with guard:
                    body = self._comm.Improbe(src, _BODY)
                if body is None:
                    break
                waiting.popleft().body = body

    def make_room(self) -> None:
        """Receive what nobody has asked for yet: its senders may be those this rank waits for."""
        with self._lock:
            self._take_in()
            for messages in self._arrived.values():
                for message in messages:
                    if message.data is None and message.body is not None:
                        self._receive_aside(message)
                    if message.request is not None:
                        test([message.request])
