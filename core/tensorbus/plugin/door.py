"""A listening socket that admits whoever proves the job's secret, and keeps nobody else waiting."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

from tensorbus.plugin.seal import Seals
from tensorbus.plugin.wire import Deadline, is_loopback, listen, own, welcome

PROOF_TIME = 10.0
"""Seconds for the whole proof, however slowly its bytes come."""
STRANGERS = 128
"""How many connections may be proving themselves at once; for another one the oldest is cut off."""
_PAUSE = 0.01


class Door:
    """Listens at an address and gives each proven connection to *serve*, in a thread of its own.

    *believed* is called with a connection when the other side has proven itself, before it knows
    that: what it sends or does later comes after that. *ended* is called where such a connection
    breaks before *serve* gets it. ``ValueError`` for an empty secret, ``OSError`` where the address
    can't be listened at.
    """

    def __init__(
        self,
        host: str,
        port: int,
        secret: bytes,
        serve: Callable[[socket.socket, Seals], object],
        name: str,
        believed: Callable[[socket.socket], object] = lambda connection: None,
        ended: Callable[[socket.socket], object] = lambda connection: None,
    ):
        if not secret:
            where = "loopback" if is_loopback(host) else "an address that other machines can reach"
            raise ValueError(f"without a secret nothing listens at {host}, which is {where}")
        self._secret, self._serve = secret, serve
        self._believed, self._ended = believed, ended
        self._lock = threading.Lock()
        self._unproven: dict[socket.socket, None] = {}
        self._closed = False
        self._listener = listen(host, port)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name=name, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(_PAUSE)  # such as where this process has no descriptor left
                continue
            own(connection)
            with self._lock:
                self._unproven[connection] = None
                crowded = len(self._unproven) > STRANGERS
                oldest = next(iter(self._unproven))
            if crowded:
                self._cut_off(oldest)
            try:
                threading.Thread(target=self._greet, args=(connection,), daemon=True).start()
            except RuntimeError:  # there is no thread to be had
                self._cut_off(connection)
                connection.close()

    def _cut_off(self, connection: socket.socket) -> None:
        with self._lock:
            if self._unproven.pop(connection, connection) is connection:
                return  # it has proven itself, or hung up, at this moment
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _greet(self, connection: socket.socket) -> None:
        believed = False

        def believe() -> None:
            nonlocal believed
            with self._lock:
                if self._unproven.pop(connection, connection) is connection:
                    raise ConnectionAbortedError("it was cut off")
            believed = True
            self._believed(connection)

        try:
            seals = welcome(connection, self._secret, Deadline(PROOF_TIME), believe)
        except OSError:
            with self._lock:
                self._unproven.pop(connection, None)
            connection.close()
            if believed:
                self._ended(connection)
            return
        self._serve(connection, seals)

    def close(self) -> None:
        """Listen no more, and cut off those that are proving themselves."""
        with self._lock:
            self._closed = True
            unproven = list(self._unproven)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self._listener.close()
        for connection in unproven:
            self._cut_off(connection)
