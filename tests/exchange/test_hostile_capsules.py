"""DLPack capsules that lie or are broken: one error, and they are left as they were."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import pytest

import tensorbus as torch

NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype, NEW.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """``DLManagedTensor``, written from dlpack.h for this test."""

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
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
    )


class Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", ctypes.c_byte * 48),
    )


class Producer:
    """A library of its own: six float32 numbers, and how often they were given back."""

    def __init__(self, shape: Any = (2, 3), strides: Any = (3, 1), **fields: Any):
        self.freed = 0
        self.values = (ctypes.c_float * 6)(*range(6))
        n = len(shape or strides or ())
        values = {
            "data": ctypes.addressof(self.values), "device_type": 1, "device_id": 0,
            "ndim": n, "code": 2, "bits": 32, "lanes": 1,
            "shape": None if shape is None else (ctypes.c_int64 * n)(*shape),
            "strides": None if strides is None else (ctypes.c_int64 * n)(*strides),
            "deleter": Deleter(self.free), **fields,
        }  # fmt: skip
        self.managed = Managed(**values)

    def free(self, managed: Any) -> None:
        self.freed += 1

    def capsule(self, name: bytes = b"dltensor") -> Any:
        self.name = name  # the capsule keeps the pointer alone
        return NEW(ctypes.addressof(self.managed), self.name, None)


def test_a_good_one() -> None:
    producer = Producer()
    capsule = producer.capsule()
    x = torch.from_dlpack(capsule)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and "used_dltensor" in repr(capsule)
    x[0, 0] = 7
    assert producer.values[0] == 7
    y = x[1]
    del x, capsule
    assert producer.freed == 0 and y.tolist() == [3, 4, 5]
    del y
    assert producer.freed == 1


def test_strides_may_be_left_out() -> None:
    producer = Producer(strides=None, byte_offset=4, shape=(5,))
    assert torch.from_dlpack(producer.capsule()).tolist() == [1, 2, 3, 4, 5]
    assert producer.freed == 1


def test_twice() -> None:
    producer = Producer()
    capsule = producer.capsule()
    x = torch.from_dlpack(capsule)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="consumed only once"):
            torch.from_dlpack(capsule)
    assert producer.freed == 0 and x.sum().item() == 15


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"strides": (-3, 1)}, BufferError, r"strides \(-3, 1\).*make a copy"),
        ({"shape": (2, -3)}, BufferError, r"shape \(2, -3\)"),
        ({"shape": (1 << 31, 1 << 31)}, BufferError, "shape"),
        ({"shape": (1,) * 65, "strides": None}, BufferError, "65 dimensions; 0 to 64"),
        ({"ndim": -1}, BufferError, "-1 dimensions"),
        ({"code": 3}, BufferError, "code 3, 32 bits, 1 lanes"),
        ({"bits": 24}, BufferError, "code 2, 24 bits"),
        ({"lanes": 4}, BufferError, "4 lanes"),
        ({"lanes": 0}, BufferError, "0 lanes"),
        ({"data": None}, BufferError, "no memory"),
        ({"shape": None}, BufferError, "2 dimensions has no shape"),
        ({"ndim": 1 << 30}, BufferError, "1073741824 dimensions; 0 to 64"),
        ({"byte_offset": 1 << 63}, BufferError, "reaches further than any memory"),
        ({"strides": (1 << 62, 1)}, BufferError, "reaches further than any memory"),
        ({"code": 1, "bits": 1}, BufferError, "code 1, 1 bits"),
        ({"code": 200}, BufferError, "code 200"),
        ({"lanes": 65535}, BufferError, "65535 lanes"),
        ({"device_type": -1}, BufferError, r"device \(-1, 0\)"),
        ({"device_type": 2}, BufferError, r"device \(2, 0\)"),
        ({"device_type": 99, "device_id": 5}, BufferError, r"device \(99, 5\)"),
    ],
)
def test_lies(fields: dict[str, Any], error: type[Exception], text: str) -> None:
    producer = Producer(**fields)
    capsule = producer.capsule()
    with pytest.raises(error, match=text):
        torch.from_dlpack(capsule)
    # Nothing took it over: it is still its maker's to free.
    assert '"dltensor"' in repr(capsule) and producer.freed == 0


def test_memory_that_overlaps() -> None:
    """Taken as PyTorch takes it: read as it lies, and not written where a stride is 0."""
    assert torch.from_dlpack(Producer(strides=(1, 1)).capsule()).tolist() == [[0, 1, 2], [1, 2, 3]]
    producer = Producer(strides=(0, 0))
    x = torch.from_dlpack(producer.capsule())
    for write in (x.add_, x.mul_, x.copy_):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write(torch.ones(2, 3))
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]] and list(producer.values) == [*range(6)]
    del x, write
    assert producer.freed == 1


def test_memory_that_is_not_aligned() -> None:
    producer = Producer(shape=(2,), strides=(1,), byte_offset=3)
    ctypes.memmove(ctypes.addressof(producer.values) + 3, bytes(ctypes.c_float(2.5)) * 2, 8)
    x = torch.from_dlpack(producer.capsule())
    assert (x + 1).tolist() == [3.5, 3.5] and (x @ x).item() == 12.5 and x.sum().item() == 5
    x.mul_(2)
    assert x.clone().tolist() == torch.from_dlpack(x).tolist() == x.flip(0).tolist() == [5, 5]


def test_an_empty_array_needs_no_memory_and_nobody_need_be_told() -> None:
    assert torch.from_dlpack(Producer((0, 3), None, data=None).capsule()).shape == (0, 3)
    producer = Producer(deleter=Deleter())
    assert torch.from_dlpack(producer.capsule()).sum().item() == 15 and producer.freed == 0


class Exporter:
    """A library's array whose capsule is not what is asked for."""

    def __init__(self, make: Any, device: Any = (1, 0)):
        self.make, self.device = make, device

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        return self.make()


@pytest.mark.parametrize(
    ("exporter", "error", "text"),
    [
        (lambda p: Exporter(lambda: p.capsule(), (2, 0)), BufferError, r"device \(2, 0\)"),
        (lambda p: Exporter(lambda: p.capsule(), (3, 0)), BufferError, "but its capsule is of"),
        (lambda p: Exporter(lambda: p.capsule(b"used_dltensor")), RuntimeError, "only once"),
        (lambda p: Exporter(lambda: None), RuntimeError, "but got None"),
        (lambda p: Exporter(lambda: 1 / 0), ZeroDivisionError, "division"),
        (lambda p: Exporter(lambda: p.capsule(), None), TypeError, "NoneType"),
    ],
)
def test_exporters_that_lie_leave_nothing_behind(exporter: Any, error: Any, text: str) -> None:
    producer = Producer()
    before = sys.getrefcount(producer)
    for _ in range(10):
        with pytest.raises(error, match=text):
            torch.from_dlpack(exporter(producer))
    gc.collect()
    assert producer.freed == 0 and sys.getrefcount(producer) == before


@pytest.mark.parametrize("name", [b"used_dltensor", b"tensor", b"dltensor_versione", b""])
def test_names(name: bytes) -> None:
    producer = Producer()
    with pytest.raises(RuntimeError, match="expected a DLPack capsule named 'dltensor'"):
        torch.from_dlpack(producer.capsule(name))
    assert producer.freed == 0


def test_versions() -> None:
    producer = Producer()
    tensor = (ctypes.c_byte * 48).from_buffer_copy(bytes(producer.managed)[:48])
    held = Versioned(major=1, minor=9, deleter=Deleter(producer.free), flags=1, tensor=tensor)
    x = torch.from_dlpack(NEW(ctypes.addressof(held), b"dltensor_versioned", None))
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="read-only"):
        x.zero_()
    del x
    assert producer.freed == 1 and producer.values[5] == 5
    held.major = 2
    with pytest.raises(BufferError, match=r"version 2\.9; versions 0 and 1 are read"):
        torch.from_dlpack(NEW(ctypes.addressof(held), b"dltensor_versioned", None))
    assert producer.freed == 1
