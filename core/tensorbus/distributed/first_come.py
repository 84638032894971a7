"""A store at an address that nobody was chosen to serve: who comes first there serves it."""

from __future__ import annotations

import errno
import socket
import time

from tensorbus.distributed.errors import DistNetworkError
from tensorbus.distributed.tcp_store import TCPStore
from tensorbus.plugin.wire import Refused

_TRY = 1.0
"""Seconds for a server to answer before this process tries to take its place again."""


def store_at(host: str, port: int, timeout: float, secret: bytes | None = None) -> TCPStore:
    """The store at an address: this process serves it where the address is its machine's own and
    still free, else it connects. ``DistNetworkError`` where neither comes about in time.
    """
    end = time.monotonic() + timeout
    while is_here(host):
        try:
            return TCPStore(host, port, is_master=True, timeout=timeout, secret=secret)
        except DistNetworkError as e:
            if not isinstance(e.__cause__, OSError) or e.__cause__.errno != errno.EADDRINUSE:
                raise
        patience = max(0.1, min(_TRY, end - time.monotonic()))
        try:
            store = TCPStore(host, port, timeout=patience, secret=secret)
        except DistNetworkError as e:
            # It may be a server that was just ending.
            if isinstance(e.__cause__, Refused) or patience < _TRY:
                raise
        else:
            store.set_timeout(timeout)
            return store
    return TCPStore(host, port, timeout=timeout, secret=secret)


def is_here(host: str) -> bool:
    """Whether an address or name is this machine's own.

    >>> from tensorbus.distributed.first_come import is_here
    >>> is_here("localhost"), is_here("192.0.2.1")
    (True, False)
    """
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, proto, _, address in found:
        with socket.socket(family, kind, proto) as trial:
            try:
                trial.bind(address)
            except OSError:
                continue
            return True
    return False
