"""Waiting for sockets, with ``poll`` where the system has it."""

from __future__ import annotations

import select
import socket


def wait_ready(
    reading: socket.socket | None, writing: socket.socket | None, timeout: float
) -> bool:
    """Wait until one can be read from or the other written to; False where neither can in time.

    ``ValueError`` or ``OSError`` for a socket that was closed meanwhile.
    """
    if not hasattr(select, "poll"):
        readable, writable, _ = select.select(
            [reading] if reading else [], [writing] if writing else [], [], timeout
        )
        return bool(readable or writable)
    poller = select.poll()
    if reading is writing and reading is not None:
        poller.register(reading, select.POLLIN | select.POLLOUT)
    else:
        if reading is not None:
            poller.register(reading, select.POLLIN)
        if writing is not None:
            poller.register(writing, select.POLLOUT)
    return bool(poller.poll(timeout * 1000))
