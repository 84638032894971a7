"""A free port for rank 0, kept free until it is taken."""

from __future__ import annotations

import errno
import os
import socket
import sys

from tensorbus.cli import UsageError


def check(host: str, port: int) -> None:
    """``UsageError`` where nobody could listen there."""
    reserve(host, port)[1].close()


def reserve(host: str, port: int) -> tuple[int, socket.socket]:
    """The port, a free one for 0, and a socket that reserves it until it is closed.

    On Linux a bound socket that does not listen keeps the kernel from giving the port to anybody
    who asks for a free one, while a rank may still listen on it by its number. Elsewhere the socket
    comes closed, since rank 0 could not listen beside it.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as e:
        raise UsageError(f"the master's address {host} is unknown: {e.strerror or e}") from e
    held = socket.socket(family, kind, proto)
    try:
        if os.name == "posix":
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
        found: int = held.getsockname()[1]
    except OSError as e:
        held.close()
        if e.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} of {host} is in use: give another --master-port, or none for a "
                "free one"
            ) from e
        raise UsageError(f"nobody can listen at {host} port {port}: {e.strerror or e}") from e
    if not sys.platform.startswith("linux"):
        held.close()
    return found, held
