"""What goes over the wire before the bytes of an array: 28 bytes, in network order."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tensorbus.plugin import CommError

_FORMAT = struct.Struct("!4sBBHqqI")
SIZE = _FORMAT.size
_MAGIC = b"TBCM"
VERSION = 1

HELLO = struct.Struct("!16sIB")
"""What a proven connection says first: the group's digest, the rank, what it is for."""
COLLECTIVES, MESSAGES = 1, 2

KINDS = ("message", "broadcast", "all_reduce", "all_gather", "reduce_scatter", "barrier")


@dataclass(frozen=True, slots=True)
class Header:
    """A frame's kind, its number (a collective's index in the order, a message's tag), its size."""

    kind: int
    number: int
    nbytes: int

    def pack(self) -> bytes:
        """The header's bytes."""
        return _FORMAT.pack(_MAGIC, VERSION, self.kind, 0, self.number, self.nbytes, 0)

    def __str__(self) -> str:
        return f"{KINDS[self.kind]} number {self.number} of {self.nbytes} bytes"


def unpack(data: bytes | bytearray) -> Header:
    """The header that bytes hold; ``CommError`` where they are none."""
    magic, version, kind, _, number, nbytes, _ = _FORMAT.unpack(data)
    if magic != _MAGIC or version != VERSION or kind >= len(KINDS) or nbytes < 0:
        raise CommError("a frame begins with bytes that are no header: the stream is out of step")
    return Header(kind, number, nbytes)
