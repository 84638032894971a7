"""The containers that PyTorch wrote before its zip format.

Before 1.6 (and still, with ``_use_new_zipfile_serialization=False``) a file is a row of pickles: a
magic number, the protocol's version, what machine wrote it, the object, the keys of the storages;
then each storage, its number of elements before it, in little-endian order.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from tensorbus.serialization.errors import CheckpointError, bad, shown
from tensorbus.serialization.rebuild import StorageType
from tensorbus.serialization.refused import refuse_absent
from tensorbus.serialization.restricted import RestrictedUnpickler
from tensorbus.serialization.survey import Survey

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
_COUNT = struct.Struct("<q")


def is_legacy(file: IO[bytes]) -> bool:
    """Whether a file of pickles begins where *file* stands, by its magic number."""
    at = file.tell()
    try:
        return RestrictedUnpickler(io.BytesIO(file.read(64))).load() == MAGIC
    except CheckpointError:
        return False
    finally:
        file.seek(at)


@contextmanager
def staying(file: IO[bytes]) -> Iterator[None]:
    """A block that reads elsewhere in a file, which some reader is going through."""
    at = file.tell()
    try:
        yield
    finally:
        file.seek(at)


def bytes_at(file: IO[bytes], start: int, size: int) -> np.ndarray:
    """So many bytes of a file, which are there."""
    with staying(file):
        file.seek(start)
        return np.frombuffer(file.read(size), np.uint8)


class LegacyFile:
    """A file of pickles; ``file`` stands at the object's when it is made."""

    byteorder = "little"
    shared = False

    def __init__(self, file: IO[bytes]):
        self.file = file
        if _next(file) != MAGIC:
            raise bad("it does not begin with the magic number of its format")
        version = _next(file)
        if version != VERSION:
            raise CheckpointError(
                f"The checkpoint has the protocol version {shown(version)}; {VERSION} is the one "
                "that PyTorch wrote."
            )
        _next(file)  # the machine: only the order of bytes would matter, which is always the same
        with staying(file):
            survey = Survey(file)
            survey.load()
            refuse_absent(sorted(survey.globals))
            widths = _widths(survey.references)
            self._spans = dict(_spans(file, widths))
        self.end = max((start + size for start, size in self._spans.values()), default=file.tell())

    def record(self, key: str, size: int) -> np.ndarray:
        """The bytes of a storage."""
        start, there = self._spans.get(key, (0, -1))
        if there != size:
            raise bad(f"the storage {shown(key)} has {there} bytes, but {size} are needed")
        return bytes_at(self.file, start, size)


def _next(file: IO[bytes]) -> Any:
    return RestrictedUnpickler(file).load()


def _widths(references: list[Any]) -> dict[str, int]:
    """Key of a storage -> bytes of an element, as the first reference to it says."""
    widths: dict[str, int] = {}
    for pid in references:
        match pid:
            case ("storage", StorageType() as kind, str(key), *_):
                widths.setdefault(key, kind.dtype.itemsize)
    return widths


def _spans(file: IO[bytes], widths: dict[str, int]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Key of a storage -> where its bytes are, each checked to lie in the file."""
    keys = _next(file)
    if type(keys) is not list or len(set(map(str, keys))) < len(keys):
        raise bad("its storages have no list of different keys")
    position, length = file.tell(), file.seek(0, 2)
    for key in keys:
        if type(key) is not str or key not in widths:
            raise bad(f"nothing refers to the storage {shown(key)}")
        file.seek(position)
        position, size = span(file, length, widths[key])
        yield key, (position, size)
        position += size


def span(file: IO[bytes], length: int, width: int) -> tuple[int, int]:
    """Where the elements that *file* stands before are, and how many bytes."""
    head = file.read(_COUNT.size)
    size = _COUNT.unpack(head)[0] * width if len(head) == _COUNT.size else length
    position = file.tell()
    if not 0 <= size <= length - position:
        raise CheckpointError("The checkpoint is truncated: the file ends inside a storage.")
    return position, size


def write_legacy(
    file: IO[bytes], pickled: bytes, storages: list[Any], widths: list[int], protocol: int
) -> None:
    """Write such a file: the object, and the storages it refers to by their numbers."""
    machine = {
        "protocol_version": VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for head in (MAGIC, VERSION, machine):
        file.write(pickle.dumps(head, protocol))
    file.write(pickled)
    numbers = sorted(range(len(storages)), key=str)
    file.write(pickle.dumps([str(number) for number in numbers], protocol))
    for number in numbers:
        data = storages[number].to_host()
        file.write(_COUNT.pack(data.size // widths[number]))
        file.write(data.data)
