"""A store that one process serves and the others reach over TCP, with the job's secret."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

from tensorbus.distributed.durations import Duration
from tensorbus.distributed.errors import DistNetworkError, DistStoreError
from tensorbus.distributed.secret import job_secret
from tensorbus.distributed.store import HashStore, Store, Value, as_bytes
from tensorbus.plugin import seal
from tensorbus.plugin.door import Door
from tensorbus.plugin.seal import Seals
from tensorbus.plugin.wire import (
    Deadline,
    Refused,
    connect_sealed,
    host_of,
    keep_alive,
    read_exactly,
    write_all,
)

SET, READ, ADD, APPEND, COMPARE_SET, CHECK, WAIT, DELETE, COUNT, PUBLISH, WILL = range(11)
_REQUEST = struct.Struct("!BHI")  # call, arguments, bytes of all of them with their lengths
_REPLY = struct.Struct("!BI")  # 0 done, 1 an error text; bytes
_LENGTH = struct.Struct("!I")
LIMIT = 64 << 20
"""The most bytes of one request."""
_ENDLESS = 1e8
ANSWER_TIME = 10.0
"""How long the server may take to answer, beyond what a call waits for."""


class _Server:
    def __init__(self, host: str, port: int, secret: bytes):
        self._table = HashStore()
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._door = Door(host, port, secret, self._serve, "tensorbus-store")
        self.port = self._door.port

    def _serve(self, connection: socket.socket, seals: Seals) -> None:
        will: list[bytes] = []
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                if self._closed:
                    return
                self._connections.add(connection)
            connection.settimeout(None)
            keep_alive(connection)
            while True:
                answer = self._answer(connection, seals, will)
                connection.sendall(answer + seals.outgoing.sign(answer))
        except (OSError, ValueError, struct.error):
            pass  # it went away or speaks nonsense: nobody else is concerned
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()
            if will:
                self._table.publish(will[0].decode(), will[1])

    def _answer(self, connection: socket.socket, seals: Seals, will: list[bytes]) -> bytes:
        head = _read(connection, _REQUEST.size)
        call, count, size = _REQUEST.unpack(head)
        if size > LIMIT:
            raise ValueError("the request is too large")
        body = _read(connection, size)
        if not seals.incoming.fits(_read(connection, seal.SIZE), head + body):
            raise ValueError("the request was changed on its way")
        arguments, at = [], 0
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(body, at)
            at += _LENGTH.size
            arguments.append(body[at : at + length])
            at += length
        if at != size:
            raise ValueError("the request's lengths do not agree")
        try:
            if call == WILL:
                channel, text = arguments
                will[:] = [channel, text] if text else []
                status, value = 0, b""
            else:
                status, value = 0, self._run(call, arguments)
        except (DistStoreError, ValueError, TypeError, IndexError) as e:
            status, value = 1, str(e).encode()
        return _REPLY.pack(status, len(value)) + value

    def _run(self, call: int, arguments: list[bytes]) -> bytes:
        table = self._table
        if call in (SET, APPEND, COMPARE_SET, PUBLISH):
            key = arguments[0].decode()
            if call == PUBLISH:
                return b"%d" % table.publish(key, arguments[1])
            if call == COMPARE_SET:
                return table.compare_set(key, *arguments[1:3])
            (table.set if call == SET else table.append)(key, arguments[1])
            return b""
        keys = [a.decode() for a in arguments]
        if call == WAIT:
            return b"%d" % table._wait(keys[1:], float(keys[0]))
        if call == CHECK:
            return b"%d" % table.check(keys)
        if call == COUNT:
            return b"%d" % table.num_keys()
        key = keys[0]
        if call == READ:
            return table._read(key)
        if call == ADD:
            return b"%d" % table.add(key, int(keys[1]))
        if call == DELETE:
            return b"%d" % table.delete_key(key)
        raise ValueError(f"there is no call {call}")

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connections = list(self._connections)
        self._door.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._table.close()


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view = memoryview(data)
    while view.nbytes:
        count = connection.recv_into(view)
        if not count:
            raise ConnectionResetError("closed")
        view = view[count:]
    return bytes(data)


class TCPStore(Store):
    """Keys served by one process (``is_master=True``) to those that know the job's secret.

    ``port=0`` takes a free one, which ``port`` gives. *secret* is by default that of
    ``TENSORBUS_JOB_SECRET``. ``DistNetworkError`` where the server can't be reached in time.
    With *world_size*, the master waits until that many processes have connected.

    >>> from tensorbus.distributed import TCPStore
    >>> server = TCPStore("127.0.0.1", 0, is_master=True)
    >>> client = TCPStore("127.0.0.1", server.port)
    >>> client.set("key", "value")
    >>> server.get("key")
    b'value'
    >>> client.close(), server.close()
    (None, None)
    """

    def __init__(
        self,
        host_name: str,
        port: int = 0,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: Duration = None,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        secret: bytes | None = None,
    ):
        super().__init__(timeout)
        self.host, self.port = host_name, port
        self._patience = ANSWER_TIME
        self._endless = False
        """Whether to bear with a server that is busy: only a broken connection counts."""
        self._secret = job_secret(host_name) if secret is None else secret
        self._server = None
        if is_master:
            try:
                self._server = _Server(host_name, port, self._secret)
            except OSError as e:
                raise DistNetworkError(
                    f"The server socket has failed to listen on any local network addresses. "
                    f"host: {host_name}, port: {port}: {e.strerror or e}. Is another job, or "
                    f"another rank 0 of this one, using the port?"
                ) from e
            self.port = self._server.port
        self._lock = threading.Lock()
        try:
            self._connection, self._seals = self._connect()
            if world_size and world_size > 0 and wait_for_workers:
                here = self.add("&workers", 1)
                if is_master and not here >= world_size:
                    self._await_workers(world_size)
        except BaseException:
            self.close()
            raise

    def _await_workers(self, world_size: int) -> None:
        deadline = Deadline(self._timeout)
        while self.add("&workers", 0) < world_size:
            try:
                deadline.left()
            except TimeoutError:
                raise DistStoreError(
                    f"Timed out after {self._timeout:g} seconds waiting for clients. "
                    f"{self.add('&workers', 0)}/{world_size} clients joined."
                ) from None
            self._wait(["&never"], 0.02)

    def _connect(self) -> tuple[socket.socket, Seals]:
        try:
            return connect_sealed(self.host, self.port, self._secret, Deadline(self._timeout))
        except (Refused, TimeoutError) as e:
            raise DistNetworkError(
                f"The client socket has timed out after {self._timeout * 1000:.0f}ms while trying "
                f"to connect to ({self.host}, {self.port})."
                if isinstance(e, TimeoutError)
                else f"the store at {self.host} port {self.port}: {e}"
            ) from e

    @property
    def is_server(self) -> bool:
        return self._server is not None

    @property
    def address(self) -> str:
        """This machine's address, as the server sees it."""
        return host_of(self._connection.getsockname())

    @property
    def connected(self) -> bool:
        return True

    def wait_long(self) -> float:
        self._endless = True
        return 60.0

    def set_patience(self, seconds: float) -> None:
        self._patience = seconds

    def _ask(self, call: int, *arguments: bytes, waits: float = 0.0) -> bytes:
        body = b"".join(_LENGTH.pack(len(a)) + a for a in arguments)
        if len(body) > LIMIT:
            raise ValueError(f"a store takes at most {LIMIT} bytes at once, not {len(body)}")
        deadline = Deadline(waits + (_ENDLESS if self._endless else self._patience))
        request = _REQUEST.pack(call, len(arguments), len(body)) + body
        with self._lock:
            try:
                request += self._seals.outgoing.sign(request)
                write_all(self._connection, request, deadline)
                head = read_exactly(self._connection, _REPLY.size, deadline)
                status, size = _REPLY.unpack(head)
                value = read_exactly(self._connection, size, deadline)
                signature = read_exactly(self._connection, seal.SIZE, deadline)
                if not self._seals.incoming.fits(signature, head + value):
                    raise ConnectionError("an answer was changed on its way")
            except OSError as e:
                # Whatever comes later on this connection would be taken for another answer.
                self._connection.close()
                raise DistNetworkError(
                    f"the store at {self.host} port {self.port} is gone, so the process that "
                    f"serves it (rank 0, as a rule) has ended, hangs or was cut off: {e}"
                ) from e
            except BaseException:
                self._connection.close()  # for the same reason, where this thread is interrupted
                raise
        if status:
            raise DistStoreError(value.decode())
        return value

    def set(self, key: str, value: Value) -> None:
        self._ask(SET, key.encode(), as_bytes(value))

    def add(self, key: str, amount: int) -> int:
        return int(self._ask(ADD, key.encode(), b"%d" % amount))

    def append(self, key: str, value: Value) -> None:
        self._ask(APPEND, key.encode(), as_bytes(value))

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        return self._ask(
            COMPARE_SET, key.encode(), as_bytes(expected_value), as_bytes(desired_value)
        )

    def check(self, keys: list[str]) -> bool:
        return self._ask(CHECK, *(k.encode() for k in keys)) == b"1"

    def delete_key(self, key: str) -> bool:
        return self._ask(DELETE, key.encode()) == b"1"

    def num_keys(self) -> int:
        return int(self._ask(COUNT))

    def publish(self, channel: str, value: Value) -> int:
        return int(self._ask(PUBLISH, channel.encode(), as_bytes(value)))

    def last_will(self, channel: str, value: Value) -> bool:
        self._ask(WILL, channel.encode(), as_bytes(value))
        return True

    def _read(self, key: str) -> bytes:
        return self._ask(READ, key.encode())

    def _wait(self, keys: list[str], timeout: float) -> bool:
        encoded = (k.encode() for k in keys)
        return self._ask(WAIT, repr(timeout).encode(), *encoded, waits=timeout) == b"1"

    def clone(self) -> TCPStore:
        return TCPStore(self.host, self.port, timeout=self.timeout, secret=self._secret)

    def close(self, remove: bool = False) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits in it
            connection.close()
        if self._server is not None:
            self._server.close()
