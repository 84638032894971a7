"""What goes over the wire before the bytes of an array: 28 bytes, in network order, and signed."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tensorbus.plugin import CommError
from tensorbus.plugin.calls import Call
from tensorbus.plugin.seal import SIZE as SIGNATURE
from tensorbus.plugin.seal import Seal

_FORMAT = struct.Struct("!4s8sqq")
_CODE = struct.Struct("!Q")
SIZE = _FORMAT.size + SIGNATURE
_MAGIC = b"TBC2"

HELLO = struct.Struct("!16sIB")
"""What a proven connection says first: the group's digest, the rank, what it is for."""
COLLECTIVES, MESSAGES = 1, 2


@dataclass(frozen=True, slots=True)
class Header:
    """What is called, and its number: a collective's index in the order, a message's tag."""

    call: Call
    number: int

    def pack(self, seal: Seal) -> bytes:
        """The header's bytes, signed as the next of a connection."""
        call = self.call
        data = _FORMAT.pack(_MAGIC, _CODE.pack(call.code), self.number, call.nbytes)
        return data + seal.sign(data)

    def __str__(self) -> str:
        return f"{self.call}, collective number {self.number}"


def unpack(data: bytes | bytearray, seal: Seal) -> Header:
    """The header that bytes hold; ``CommError`` where they are none, or not this job's next."""
    view = memoryview(data)
    magic, code, number, nbytes = _FORMAT.unpack(view[: _FORMAT.size])
    if magic != _MAGIC or nbytes < 0:
        raise CommError("a frame begins with bytes that are no header: the stream is out of step")
    if not seal.fits(view[_FORMAT.size :], view[: _FORMAT.size]):
        raise CommError("a frame was changed, repeated or left out on its way")
    return Header(Call(_CODE.unpack(code)[0], nbytes), number)
