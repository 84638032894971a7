"""Batches between processes: small ones inside the message, large ones in shared memory.

Shared memory is an open file without a name, whose descriptor is sent along with the message.
Nothing has to be removed: the system frees it when the last process that holds it closes it or
dies, however it dies.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import tempfile
import weakref
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

import tensorbus

# Below this a copy through the socket costs less than a mapping.
_INLINE_BYTES = 1 << 15
_ALIGNMENT = 64
# A mapping holds a file descriptor; batches kept beyond this number are copied instead.
_MAX_MAPPINGS = 128
_CAN_SHARE = os.name == "posix" and reduction.HAVE_SEND_HANDLE

_mappings: set[weakref.ref[mmap.mmap]] = set()


class _BatchPickler(pickle.Pickler):
    """Pickles tensors by their elements, which leave the stream as buffers."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, tensorbus.Tensor):
            return _reduce_tensor(obj)
        return NotImplemented


def _reduce_tensor(tensor: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "A batch holds a tensor with an autograd history, which cannot leave the process that "
            "recorded it. Call .detach() on it in the dataset or collate_fn."
        )
    data = tensor.detach().cpu()
    as_bits = tensor.dtype is tensorbus.bfloat16
    if as_bits:
        # NumPy has no such type; its bits travel as integers.
        data = data.view(tensorbus.int16)
    array = data.numpy()
    order = sorted(range(array.ndim), key=lambda dim: -abs(array.strides[dim]))
    flat = np.ascontiguousarray(array.transpose(order)).reshape(-1)
    shape = tuple(array.shape[dim] for dim in order)
    inverse = tuple(int(dim) for dim in np.argsort(order)) if order else ()
    return _rebuild_tensor, (
        pickle.PickleBuffer(flat.view(np.uint8).data),
        array.dtype.str,
        as_bits,
        shape,
        inverse,
        str(tensor.device),
        tensor.requires_grad,
    )


def _rebuild_tensor(
    data: Any,
    host_dtype: str,
    as_bits: bool,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    device: str,
    requires_grad: bool,
) -> Any:
    array = np.frombuffer(data, dtype=host_dtype).reshape(shape)
    tensor = tensorbus.from_numpy(array)
    if as_bits:
        tensor = tensor.view(tensorbus.bfloat16)
    if order:
        tensor = tensor.permute(order)
    if device != "cpu":
        tensor = tensor.to(device)
    return tensor.requires_grad_() if requires_grad else tensor


class Packed(NamedTuple):
    """An object taken apart for the journey."""

    spans: list[tuple[int, int]]
    parts: list[Any]


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def pack(obj: Any) -> Packed:
    """*obj* as parts, the first its pickle, and the (offset, length) of each part laid out.

    RuntimeError for a tensor with an autograd history, pickle's errors for what has no pickle.
    """
    stream = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _BatchPickler(stream, protocol=5, buffer_callback=buffers.append).dump(obj)
    parts = [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]
    spans = []
    end = 0
    for part in parts:
        start = _aligned(end)
        end = start + part.nbytes
        spans.append((start, part.nbytes))
    return Packed(spans, parts)


def unpack(spans: list[tuple[int, int]], memory: Any) -> Any:
    """The object that ``pack`` took apart; its arrays and tensors live in *memory*."""
    view = memoryview(memory)
    pickled, *buffers = (view[start : start + length] for start, length in spans)
    return pickle.loads(pickled, buffers=buffers)


def send(connection: Connection, head: Any, packed: Packed) -> None:
    """Send what ``pack`` made, with a small *head*; OSError when the receiver is gone."""
    spans, parts = packed
    total = spans[-1][0] + spans[-1][1]
    if total <= _INLINE_BYTES or not _CAN_SHARE:
        blob = bytearray(total)
        for (start, length), part in zip(spans, parts, strict=True):
            blob[start : start + length] = part
        connection.send_bytes(pickle.dumps((head, spans, blob)))
        return
    descriptor = _anonymous_file()
    try:
        for (start, _), part in zip(spans, parts, strict=True):
            _write_all(descriptor, part, start)
        connection.send_bytes(pickle.dumps((head, spans, None)))
        reduction.send_handle(connection, descriptor, os.getppid())
    finally:
        os.close(descriptor)


def receive(connection: Connection) -> tuple[Any, Any]:
    """The next (head, object) from *connection*; EOFError or OSError when the sender is gone."""
    head, spans, blob = pickle.loads(connection.recv_bytes())
    if blob is None:
        descriptor = reduction.recv_handle(connection)
        try:
            blob = _map(descriptor, spans[-1][0] + spans[-1][1])
        finally:
            os.close(descriptor)
    return head, unpack(spans, blob)


def _map(descriptor: int, length: int) -> Any:
    mapping = mmap.mmap(descriptor, length)
    if len(_mappings) >= _MAX_MAPPINGS:
        with mapping:
            return bytearray(mapping)
    _mappings.add(weakref.ref(mapping, _mappings.discard))
    return mapping


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("tensorbus-batch")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _write_all(descriptor: int, part: Any, offset: int) -> None:
    view = memoryview(part).cast("B")
    done = 0
    while done < view.nbytes:
        done += os.pwrite(descriptor, view[done:], offset + done)
