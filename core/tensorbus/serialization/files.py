"""Writing a file so that its previous contents are never lost."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file to write that becomes *path* when all is well, and vanishes otherwise."""
    target = os.path.realpath(path)
    mode = None
    if os.path.exists(target):
        mode = os.stat(target).st_mode
        if not stat.S_ISREG(mode):
            # A device or a pipe holds nothing that could be lost, and must not be replaced.
            with open(target, "wb") as file:
                yield file
            return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
