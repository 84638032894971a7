"""Sockets between processes of one job: proof of its secret, and exact reads.

Both sides prove that they know the secret without sending it: HMAC-SHA256 over both sides' fresh
nonces, with a word for each side, so that no answer can be played back to its author. A
stranger sees a fixed word, a random number and perhaps zeros, and is cut off. The proof leaves both
sides with keys that nobody else has, not even who passed it on between them: ``Seals``.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import select
import socket
import time
import weakref
from collections.abc import Callable
from typing import Any

from tensorbus.plugin.seal import Seal, Seals

MAGIC = b"TBUS\x02"
_NONCE = 32
_REFUSAL = bytes(32)
"""What a wrong proof is answered with: silence could be a listener that is just closing."""
_open: set[weakref.ref[socket.socket]] = set()


class Refused(ConnectionError):
    """The other side could not prove that it belongs to this job."""


class Deadline:
    """A moment after which waiting is over.

    >>> from tensorbus.plugin.wire import Deadline
    >>> Deadline(60.0).left() > 59
    True
    """

    __slots__ = ("at",)

    def __init__(self, seconds: float):
        self.at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds to go; ``TimeoutError`` where there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is over")
        return left


def own(sock: socket.socket) -> socket.socket:
    """Keep a socket out of forked children: held there, it would outlive this process, and its
    peers would not notice when this process dies."""
    _open.add(weakref.ref(sock, _open.discard))
    return sock


def _close_in_child() -> None:
    for each in list(_open):
        sock = each()
        if sock is not None:
            sock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def keep_alive(sock: socket.socket) -> None:
    """Let the system find out, within some ten seconds, that the other machine is cut off.

    The other machine's system answers, so a process that is busy or stopped is not mistaken.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 4), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def read_exactly(sock: socket.socket, size: int, deadline: Deadline) -> bytes:
    """The next *size* bytes; ``ConnectionError`` where the other side ends before."""
    data = bytearray(size)
    view = memoryview(data)
    while view.nbytes:
        sock.settimeout(deadline.left())
        count = sock.recv_into(view)
        if not count:
            raise ConnectionResetError("the other side closed the connection")
        view = view[count:]
    return bytes(data)


def write_all(sock: socket.socket, data: bytes | memoryview, deadline: Deadline) -> None:
    """Send everything."""
    sock.settimeout(deadline.left())
    sock.sendall(data)


def _hmac(secret: bytes, word: bytes, first: bytes, second: bytes) -> bytes:
    if not secret:
        raise ValueError("an empty secret proves nothing: give all processes of the job the same")
    return hmac.digest(secret, word + first + second, hashlib.sha256)


def welcome(
    sock: socket.socket,
    secret: bytes,
    deadline: Deadline,
    believed: Callable[[], object] = lambda: None,
) -> Seals:
    """The listening side's half of the proof; ``Refused`` where the other does not know it.

    *believed* is called when the other side has proven itself, before it knows that. ``ValueError``
    for an empty secret.
    """
    own(sock)
    mine = os.urandom(_NONCE)
    write_all(sock, MAGIC + mine, deadline)
    answer = read_exactly(sock, 2 * _NONCE, deadline)
    theirs, proof = answer[:_NONCE], answer[_NONCE:]
    if not hmac.compare_digest(proof, _hmac(secret, b"connects", mine, theirs)):
        write_all(sock, _REFUSAL, deadline)
        raise Refused("a stranger connected: it does not know the job's secret")
    believed()
    write_all(sock, _hmac(secret, b"listens", theirs, mine), deadline)
    return Seals(
        Seal(_hmac(secret, b"from the listener", mine, theirs)),
        Seal(_hmac(secret, b"to the listener", mine, theirs)),
    )


def introduce(sock: socket.socket, secret: bytes, deadline: Deadline) -> Seals:
    """The connecting side's half of the proof; ``Refused`` where the other does not know it.

    ``ValueError`` for an empty secret.
    """
    greeting = read_exactly(sock, len(MAGIC) + _NONCE, deadline)
    if not greeting.startswith(MAGIC):
        raise Refused("what listens there is no tensorbus job of this version")
    theirs, mine = greeting[len(MAGIC) :], os.urandom(_NONCE)
    write_all(sock, mine + _hmac(secret, b"connects", theirs, mine), deadline)
    proof = read_exactly(sock, _NONCE, deadline)
    if proof == _REFUSAL:
        raise Refused(
            "the job there refused this process: its secret is another one (set "
            "TENSORBUS_JOB_SECRET to the same value on all ranks)"
        )
    if not hmac.compare_digest(proof, _hmac(secret, b"listens", mine, theirs)):
        raise Refused(
            "what listens there does not know this job's secret (set TENSORBUS_JOB_SECRET to "
            "the same value on all ranks)"
        )
    return Seals(
        Seal(_hmac(secret, b"to the listener", theirs, mine)),
        Seal(_hmac(secret, b"from the listener", theirs, mine)),
    )


def is_loopback(host: str) -> bool:
    """Whether an address or name stands for this machine alone."""
    if host in ("localhost", "ip6-localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]").split("%")[0]).is_loopback
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]").split("%")[0])
    except ValueError:
        return False
    return True


def host_of(address: Any) -> str:
    """The host of a socket's address; a link-local one with its zone, as ``fe80::1%eth0``."""
    host: str = address[0]
    if len(address) < 4 or not address[3]:
        return host
    return f"{host}%{socket.if_indextoname(address[3])}"


def listen(host: str, port: int = 0, backlog: int = 128) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    An address is that of one interface. A name other than localhost means all of them: machines
    often know their own name as a loopback address, at which the others can't reach them.
    """
    if not is_loopback(host) and not _is_address(host):
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        address = ("", port)
        sock = socket.create_server(address, family=family, backlog=backlog, dualstack_ipv6=both)
        return own(sock)
    family, kind, proto, _, bound = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = own(socket.socket(family, kind, proto))
    try:
        if os.name == "posix":
            # Elsewhere this option would let a second process take a port that is in use.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(bound)
        sock.listen(backlog)
    except BaseException:
        sock.close()
        raise
    return sock


def connect(
    host: str, port: int, secret: bytes, deadline: Deadline,
    check: Callable[[], object] = lambda: None,
) -> socket.socket:  # fmt: skip
    """A connection to a listener of this job, proven on both sides; tries until the deadline.

    A refused proof is final (``Refused``); an absent listener is waited for (``TimeoutError``).
    What *check* raises between two tries ends them.
    """
    return connect_sealed(host, port, secret, deadline, check)[0]


def connect_sealed(
    host: str, port: int, secret: bytes, deadline: Deadline,
    check: Callable[[], object] = lambda: None,
) -> tuple[socket.socket, Seals]:  # fmt: skip
    """As ``connect``, with what signs what goes over the connection."""
    last: Exception | None = None
    while True:
        check()
        try:
            # One attempt may be lost where the listener comes up meanwhile, so none takes long.
            sock = own(socket.create_connection((host, port), timeout=min(deadline.left(), 5.0)))
        except TimeoutError as e:
            last = last or e
        except OSError as e:
            last = e
        else:
            try:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                seals = introduce(sock, secret, deadline)
                keep_alive(sock)
                return sock, seals
            except (Refused, ValueError):
                sock.close()
                raise
            except OSError as e:
                # It went away before the proof: a listener that is just closing, or too busy.
                sock.close()
                last = e
        if deadline.at - time.monotonic() <= 0.05:
            raise TimeoutError(f"nothing of this job answers at {host} port {port}: {last}")
        select.select([], [], [], 0.05)
