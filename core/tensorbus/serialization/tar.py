"""PyTorch 0.1's container: a tar archive of storages, tensors, and a pickle that refers to both."""

from __future__ import annotations

import io
import struct
import tarfile
from typing import IO, Any

import numpy as np

from tensorbus.serialization.errors import CheckpointError, bad, reason, shown
from tensorbus.serialization.legacy import bytes_at, span
from tensorbus.serialization.rebuild import StorageType, _rebuild_tensor
from tensorbus.serialization.restricted import RestrictedUnpickler
from tensorbus.serialization.storages import MapLocation, Storages, part_of

_MOST = 1 << 20
_WORDS = struct.Struct("<i4x")


def is_tar(file: IO[bytes]) -> bool:
    """Whether *file* begins as a tar archive does."""
    file.seek(0)
    return file.read(512)[257:262] == b"ustar"


class TarFile:
    """Such an archive; ``load`` gives what a reference in its pickle stands for."""

    byteorder = "little"
    shared = False
    end = None

    def __init__(self, file: IO[bytes], map_location: MapLocation):
        self._whole = file
        self._parts = _members(file)
        self._span = 0, 0
        self._made: dict[int, Any] = {}
        self.storages = Storages(self, map_location)
        self.file = self._member("pickle")
        self._read_storages()
        self._read_tensors()

    def _member(self, name: str) -> IO[bytes]:
        """A part of the archive, its pickles and its numbers; storages are read by their place."""
        start, size = self._parts[name]
        return io.BytesIO(bytes_at(self._whole, start, size).tobytes())

    def record(self, key: str, size: int) -> np.ndarray:
        """The bytes of the storage that is being read."""
        return bytes_at(self._whole, self._span[0], self._span[1])

    def _read_storages(self) -> None:
        start, size = self._parts["storages"]
        file = self._whole
        file.seek(start)
        for _ in range(_count(_next(file))):
            match _next(file):
                case (int(key), str(location), StorageType() as kind):
                    self._span = span(file, start + size, kind.dtype.itemsize)
                case _:
                    raise bad("a storage has no key, location and type")
            count = self._span[1] // kind.dtype.itemsize
            self._made[key] = self.storages.place(kind, str(key), location, count)
            file.seek(sum(self._span))
        views = _next(file)
        for view in views if type(views) is list else [None]:
            match view:
                case (int(key), int(root), int(offset), int(count)) if root in self._made:
                    self._made[key] = part_of(self._made[root], offset, count)
                case _:
                    raise bad("a view of a storage has no key, root, offset and size")

    def _read_tensors(self) -> None:
        file = self._member("tensors")
        for _ in range(_count(_next(file))):
            match _next(file):
                case (int(key), int(storage), _) if storage in self._made:
                    pass
                case _:
                    raise bad("a tensor has no key and storage")
            dims = _WORDS.unpack(_exactly(file, _WORDS.size))[0]
            if not 0 <= dims <= 64:
                raise bad(f"a tensor has {dims} dimensions")
            words = struct.unpack(f"<{2 * dims + 1}q", _exactly(file, 8 * (2 * dims + 1)))
            self._made[key] = _rebuild_tensor(
                self._made[storage], words[-1], words[:dims], words[dims:-1]
            )

    def load(self, pid: Any) -> Any:
        """What a persistent id stands for: a class and its source, or a tensor's key."""
        if isinstance(pid, tuple) and len(pid) == 3:
            return pid[0]
        key = int(pid) if isinstance(pid, str) and pid.isdecimal() and len(pid) < 20 else pid
        if type(key) is not int or key not in self._made:
            raise bad(f"its pickle refers to {shown(pid)}, which it does not hold")
        return self._made[key]


def _members(file: IO[bytes]) -> dict[str, tuple[int, int]]:
    """Name of a part -> where its bytes are; all three parts, each within the file."""
    length = file.seek(0, 2)
    file.seek(0)
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            parts = {m.name: (m.offset_data, m.size) for m in archive if m.isreg()}
    except (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError) as error:
        raise bad(f"its tar archive can't be read ({reason(error)})") from error
    for name in ("storages", "tensors", "pickle"):
        if name not in parts:
            raise CheckpointError(
                f"The file can't be loaded: it is a tar archive without the part {name!r}, which "
                "checkpoints of PyTorch 0.1 have."
            )
        if not 0 <= parts[name][0] <= sum(parts[name]) <= length:
            raise CheckpointError(f"The checkpoint is truncated: the file ends inside {name!r}.")
    return parts


def _next(file: IO[bytes]) -> Any:
    return RestrictedUnpickler(file).load()


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise bad(f"the number of its parts is {shown(value)}")
    return value


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise CheckpointError("The checkpoint is truncated: a tensor's numbers are missing.")
    return data
