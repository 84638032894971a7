"""Telling what a file is when it is not a checkpoint."""

from __future__ import annotations

from typing import IO

_SIGNATURES = (
    (b"\x93NUMPY", "a NumPy array file. Read it with numpy.load and tensorbus.from_numpy"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file. Read it with h5py"),
    (b"\x1f\x8b", "a gzip file. Unpack it first"),
    (b"BZh", "a bzip2 file. Unpack it first"),
    (b"\xfd7zXZ\0", "an xz file. Unpack it first"),
    (b"version https://git-lfs", "a Git LFS pointer: the file itself was not downloaded"),
    (b"<!DOCTYPE html", "a web page: the download went wrong"),
    (b"<html", "a web page: the download went wrong"),
)  # fmt: skip


def unknown_format(file: IO[bytes]) -> str:
    """The message for a file that does not begin as a checkpoint does."""
    length = file.seek(0, 2)
    file.seek(0)
    head = file.read(512)
    return f"Weights only load failed. The file can't be loaded: it is {_describe(head, length)}."


def _describe(head: bytes, length: int) -> str:
    if not head:
        return "empty (0 bytes); was it written completely?"
    for signature, meaning in _SIGNATURES:
        if head.startswith(signature):
            return meaning
    if len(head) > 8 and int.from_bytes(head[:8], "little") < length and head[8:9] == b"{":
        return "a safetensors file. Use tensorbus.serialization.load_file"
    if head[0] == 0x80 and len(head) > 1 and head[1] <= 5:
        return (
            "a plain pickle, which can run any code when read. If you trust it, use Python's "
            "pickle module"
        )
    return f"not a zip file, and begins with {head[:8]!r}"
