"""Files as they are on a disk or in a pipe; writing one so that its old contents are never lost."""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows, where a file that is open can't be removed anyway
    fcntl = None  # type: ignore[assignment]

_LONGEST = 200  # bytes of a name to which a temporary file can add its own marks


def seekable(file: Any) -> Any:
    """The file itself, or all that comes out of it where it can't be read at any place."""
    seek, tell = getattr(file, "seek", None), getattr(file, "seekable", None)
    if callable(seek) and (tell is None or tell()):
        return file
    contents = file.read()
    if isinstance(contents, str):
        raise opened_as_text()
    return io.BytesIO(contents)


def opened_as_text() -> TypeError:
    """The error for a file that gives text."""
    return TypeError("load(): the file is opened as text; open it with mode 'rb'")


@contextmanager
def replacing(path: str | bytes) -> Iterator[IO[bytes]]:
    """A file to write that becomes *path* when all is well, and vanishes otherwise.

    What a process that was killed left behind is removed by the next one that writes this path.
    """
    given = os.fsdecode(path)
    mode = None
    with suppress(FileNotFoundError):
        # The path as it is given: in /dev, a link to a pipe leads to no name of the file system.
        mode = os.stat(given).st_mode
    if mode is not None and not stat.S_ISREG(mode):
        # A device or a pipe holds nothing that could be lost, and must not be replaced.
        with open(given, "wb") as special:
            yield special
        return
    target = os.path.realpath(given)
    folder, name = os.path.split(target)
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    _remove_stale(folder, name)
    temporary, file = _locked(folder, name)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            if fcntl is not None:
                # While it is still open, and so locked: nobody takes it for a stale one.
                os.replace(temporary, target)
        if fcntl is None:
            os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync(folder)


def _locked(folder: str, name: str) -> tuple[str, IO[bytes]]:
    """A new temporary file, locked as long as it is open, so that others know it is in use."""
    while True:
        temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
        file = open(temporary, "xb")  # noqa: SIM115
        try:
            if _lock(file.fileno()) and os.path.exists(temporary):
                return temporary, file
        except OSError:
            return temporary, file  # a file system without locks, where nothing is ever stale
        except BaseException:
            file.close()
            os.unlink(temporary)
            raise
        file.close()  # another process took it for a stale one before it was locked


def _lock(descriptor: int) -> bool:
    """Whether the lock was free; OSError where there are none."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_stale(folder: str, name: str) -> None:
    """Remove the temporary files of that name that no process has open any more."""
    ours = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError):
        for found in os.listdir(folder):
            if ours.fullmatch(found):
                with suppress(OSError):
                    _remove_unused(os.path.join(folder, found))


def _remove_unused(path: str) -> None:
    if fcntl is None:
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _sync(folder: str) -> None:
    """Bring the new name to the disk too, where folders can be opened for that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
