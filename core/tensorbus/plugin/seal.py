"""Signs what goes over a proven connection: with its number, so nothing is left out or repeated."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

SIZE = 16
"""The bytes of a signature."""
_NUMBER = 8


class Seal:
    """Signs what goes one way over a connection, or checks it at the other end.

    >>> from tensorbus.plugin.seal import Seal
    >>> here, there = Seal(b"a key"), Seal(b"a key")
    >>> signature = here.sign(b"hello")
    >>> there.fits(signature, b"hello"), there.fits(signature, b"hello")
    (True, False)
    """

    __slots__ = ("_count", "_keyed")

    def __init__(self, key: bytes):
        self._keyed = hashlib.blake2b(key=key[: hashlib.blake2b.MAX_KEY_SIZE], digest_size=SIZE)
        self._count = 0

    def sign(self, data: bytes | bytearray | memoryview) -> bytes:
        """The signature of the next bytes that go this way."""
        mac = self._keyed.copy()
        mac.update(self._count.to_bytes(_NUMBER, "big"))
        mac.update(data)
        self._count += 1
        return mac.digest()

    def fits(
        self, signature: bytes | bytearray | memoryview, data: bytes | bytearray | memoryview
    ) -> bool:
        """Whether that is the signature of the next bytes that come this way."""
        return hmac.compare_digest(bytes(signature), self.sign(data))


@dataclass(frozen=True, slots=True)
class Seals:
    """Both directions of a connection."""

    outgoing: Seal
    incoming: Seal
