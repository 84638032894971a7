"""Ports for tests whose programs must be told one before anybody listens there.

A port that was free a moment ago may be anybody's the next: the system gives such ports to whoever
connects. These lie below its range, and each is some test process's own until that ends.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

_RANGE = range(15_000, 30_000)
_held: list[IO[bytes]] = []


def own_port() -> int:
    """A port of loopback at which nobody listens, and which no other test is given."""
    folder = Path(tempfile.gettempdir()) / f"tensorbus-tests-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for port in random.sample(_RANGE, len(_RANGE)):
        file = (folder / str(port)).open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            continue  # another test's
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                file.close()
                continue
        _held.append(file)
        return port
    raise RuntimeError(f"no port from {_RANGE.start} to {_RANGE.stop} is free")
