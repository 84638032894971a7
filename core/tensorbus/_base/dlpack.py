"""What a DLPack capsule says of the memory in it, read before anything takes the memory over.

The structures are those of ``dlpack.h``, versions 0 and 1:
https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from tensorbus._base.dtypes import dtype, dtype_by_name
from tensorbus._base.size import contiguous_strides

CPU = 1
"""The number of DLPack's device type ``kDLCPU``."""
HOST_TYPES = (CPU, 3, 11)
"""The device types whose memory the host reads as its own: its own, and two of pinned memory."""

_VERSION = 1
_READ_ONLY = 1
_CODES = {
    (0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64",
    (1, 8): "uint8", (1, 16): "uint16", (1, 32): "uint32", (1, 64): "uint64",
    (2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (4, 16): "bfloat16",
    (5, 32): "complex32", (5, 64): "complex64", (5, 128): "complex128", (6, 8): "bool",
    (10, 8): "float8_e4m3fn", (11, 8): "float8_e4m3fnuz", (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
}  # fmt: skip
"""(code, bits) of DLPack's element types: the names of ours."""
_MAX_RANK = 64
_MOST_BYTES = 1 << 57
"""The most that a processor of today addresses."""


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class Described(NamedTuple):
    """What a capsule holds."""

    device: tuple[int, int]
    """DLPack's type and number of the device."""
    dtype: dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    writable: bool
    """False where the exporter said that its memory is read-only; version 0 can't say so."""


_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.argtypes, _is_capsule.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes = ctypes.py_object, ctypes.c_char_p
_pointer.restype = ctypes.c_void_p


def is_capsule(value: Any) -> bool:
    """Whether something is a capsule, of DLPack or of anything else."""
    return type(value).__name__ == "PyCapsule"


def _structure(capsule: Any) -> tuple[_Tensor, bool]:
    """The array in a capsule, and whether it may be written."""
    if _is_capsule(capsule, b"dltensor"):
        return _Tensor.from_address(_pointer(capsule, b"dltensor")), True
    if _is_capsule(capsule, b"dltensor_versioned"):
        held = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if held.major != _VERSION:
            raise BufferError(
                f"from_dlpack(): the capsule is of DLPack version {held.major}.{held.minor}; "
                f"versions 0 and {_VERSION} are read"
            )
        return held.tensor, not held.flags & _READ_ONLY
    raise RuntimeError(
        f"from_dlpack(): expected a DLPack capsule named 'dltensor' or 'dltensor_versioned' that "
        f"nothing has taken over, but got {capsule!r}. A capsule can be consumed only once: you "
        "might have made a tensor of it already"
    )


def describe(capsule: Any) -> Described:
    """What a capsule holds that has not been taken over, which it is not after this either.

    RuntimeError for anything else. BufferError for memory that no tensor describes: another
    version, an unknown dtype, negative sizes or strides, too many dimensions, no memory.
    """
    held, writable = _structure(capsule)
    name = _CODES.get((held.code, held.bits), "") if held.lanes == 1 else ""
    try:
        found = dtype_by_name(name)
    except KeyError:
        raise BufferError(
            f"from_dlpack(): no dtype of tensorbus is DLPack's type (code {held.code}, "
            f"{held.bits} bits, {held.lanes} lanes){name and f', {name}'}"
        ) from None
    if not 0 <= held.ndim <= _MAX_RANK:
        raise BufferError(
            f"from_dlpack(): the capsule's array has {held.ndim} dimensions; 0 to {_MAX_RANK} are "
            "allowed"
        )
    if held.ndim and not held.shape:
        raise BufferError(
            f"from_dlpack(): the capsule's array of {held.ndim} dimensions has no shape"
        )
    shape = tuple(held.shape[: held.ndim]) if held.ndim else ()
    if any(n < 0 for n in shape) or prod(shape) * found.itemsize >= 1 << 63:
        raise BufferError(f"from_dlpack(): the capsule's array has the shape {shape}")
    strides = contiguous_strides(shape)
    if held.ndim and held.strides:
        strides = tuple(held.strides[: held.ndim])
    if any(s < 0 for s in strides):
        raise BufferError(
            f"from_dlpack(): the array has the strides {strides}; tensors have no negative "
            "strides: make a copy of the array first"
        )
    span = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) * found.itemsize
    if prod(shape) and held.byte_offset + span >= _MOST_BYTES:
        raise BufferError(
            f"from_dlpack(): the capsule's array of shape {shape}, strides {strides} and an offset "
            f"of {held.byte_offset} bytes reaches further than any memory"
        )
    if not held.data and prod(shape):
        raise BufferError(f"from_dlpack(): the capsule's array of shape {shape} has no memory")
    return Described((held.device_type, held.device_id), found, shape, strides, writable)


def relabel(capsule: Any, dtype: dtype) -> None:
    """Say that a capsule's elements, which keep their bits, are of *dtype*."""
    held, _ = _structure(capsule)
    held.code, held.bits = next(key for key, name in _CODES.items() if name == dtype.name)


class Exporter:
    """An array of another library, or a capsule, whose memory a backend is to take over.

    The capsule is looked at before it is handed on; ``found`` says from then on what it holds.
    """

    found: Described

    def __init__(
        self,
        source: Any,
        device: tuple[int, int],
        check: Callable[[Described], None] | None = None,
    ) -> None:
        self.source, self.device, self.check = source, device, check

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.source
        if not is_capsule(capsule):
            capsule = capsule.__dlpack__(**options)
        self.found = describe(capsule)
        if self.check is not None:
            self.check(self.found)
        return capsule
