"""Safetensors files: a header in JSON, then the tensors' bytes, and nothing that could be run.

The format: https://huggingface.co/docs/safetensors (eight bytes with the header's length, the
header, the data without gaps, all little-endian).
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import tensorbus
from tensorbus._base import dtypes
from tensorbus.rows.layouts import contiguous_strides
from tensorbus.serialization.bfloat16 import offers, widened
from tensorbus.serialization.errors import CheckpointError, escaped, reason, shown
from tensorbus.serialization.files import replacing, seekable
from tensorbus.serialization.rebuild import addressable
from tensorbus.storage import UntypedStorage, tensor_from_storage

_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "complex64": "C64",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_MAX_HEADER = 100_000_000
_LENGTH = struct.Struct("<Q")


def save_file(
    tensors: Mapping[str, Any],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write named tensors, of any device, to a safetensors file.

    Sharing is not kept: every tensor is written whole. TypeError for anything but tensors and for
    metadata that is not text, ValueError for a dtype the format lacks (complex128).

    >>> import tensorbus, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> tensorbus.serialization.save_file({"w": tensorbus.ones(2)}, path)
    >>> tensorbus.serialization.load_file(path)
    {'w': tensor([1., 1.])}
    """
    header: dict[str, Any] = {}
    if metadata is not None:
        if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
            raise TypeError("save_file(): metadata must be a dict from text to text")
        header["__metadata__"] = dict(metadata)
    for name, tensor in tensors.items():
        _check(name, tensor)
    # Wide elements first, so that all data is aligned.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    end = 0
    for name in order:
        tensor = tensors[name]
        start, end = end, end + tensor.numel() * tensor.dtype.itemsize
        header[name] = {
            "dtype": dtype_name(tensor.dtype),
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with replacing(os.fspath(filename)) as file:
        file.write(_LENGTH.pack(len(text)) + text)
        for name in order:
            file.write(_bytes(tensors[name]).data)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _check(name: Any, tensor: Any) -> None:
    if not isinstance(name, str) or name == "__metadata__":
        raise TypeError(f"save_file(): a tensor can't be called {name!r}")
    if not isinstance(tensor, tensorbus.Tensor):
        raise TypeError(
            f"save_file(): expected tensors, but {name!r} is a {type(tensor).__name__}; "
            "use tensorbus.save for other objects"
        )
    if _name(tensor.dtype) not in _NAMES:
        raise ValueError(f"save_file(): safetensors files have no {tensor.dtype} ({name!r})")


def _bytes(tensor: Any) -> np.ndarray:
    data = tensor.detach().contiguous()
    start = data.storage_offset() * data.dtype.itemsize
    size = data.numel() * data.dtype.itemsize
    host = np.asarray(data.untyped_storage().to_host())[start : start + size]
    return _little_endian(host, data.dtype)


def _little_endian(data: np.ndarray, dtype: Any) -> np.ndarray:
    """Turn the bytes of each number on a big-endian machine."""
    if sys.byteorder == "little":
        return data
    width = dtype.itemsize // (2 if dtype.is_complex else 1)
    return np.ascontiguousarray(data.reshape(-1, width)[:, ::-1]).reshape(-1)


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Any]:
    """The named tensors of a safetensors file, on *device*.

    bfloat16 becomes float32 where the device lacks it. CheckpointError for a file that is damaged,
    truncated or something else.

    >>> import tensorbus, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> tensorbus.serialization.save_file({"w": tensorbus.ones(2)}, path)
    >>> tensorbus.serialization.load_file(path)["w"]
    tensor([1., 1.])
    """
    target = tensorbus.device(device)
    with open(filename, "rb") as opened:
        file = seekable(opened)
        loaded = {}
        for entry in read_header(file).entries:
            data = np.empty(entry.size, np.uint8)
            if file.readinto(data.data) != entry.size:
                raise _damaged("the file ends inside a tensor")
            loaded[entry.name] = tensor_of_bytes(entry, data, target, UntypedStorage.from_host)
    return loaded


class Entry(NamedTuple):
    """A tensor in a file: where its bytes are behind the header, and what they are."""

    start: int
    size: int
    name: str
    dtype: Any
    shape: tuple[int, ...]


class Header(NamedTuple):
    """What a file says of its tensors, in the order of the data, which begin at *start*."""

    entries: list[Entry]
    metadata: dict[str, str] | None
    start: int


def dtype_name(dtype: Any) -> str:
    """What the format calls a dtype."""
    return _NAMES[_name(dtype)]


def tensor_of_bytes(
    entry: Entry, data: np.ndarray, device: Any, make: Callable[..., UntypedStorage]
) -> Any:
    """The tensor of an entry; *make* makes a storage of bytes on a device."""
    dtype = entry.dtype
    if dtype is dtypes.bool and data.size and int(data.max()) > 1:
        raise _damaged(f"{shown(entry.name)} holds truth values other than 0 and 1")
    data = _little_endian(data, dtype)
    if dtype is dtypes.bfloat16 and not offers(device, dtype):
        data, dtype = widened(data), dtypes.float32
    strides = contiguous_strides(entry.shape)
    return tensor_from_storage(make(data, device), dtype, 0, entry.shape, strides)


def read_header(file: Any) -> Header:
    """The checked header of a file, which is left standing before the data."""
    total = file.seek(0, 2)
    file.seek(0)
    head = file.read(_LENGTH.size)
    length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else total
    if length > min(_MAX_HEADER, total - _LENGTH.size):
        raise _damaged("its header would be longer than the file")
    start = _LENGTH.size + length
    try:
        header = json.loads(file.read(length).decode(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"its header can't be read ({reason(error)})") from None
    if not isinstance(header, dict):
        raise _damaged("its header is not a table")
    metadata = header.pop("__metadata__", None)
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(text, str) for text in metadata.values())
    ):
        raise _damaged("its metadata is not a table of texts")
    return Header(_entries(header, total - start), metadata, start)


def _entries(header: dict[str, Any], available: int) -> list[Entry]:
    found = []
    for name, entry in header.items():
        match entry:
            case {"dtype": str(kind), "shape": list(shape), "data_offsets": [start, end]}:
                numbers = [*shape, start, end]
            case _:
                raise _damaged(f"the entry of {shown(name)} is incomplete")
        if not all(type(n) is int and 0 <= n < 2**63 for n in numbers) or len(shape) > 64:
            raise _damaged(f"the entry of {shown(name)} has impossible numbers")
        if kind not in _DTYPES:
            raise CheckpointError(
                f"The tensor {shown(name)} has the dtype {escaped(kind)}; "
                f"tensorbus reads {', '.join(sorted(_DTYPES))}."
            )
        dtype = dtypes.dtype_by_name(_DTYPES[kind])
        if math.prod(shape) * dtype.itemsize != end - start or not addressable(tuple(shape), dtype):
            raise _damaged(f"the size of {shown(name)} does not fit its shape")
        found.append(Entry(start, end - start, name, dtype, tuple(shape)))
    found.sort(key=lambda entry: entry[:3])
    position = 0
    for entry in found:
        if entry.start != position:
            raise _damaged(f"the data of {shown(entry.name)} does not follow what is before it")
        position += entry.size
    if position != available:
        raise _damaged(f"it has {available} bytes of data, but its header says {position}")
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name occurs twice")
    return table


def _damaged(what: str) -> CheckpointError:
    return CheckpointError(f"The safetensors file is damaged or something else: {what}.")
