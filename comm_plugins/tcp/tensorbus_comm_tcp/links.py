"""Connections between the ranks of a group: made when first needed, proven on both sides."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import sys
import threading
from collections.abc import Callable

from tensorbus.plugin import CommContext, CommError, CommTimeout, PeerLost
from tensorbus.plugin.wire import (
    Deadline,
    Refused,
    accept_each,
    connect,
    keep_alive,
    listen,
    read_exactly,
    welcome,
    write_all,
)
from tensorbus_comm_tcp.frames import COLLECTIVES, HELLO, MESSAGES

INTERFACE = "TENSORBUS_INTERFACE"
"""The address to listen at, where the one that leads to the store is not the right one."""
_PROOF_TIME = 5.0
_STRANGERS = 32


class Links:
    """The sockets of one rank. *on_messages* gets each socket over which a peer sends messages."""

    def __init__(self, context: CommContext, on_messages: Callable[[int, socket.socket], None]):
        if context.store is None:
            raise CommError("the tcp comm needs a store, where its ranks find each other")
        self.context, self.store = context, context.store
        self._on_messages = on_messages
        self._digest = hashlib.sha256(context.name.encode()).digest()[:16]
        self._changed = threading.Condition()
        self._collective: dict[int, socket.socket] = {}
        self._outgoing: dict[int, socket.socket] = {}
        self._all: set[socket.socket] = set()
        self._proving = threading.BoundedSemaphore(_STRANGERS)
        self.error: CommError | None = None
        self._closed = False
        host = os.environ.get(INTERFACE) or context.options.get("address", "127.0.0.1")
        self._listener = listen(host)
        port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="tensorbus-tcp", daemon=True).start()
        # The zone of a link-local address (fe80::1%eth0) is each machine's own name for a network.
        host, _, self._zone = host.partition("%")
        self.store.set(f"tcp/{context.rank}", f"{port} {sys.byteorder} {host}")

    # -- incoming ----------------------------------------------------------------------------
    def _accept(self) -> None:
        accept_each(self._listener, self._proving, lambda: self._closed, self._greet)

    def _greet(self, connection: socket.socket) -> None:
        try:
            try:
                deadline = Deadline(_PROOF_TIME)
                welcome(connection, self.context.secret, deadline)
                hello = read_exactly(connection, HELLO.size, deadline)
            finally:
                self._proving.release()
            digest, rank, use = HELLO.unpack(hello)
            if digest != self._digest or rank >= self.context.size or rank == self.context.rank:
                raise Refused("that connection is meant for another group")
            with self._changed:
                if self._closed or (use == COLLECTIVES and rank in self._collective):
                    raise Refused("that connection is there already")
                self._keep(connection)
                if use == COLLECTIVES:
                    connection.setblocking(False)
                    self._collective[rank] = connection
                    self._changed.notify_all()
                    return
        except (OSError, ValueError):
            connection.close()
            return
        if use == MESSAGES:
            self._on_messages(rank, connection)

    def _keep(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(connection)
        self._all.add(connection)

    # -- outgoing ----------------------------------------------------------------------------
    def _dial(self, peer: int, use: int, deadline: Deadline) -> socket.socket:
        context = self.context
        key = f"tcp/{peer}"
        if self._closed:
            raise self.failure(peer)
        try:
            self.store.wait([key], deadline.left())
            port, order, host = self.store.get(key).decode().split(" ", 2)
            if order != sys.byteorder:
                raise CommError(
                    f"{context.peer(peer)} runs on a {order}-endian machine and this rank on a "
                    f"{sys.byteorder}-endian one: the tcp comm sends numbers as they lie in memory",
                    [context.ranks[peer]],
                )
            if self._zone and host.startswith("fe80:"):
                host = f"{host}%{self._zone}"
            connection = connect(host, int(port), context.secret, deadline)
            hello = HELLO.pack(self._digest, context.rank, use)
            write_all(connection, hello, deadline)
        except Refused as e:
            raise CommError(f"{context.peer(peer)}: {e}", [context.ranks[peer]]) from e
        except CommError:
            raise
        except (OSError, RuntimeError) as e:
            if self.error is not None:
                raise self.error from None
            raise CommTimeout(
                f"{context.peer(peer)} can't be reached: {e}", [context.ranks[peer]]
            ) from e
        with self._changed:
            if self._closed:
                connection.close()
                raise self.failure(peer)
            self._keep(connection)
        return connection

    def collective(self, peer: int, deadline: Deadline) -> socket.socket:
        """The socket for collectives with a peer; the higher rank of the two connects."""
        found = self._collective.get(peer)
        if found is not None:
            return found
        if peer < self.context.rank:
            made = self._dial(peer, COLLECTIVES, deadline)
            made.setblocking(False)
            self._collective[peer] = made
            return made
        with self._changed:
            while (found := self._collective.get(peer)) is None:
                if self._closed:
                    raise self.failure(peer)
                try:
                    self._changed.wait(deadline.left())
                except TimeoutError:
                    raise CommTimeout(
                        f"{self.context.peer(peer)} did not connect", [self.context.ranks[peer]]
                    ) from None
            return found

    def outgoing(self, peer: int, deadline: Deadline) -> socket.socket:
        """The socket over which this rank sends messages to a peer. One thread at a time."""
        found = self._outgoing.get(peer)
        if found is None:
            found = self._outgoing[peer] = self._dial(peer, MESSAGES, deadline)
        return found

    # -- end ---------------------------------------------------------------------------------
    def failure(self, peer: int, cause: BaseException | None = None) -> CommError:
        """Why a connection is of no use any more: what aborted it, or that the peer is gone."""
        if self.error is not None:
            return self.error
        if self._closed:
            return CommError("the group was destroyed while an operation was running")
        reason = f": {cause}" if cause is not None and str(cause) else ""
        return PeerLost(
            f"{self.context.peer(peer)} closed the connection{reason}", [self.context.ranks[peer]]
        )

    def close(self) -> None:
        """Close every socket; threads that wait in one wake up."""
        with self._changed:
            self._closed = True
            sockets = [self._listener, *self._all]
            self._all.clear()
            self._changed.notify_all()
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            if sock is self._listener:
                sock.close()
        # The others are closed when the last thread that uses one lets go of it: a number that is
        # free again could be another file's by then.
        self._collective.clear()
        self._outgoing.clear()
