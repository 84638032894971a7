"""The job's secret: what every process of a job knows and no stranger does."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile

from tensorbus.plugin.wire import is_loopback

VARIABLE = "TENSORBUS_JOB_SECRET"
_FILE = "job-secret"
_LONGEST = 4096


def job_secret(host: str) -> bytes:
    """The secret for a store at *host*: ``TENSORBUS_JOB_SECRET``, on loopback else the user's own.

    ``RuntimeError`` for an address that other machines can reach where none is set: whoever may
    join a job may run code in it, because object collectives are pickles.
    """
    text = os.environ.get(VARIABLE, "")
    if text:
        return text.encode()
    if not is_loopback(host):
        raise RuntimeError(
            f"a job at {host}, which other machines can reach, needs a secret: set {VARIABLE} to "
            f"the same random text on all ranks (the launcher, tensorbus.distributed.run, does)"
        )
    return user_secret()


def user_secret() -> bytes:
    """A secret that this user's processes on this machine share, made when first asked for.

    It lies in a file that its owner alone can read. ``RuntimeError`` where there is no folder that
    it could lie in, and where somebody else could have read or written it.
    """
    failed = []
    for folder in _folders():
        try:
            return _in_folder(folder)
        except OSError as e:
            failed.append(f"{folder}: {e.strerror or e}")
    raise RuntimeError(
        f"no file can be made for the secret that keeps other users out of this job "
        f"({'; '.join(failed)}): set {VARIABLE} to the same random text on all ranks"
    )


def _folders() -> list[str]:
    """Where the file may lie: the first in which it can be made."""
    home = os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME", "")
    base = base if os.path.isabs(base) else os.path.join(home, ".config")
    folders = [os.path.join(base, "tensorbus")] if os.path.isabs(base) else []
    if hasattr(os, "geteuid"):
        # Such as for users without a home in containers. Anybody may make this one first, but
        # then it is not ours and is refused.
        folders.append(os.path.join(tempfile.gettempdir(), f"tensorbus-{os.geteuid()}"))
    return folders


def _in_folder(folder: str) -> bytes:
    if os.name != "posix":
        # A profile's folders are its user's own.
        os.makedirs(folder, exist_ok=True)
        return _read_or_make(folder, None)
    for each in (os.path.dirname(folder), folder):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, 0o700)
    # From here on the folder is this one, whatever its name may come to stand for.
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _check_own(os.fstat(fd), folder, stat.S_IWGRP | stat.S_IWOTH)
        return _read_or_make(folder, fd)
    finally:
        os.close(fd)


def _check_own(found: os.stat_result, path: str, forbidden: int) -> None:
    """``RuntimeError`` for what another user has made, or may use as *forbidden* says."""
    if found.st_uid != os.geteuid():
        why = f"belongs to user {found.st_uid}"
    elif found.st_mode & forbidden:
        why = f"is open to other users (mode {stat.S_IMODE(found.st_mode):o})"
    else:
        return
    raise RuntimeError(
        f"{path} {why}, so the secret in it keeps nobody out of this job: remove it, or set "
        f"{VARIABLE} to the same random text on all ranks"
    )


def _read_or_make(folder: str, fd: int | None) -> bytes:
    """The secret in the folder; *fd* is the folder, where the system has such a thing."""
    path = os.path.join(folder, _FILE)
    name = path if fd is None else _FILE
    found = _read(name, path, fd)
    if found is None:
        _make(name, fd)
        found = _read(name, path, fd)
    if not found:
        raise RuntimeError(f"{path} is empty: remove it, and a new secret is made")
    return found


def _read(name: str, path: str, fd: int | None) -> bytes | None:
    flags = os.O_RDONLY
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    try:
        file = os.open(name, flags, dir_fd=fd)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise RuntimeError(
            f"{path} can't be read ({e.strerror}), or is a link: remove it, or set {VARIABLE} to "
            f"the same random text on all ranks"
        ) from e
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise RuntimeError(f"{path} is no plain file: remove it, and a new secret is made")
        if os.name == "posix":
            _check_own(found, path, 0o077)
        return os.read(file, _LONGEST).strip()
    finally:
        os.close(file)


def _make(name: str, fd: int | None) -> None:
    """Make the file whole or not at all; one that another process made meanwhile stays."""
    draft = f"{name}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    file = os.open(draft, flags, 0o600, dir_fd=fd)
    try:
        try:
            os.write(file, secrets.token_hex(32).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
        with contextlib.suppress(FileExistsError):
            os.link(draft, name, src_dir_fd=fd, dst_dir_fd=fd)
    finally:
        os.unlink(draft, dir_fd=fd)
