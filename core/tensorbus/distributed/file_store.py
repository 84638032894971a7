"""A store in a file that all processes can open: on one machine, or on a shared file system."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import threading
import time
from collections.abc import Generator

from tensorbus._base.leaving import block
from tensorbus.distributed.durations import Duration
from tensorbus.distributed.errors import DistStoreError
from tensorbus.distributed.store import Store, Value, as_bytes

_RECORD = struct.Struct("!BII")  # 1 set, 0 deleted; bytes of the key, of the value
_LEFT = "&left"


def _lock(fd: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        msvcrt.locking(fd, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(fd, fcntl.LOCK_EX)


def _unlock(fd: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)


class FileStore(Store):
    """Keys in a file, which is made where it is missing and which nobody else may read.

    The last of *world_size* processes that close the store deletes the file.
    """

    def __init__(self, file_name: str, world_size: int = -1, timeout: Duration = None):
        super().__init__(timeout)
        self.path = os.path.abspath(file_name)
        self._world_size = world_size
        self._values: dict[str, bytes] = {}
        self._at = 0
        self._mutex = threading.RLock()
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            self._fd = os.open(self.path, flags, 0o600)
        except OSError as e:
            raise DistStoreError(f"the store's file {self.path} can't be opened: {e}") from e
        self._open = True
        self._keep_private()

    def _keep_private(self) -> None:
        """The file holds the job's secret, so others may not read it."""
        if os.name != "posix":
            return
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            os.close(self._fd)
            self._open = False
            raise DistStoreError(
                f"the store's file {self.path} belongs to another user, or is no plain file: "
                f"choose a path of your own"
            )
        if found.st_mode & 0o077:
            os.fchmod(self._fd, 0o600)

    @block
    def _locked(self) -> Generator[None, None, None]:
        with self._mutex:
            if not self._open:
                raise DistStoreError(f"the store {self.path} is closed")
            try:
                _lock(self._fd)
                self._catch_up()
                yield
            finally:
                try:
                    _unlock(self._fd)
                except BaseException:
                    _unlock(self._fd)
                    raise

    def _catch_up(self) -> None:
        size = os.fstat(self._fd).st_size
        os.lseek(self._fd, self._at, os.SEEK_SET)
        data = b""
        while len(data) < size - self._at:
            part = os.read(self._fd, size - self._at - len(data))
            if not part:
                break
            data += part
        at = 0
        while at < len(data):
            try:
                kept, key_size, size = _RECORD.unpack_from(data, at)
                end = at + _RECORD.size + key_size + size
                if kept > 1 or end > len(data):
                    raise ValueError
                key = data[at + _RECORD.size : at + _RECORD.size + key_size].decode()
            except (struct.error, ValueError) as e:
                raise DistStoreError(
                    f"{self.path} is not a store's file, or was written by something else: "
                    f"remove it or choose another path"
                ) from e
            if kept:
                self._values[key] = data[end - size : end]
            else:
                self._values.pop(key, None)
            at = end
        self._at += at

    def _write(self, key: str, value: bytes | None) -> None:
        name, body = key.encode(), value or b""
        record = _RECORD.pack(value is not None, len(name), len(body)) + name + body
        os.lseek(self._fd, self._at, os.SEEK_SET)
        view = memoryview(record)
        while view:
            view = view[os.write(self._fd, view) :]
        self._at += len(record)
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value

    def set(self, key: str, value: Value) -> None:
        data = as_bytes(value)
        with self._locked():
            self._write(key, data)

    def add(self, key: str, amount: int) -> int:
        with self._locked():
            total = int(self._values.get(key, b"0")) + amount
            self._write(key, b"%d" % total)
            return total

    def append(self, key: str, value: Value) -> None:
        data = as_bytes(value)
        with self._locked():
            self._write(key, self._values.get(key, b"") + data)

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        expected, desired = as_bytes(expected_value), as_bytes(desired_value)
        with self._locked():
            found = self._values.get(key)
            if found == expected or (found is None and not expected):
                self._write(key, desired)
                return desired
            return expected if found is None else found

    def check(self, keys: list[str]) -> bool:
        with self._locked():
            return all(key in self._values for key in keys)

    def delete_key(self, key: str) -> bool:
        with self._locked():
            found = key in self._values
            if found:
                self._write(key, None)
            return found

    def num_keys(self) -> int:
        with self._locked():
            return len(self._values)

    def clone(self) -> FileStore:
        return FileStore(self.path, -1, self.timeout)

    def close(self, remove: bool = False) -> None:
        with self._mutex:
            if not self._open:
                return
            with contextlib.suppress(OSError, DistStoreError):
                last = self._world_size > 0 and self.add(_LEFT, 1) >= self._world_size
                if last or remove:
                    self._unlink()
            self._shut()

    def abandon(self) -> None:
        """Close a store whose job did not come about: the last of those who came deletes it."""
        with self._mutex:
            with contextlib.suppress(OSError, DistStoreError, ValueError):
                came = int(self._values.get("job/joined", b"0"))
                if self.add(_LEFT, 1) >= came and not self.check(["job/ready"]):
                    self._unlink()
            self._shut()

    def _unlink(self) -> None:
        # Another job may have made a file of that name meanwhile.
        if os.path.samestat(os.stat(self.path), os.fstat(self._fd)):
            os.unlink(self.path)

    def _shut(self) -> None:
        if self._open:
            self._open = False
            os.close(self._fd)

    def _read(self, key: str) -> bytes:
        with self._locked():
            try:
                return self._values[key]
            except KeyError:
                raise DistStoreError(f"the key {key!r} was deleted meanwhile") from None

    def _wait(self, keys: list[str], timeout: float) -> bool:
        end, pause = time.monotonic() + timeout, 0.002
        while not self.check(keys):
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)
        return True
