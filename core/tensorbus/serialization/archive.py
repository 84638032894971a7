"""The container of a checkpoint: a zip file of uncompressed records, as PyTorch writes it.

The layout: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, records stored without
compression, their data aligned to 64 bytes by a padding field, all names under one folder.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from tensorbus.serialization.errors import CheckpointError, bad, shown

ALIGNMENT = 64
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_FIELD = struct.Struct("<2H")
_PADDING_FIELD = 0x4246  # "FB", the field PyTorch pads with
_ZIP64_FIELD = 1
_SMALL = 0xFFFF
_LARGE = 0xFFFFFFFF
_JANUARY_1980 = 0x21
_UTF8_NAMES = 0x800
_ENCRYPTED = 1

_check_crc = True


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether ``load`` compares each record with its checksum, as it does by default.

    False is for files that ``torch.serialization.set_crc32_options(False)`` wrote.

    >>> import tensorbus
    >>> tensorbus.serialization.set_crc32_options(True)
    """
    global _check_crc
    _check_crc = compute_crc32


def get_crc32_options() -> bool:
    """Whether ``load`` compares each record with its checksum.

    >>> import tensorbus
    >>> tensorbus.serialization.get_crc32_options()
    True
    """
    return _check_crc


@dataclass(frozen=True)
class _Entry:
    name: bytes
    crc: int
    size: int
    offset: int


class ArchiveWriter:
    """Writes records one after the other; needs ``write`` of its file and nothing else."""

    def __init__(self, file: IO[bytes], folder: str, large: int = _LARGE):
        self._file = file
        self._folder = folder
        self._large = large
        self._position = 0
        self._entries: list[_Entry] = []

    def _write(self, data: Any) -> None:
        self._position += len(data)
        done = self._file.write(data)
        # A file without a buffer may take a part only; one that does not say took everything.
        while done is not None and done < len(data):
            data = memoryview(data)[done:]
            done = self._file.write(data)

    def add(self, name: str, data: Any) -> int:
        """Append a record (bytes, or a flat uint8 array); the result is its checksum."""
        path = f"{self._folder}/{name}".encode("utf-8", "replace")
        data = memoryview(data).cast("B")
        size = data.nbytes
        entry = _Entry(path, zlib.crc32(data), size, self._position)
        extra = b""
        if size >= self._large:
            extra = _FIELD.pack(_ZIP64_FIELD, 16) + struct.pack("<2Q", size, size)
        start = self._position + _LOCAL.size + len(path) + len(extra) + _FIELD.size
        padding = -start % ALIGNMENT
        extra += _FIELD.pack(_PADDING_FIELD, padding) + b"\0" * padding
        shown = min(size, _LARGE) if size < self._large else _LARGE
        self._write(
            _LOCAL.pack(b"PK\3\4", 45, _UTF8_NAMES, 0, 0, _JANUARY_1980, entry.crc, shown, shown,
                        len(path), len(extra))
        )  # fmt: skip
        self._write(path + extra)
        self._write(data)
        self._entries.append(entry)
        return entry.crc

    def finish(self) -> None:
        """Write the table of contents."""
        start = self._position
        for entry in self._entries:
            self._write(self._central(entry))
        size, count = self._position - start, len(self._entries)
        if count >= _SMALL or max(start, size) >= self._large:
            end = self._position
            self._write(
                _END64.pack(b"PK\6\6", _END64.size - 12, 45, 45, 0, 0, count, count, size, start)
            )
            self._write(_LOCATOR64.pack(b"PK\6\7", 0, end, 1))
            count, size, start = _SMALL, _LARGE, _LARGE
        self._write(_END.pack(b"PK\5\6", 0, 0, count, count, size, start, 0))

    def _central(self, entry: _Entry) -> bytes:
        size, offset = entry.size, entry.offset
        wide = b""
        told_size = told_offset = _LARGE
        if size >= self._large:
            wide += struct.pack("<2Q", size, size)
        else:
            told_size = size
        if offset >= self._large:
            wide += struct.pack("<Q", offset)
        else:
            told_offset = offset
        extra = _FIELD.pack(_ZIP64_FIELD, len(wide)) + wide if wide else b""
        head = _CENTRAL.pack(
            b"PK\1\2", 45, 45, _UTF8_NAMES, 0, 0, _JANUARY_1980, entry.crc, told_size, told_size,
            len(entry.name), len(extra), 0, 0, 0, 0, told_offset
        )  # fmt: skip
        return head + entry.name + extra


class ArchiveReader:
    """Reads records; every size and offset is checked against the file before it is used.

    CheckpointError for anything that does not fit: nothing larger than the file is allocated, and
    no two records may overlap.
    """

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.length = file.seek(0, 2)
        self._contents_start, contents = self._table_of_contents()
        entries = list(_entries(contents))
        names = [entry.name.decode("utf-8", "replace") for entry in entries]
        if len(set(names)) < len(names):
            raise CheckpointError("The checkpoint is damaged: a record's name occurs twice.")
        self._check_offsets(entries)
        folder = names[0].partition("/")[0] + "/" if names else ""
        self._records = {
            name.removeprefix(folder): entry for name, entry in zip(names, entries, strict=True)
        }

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise CheckpointError("The checkpoint is truncated: the file ends inside a record.")
        return data

    def _table_of_contents(self) -> tuple[int, bytes]:
        tail_start = max(0, self.length - _END.size - _SMALL)
        tail = self._read(tail_start, self.length - tail_start)
        found = tail.rfind(b"PK\5\6")
        if found < 0 or len(tail) - found < _END.size:
            raise CheckpointError(
                "PytorchStreamReader failed reading zip archive: failed finding central directory. "
                "The checkpoint is truncated: the table of contents at the end of the file is "
                "missing."
            )
        end = tail_start + found
        *_, size, start, _ = _END.unpack_from(tail, found)
        if start == _LARGE or size == _LARGE:
            if end < _LOCATOR64.size:
                raise bad("its table of contents is out of place")
            magic, _, end, _ = _LOCATOR64.unpack(self._read(end - _LOCATOR64.size, 20))
            if magic != b"PK\6\7" or end + _END64.size > self.length:
                raise bad("its table of contents is out of place")
            magic, *_, size, start = _END64.unpack(self._read(end, _END64.size))
            if magic != b"PK\6\6":
                raise bad("its table of contents is out of place")
        if start + size > end:
            raise bad("its table of contents is out of place")
        return start, self._read(start, size)

    def _check_offsets(self, entries: list[_Entry]) -> None:
        free = 0
        for entry in sorted(entries, key=lambda entry: entry.offset):
            if entry.offset < free:
                raise bad("records overlap")
            free = entry.offset + _LOCAL.size + len(entry.name) + entry.size
        if free > self._contents_start:
            raise bad("a record reaches beyond the end of the file")

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def names(self) -> list[str]:
        """The names of all records, without the common folder."""
        return list(self._records)

    def locate(self, name: str, size: int | None = None) -> tuple[int, _Entry]:
        """Where a record's bytes begin, and its entry; *size*, if given, is what it must have."""
        entry = self._records.get(name)
        if entry is None:
            raise bad(f"the record {shown(name)} is missing")
        if size is not None and entry.size != size:
            raise bad(f"the record {shown(name)} has {entry.size} bytes, but {size} are needed")
        head = self._read(entry.offset, _LOCAL.size)
        magic, *_, name_length, extra_length = _LOCAL.unpack(head)
        start = entry.offset + _LOCAL.size + name_length + extra_length
        if magic != b"PK\3\4" or start + entry.size > self._contents_start:
            raise bad(f"the record {shown(name)} is out of place")
        return start, entry

    def read(self, name: str, size: int | None = None) -> np.ndarray:
        """A record as a flat uint8 array; *size*, where given, is the size it must have."""
        start, entry = self.locate(name, size)
        data = np.empty(entry.size, np.uint8)
        self._fill(start, data)
        if _check_crc and zlib.crc32(data.data) != entry.crc:
            raise CheckpointError(
                f"The checkpoint is damaged: the record {shown(name)} does not match its checksum. "
                "If it was written without checksums, call "
                "tensorbus.serialization.set_crc32_options(False) before loading."
            )
        return data

    def _fill(self, start: int, data: np.ndarray) -> None:
        self._file.seek(start)
        view = data.data
        readinto = getattr(self._file, "readinto", None)
        done = 0
        while done < len(view):
            if readinto is not None:
                count = readinto(view[done:])
            else:
                chunk = self._file.read(len(view) - done)
                count = len(chunk)
                view[done : done + count] = chunk
            if not count:
                raise CheckpointError("The checkpoint is truncated: the file ends inside a record.")
            done += count


def _entries(contents: bytes) -> Iterator[_Entry]:
    position = 0
    while position < len(contents):
        if len(contents) - position < _CENTRAL.size:
            raise bad("its table of contents ends too soon")
        (magic, _, _, flags, method, _, _, crc, packed, size, name_length, extra_length,
         comment_length, _, _, _, offset) = _CENTRAL.unpack_from(contents, position)  # fmt: skip
        position += _CENTRAL.size
        name = contents[position : position + name_length]
        extra = contents[position + name_length : position + name_length + extra_length]
        position += name_length + extra_length + comment_length
        if magic != b"PK\1\2" or position > len(contents):
            raise bad("its table of contents is unreadable")
        if flags & _ENCRYPTED or method:
            raise CheckpointError(
                "The zip file has compressed or encrypted records, which checkpoints never have. "
                "Unpack it and pack it again with 'stored' records."
            )
        packed, size, offset = _widened(extra, packed, size, offset)
        if packed != size:
            raise bad("a stored record gives two different sizes")
        yield _Entry(name, crc, size, offset)


def _widened(extra: bytes, packed: int, size: int, offset: int) -> tuple[int, int, int]:
    """The numbers of an entry, those too large for their 32 bits taken from the zip64 field."""
    wide: list[int] = []
    position = 0
    while position + _FIELD.size <= len(extra):
        kind, length = _FIELD.unpack_from(extra, position)
        position += _FIELD.size
        if kind == _ZIP64_FIELD:
            body = extra[position : position + length]
            wide = list(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))
        position += length
    try:
        size = wide.pop(0) if size == _LARGE else size
        packed = wide.pop(0) if packed == _LARGE else packed
        offset = wide.pop(0) if offset == _LARGE else offset
    except IndexError:
        raise bad("a large record lacks its size") from None
    return packed, size, offset
