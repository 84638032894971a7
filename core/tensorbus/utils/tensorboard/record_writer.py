"""Files of records with checksums, as TensorBoard reads them."""

from __future__ import annotations

import struct
from typing import BinaryIO

from tensorbus.utils.tensorboard.packages import masked_crc32c


class RecordWriter:
    """Writes records to a binary file: each with its length, and checksums of both.

    >>> import io
    >>> from tensorbus.utils.tensorboard import RecordWriter
    >>> file = io.BytesIO()
    >>> RecordWriter(file).write(b"abc")
    >>> file.getvalue()[:8], file.getvalue()[12:15]
    (b'\\x03\\x00\\x00\\x00\\x00\\x00\\x00\\x00', b'abc')
    """

    def __init__(self, writer: BinaryIO):
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Append one record."""
        length = struct.pack("<Q", len(data))
        checks = (struct.pack("<I", masked_crc32c(part)) for part in (length, data))
        self._writer.write(length + next(checks) + data + next(checks))

    def flush(self) -> None:
        """Hand all records to the operating system."""
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
