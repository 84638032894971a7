"""Connections between the ranks of a group: made when first needed, proven on both sides."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence

from tensorbus.plugin import CommContext, CommError, CommTimeout, PeerLost
from tensorbus.plugin.door import PROOF_TIME, Door
from tensorbus.plugin.seal import SIZE as SIGNATURE
from tensorbus.plugin.seal import Seals
from tensorbus.plugin.wire import (
    Deadline,
    Refused,
    connect_sealed,
    keep_alive,
    read_exactly,
    write_all,
)
from tensorbus_comm_tcp.frames import COLLECTIVES, HELLO, MESSAGES

INTERFACE = "TENSORBUS_INTERFACE"
"""The address to listen at, where the one that leads to the store is not the right one."""
_SLICE = 0.25
"""Seconds after which one who waits looks whether others have ended."""


class Link:
    """A proven connection to a peer: its socket, and what signs its frames."""

    __slots__ = ("incoming", "outgoing", "sock")

    def __init__(self, sock: socket.socket, seals: Seals):
        self.sock = sock
        self.outgoing, self.incoming = seals.outgoing, seals.incoming


class Links:
    """The connections of one rank.

    *connected* is told whose messages will come, and *on_messages* gets each link over which they
    do. *changed* is held where the ranks that are there change, and notified.
    """

    def __init__(
        self,
        context: CommContext,
        changed: threading.Condition,
        connected: Callable[[int], None],
        on_messages: Callable[[int, Link], None],
    ):
        if context.store is None:
            raise CommError("the tcp comm needs a store, where its ranks find each other")
        self.context, self.store = context, context.store
        self._connected, self._on_messages = connected, on_messages
        self._digest = hashlib.sha256(context.name.encode()).digest()[:16]
        self._changed = changed
        self._collective: dict[int, Link] = {}
        self._outgoing: dict[int, Link] = {}
        self._all: set[socket.socket] = set()
        self._addresses: list[str] = []
        self._arriving: set[socket.socket] = set()
        """Connections of proven peers of which it is not known yet whose they are."""
        self._gone: dict[int, set[socket.socket]] = {}
        """Ranks that have ended, each with what was arriving then: that may be theirs."""
        self.error: CommError | None = None
        self._closed = False
        host = os.environ.get(INTERFACE) or context.options.get("address", "127.0.0.1")
        self._door = Door(
            host, 0, context.secret, self._greet, "tensorbus-tcp", self._arrives, self._arrived
        )
        # The zone of a link-local address (fe80::1%eth0) is each machine's own name for a network.
        host, _, self._zone = host.partition("%")
        self.store.set(f"tcp/{context.rank}", f"{self._door.port} {sys.byteorder} {host}")

    def prepare(self, timeout: float) -> None:
        """Take the addresses of all from the store, by way of rank 0."""
        deadline, size = Deadline(timeout), self.context.size
        if self.context.rank:
            self._await_key("tcp/all", range(size), deadline)
            book = self.store.get("tcp/all").decode()
        else:
            for rank in range(1, size):
                self._await_key(f"tcp/{rank}", [rank], deadline)
            book = "\n".join(self.store.get(f"tcp/{rank}").decode() for rank in range(size))
            self.store.set("tcp/all", book)
        self._addresses = book.split("\n")

    def _await_key(self, key: str, ranks: Sequence[int], deadline: Deadline) -> None:
        """Wait for what these ranks write, unless one of them ends."""
        while not self.store.check([key]):
            for rank in ranks:
                self._check_there(rank)
            try:
                left = deadline.left()
            except TimeoutError:
                names = ", ".join(self.context.peer(r) for r in ranks)
                own = [self.context.ranks[r] for r in ranks]
                raise CommTimeout(f"{names} did not come in time", own) from None
            # A store that is gone says so when it is asked again.
            with contextlib.suppress(RuntimeError):
                self.store.wait([key], min(left, _SLICE))

    def _address(self, peer: int, deadline: Deadline) -> str:
        if self._addresses:
            return self._addresses[peer]
        self._await_key(f"tcp/{peer}", [peer], deadline)
        return self.store.get(f"tcp/{peer}").decode()

    def _check_there(self, rank: int) -> None:
        if self._closed or self.error is not None:
            raise self.failure(rank)
        if rank in self._gone:
            raise PeerLost(f"{self.context.peer(rank)} has ended", [self.context.ranks[rank]])

    # -- incoming ----------------------------------------------------------------------------
    def _arrives(self, connection: socket.socket) -> None:
        with self._changed:
            self._arriving.add(connection)

    def _arrived(self, connection: socket.socket) -> None:
        with self._changed:
            self._arriving.discard(connection)
            for those in self._gone.values():
                those.discard(connection)
            self._changed.notify_all()

    def _greet(self, connection: socket.socket, seals: Seals) -> None:
        try:
            said = read_exactly(connection, HELLO.size + SIGNATURE, Deadline(PROOF_TIME))
            hello, signature = said[: HELLO.size], said[HELLO.size :]
            if not seals.incoming.fits(signature, hello):
                raise Refused("what it is for was changed on its way")
            digest, rank, use = HELLO.unpack(hello)
            if digest != self._digest or rank >= self.context.size or rank == self.context.rank:
                raise Refused("that connection is meant for another group")
            link = Link(connection, seals)
            with self._changed:
                if self._closed or (use == COLLECTIVES and rank in self._collective):
                    raise Refused("that connection is there already")
                self._keep(connection)
                if use == COLLECTIVES:
                    connection.setblocking(False)
                    self._collective[rank] = link
                else:
                    self._connected(rank)
        except (OSError, ValueError):
            connection.close()
            return
        finally:
            self._arrived(connection)
        if use != COLLECTIVES:
            self._on_messages(rank, link)

    def _keep(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(connection)
        self._all.add(connection)

    def gone(self, rank: int) -> None:
        """That rank has ended: nothing comes of it but what has been on its way."""
        with self._changed:
            self._gone.setdefault(rank, set(self._arriving))
            self._changed.notify_all()

    def is_over(self, rank: int) -> bool:
        """Whether that rank has ended, and none of the connections that it may have made is left
        to be looked at. Called with *changed* held."""
        return rank in self._gone and not self._gone[rank]

    # -- outgoing ----------------------------------------------------------------------------
    def _dial(self, peer: int, use: int, deadline: Deadline) -> Link:
        context = self.context
        self._check_there(peer)
        try:
            port, order, host = self._address(peer, deadline).split(" ", 2)
            if order != sys.byteorder:
                raise CommError(
                    f"{context.peer(peer)} runs on a {order}-endian machine and this rank on a "
                    f"{sys.byteorder}-endian one: the tcp comm sends numbers as they lie in memory",
                    [context.ranks[peer]],
                )
            if self._zone and host.startswith("fe80:"):
                host = f"{host}%{self._zone}"
            connection, seals = connect_sealed(
                host, int(port), context.secret, deadline, lambda: self._check_there(peer)
            )
            hello = HELLO.pack(self._digest, context.rank, use)
            write_all(connection, hello + seals.outgoing.sign(hello), deadline)
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
        return Link(connection, seals)

    def collective(self, peer: int, deadline: Deadline) -> Link:
        """The link for collectives with a peer; the higher rank of the two connects."""
        found = self._collective.get(peer)
        if found is not None:
            return found
        if peer < self.context.rank:
            made = self._dial(peer, COLLECTIVES, deadline)
            made.sock.setblocking(False)
            self._collective[peer] = made
            return made
        with self._changed:
            while (found := self._collective.get(peer)) is None:
                if self._closed:
                    raise self.failure(peer)
                if self.is_over(peer):
                    self._check_there(peer)
                try:
                    self._changed.wait(deadline.left())
                except TimeoutError:
                    raise CommTimeout(
                        f"{self.context.peer(peer)} did not connect", [self.context.ranks[peer]]
                    ) from None
            return found

    def outgoing(self, peer: int, deadline: Deadline) -> Link:
        """The link over which this rank sends messages to a peer. One thread at a time."""
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
            sockets = list(self._all)
            self._all.clear()
            self._changed.notify_all()
        self._door.close()
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        # The others are closed when the last thread that uses one lets go of it: a number that is
        # free again could be another file's by then.
        self._collective.clear()
        self._outgoing.clear()
