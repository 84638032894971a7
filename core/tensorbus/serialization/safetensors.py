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
from collections.abc import Mapping
from typing import Any

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
            "dtype": _NAMES[_name(tensor.dtype)],
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
        total = file.seek(0, 2)
        file.seek(0)
        head = file.read(_LENGTH.size)
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else total
        if length > min(_MAX_HEADER, total - _LENGTH.size):
            raise _damaged("its header would be longer than the file")
        entries = _entries(file.read(length), total - _LENGTH.size - length)
        loaded = {}
        for name, dtype, shape, size in entries:
            data = np.empty(size, np.uint8)
            if file.readinto(data.data) != size:
                raise _damaged("the file ends inside a tensor")
            if dtype is dtypes.bool and size and int(data.max()) > 1:
                raise _damaged(f"{shown(name)} holds truth values other than 0 and 1")
            data = _little_endian(data, dtype)
            if dtype is dtypes.bfloat16 and not offers(target, dtype):
                data, dtype = widened(data), dtypes.float32
            storage = UntypedStorage.from_host(data, target)
            loaded[name] = tensor_from_storage(storage, dtype, 0, shape, contiguous_strides(shape))
    return loaded


def _entries(text: bytes, available: int) -> list[tuple[str, Any, tuple[int, ...], int]]:
    """(name, dtype, shape, size in bytes) of each tensor, in the order of the data."""
    try:
        header = json.loads(text.decode(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"its header can't be read ({reason(error)})") from None
    if not isinstance(header, dict):
        raise _damaged("its header is not a table")
    header.pop("__metadata__", None)
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
        found.append((start, end, name, dtype, tuple(shape)))
    found.sort(key=lambda row: row[:3])
    position = 0
    for start, end, name, *_ in found:
        if start != position:
            raise _damaged(f"the data of {shown(name)} does not follow what is before it")
        position = end
    if position != available:
        raise _damaged(f"it has {available} bytes of data, but its header says {position}")
    return [(name, dtype, shape, end - start) for start, end, name, dtype, shape in found]


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name occurs twice")
    return table


def _damaged(what: str) -> CheckpointError:
    return CheckpointError(f"The safetensors file is damaged or something else: {what}.")
