"""Small files that ask for much work are refused; large files that need it are read.

Without the budget these tests would not end, so they need no clock.
"""

from __future__ import annotations

import io
import pickle
import re
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus
from tensorbus.serialization import CheckpointError, load_file
from tensorbus.serialization.archive import ArchiveWriter

MERSENNE = 2**61 - 1
"""Python's hash of a multiple of it is 0."""


def checkpoint(pickled: bytes, data: bytes = bytes(16)) -> io.BytesIO:
    file = io.BytesIO()
    writer = ArchiveWriter(file, "archive")
    writer.add("data.pkl", pickled)
    writer.add("data/0", data)
    writer.finish()
    return file


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def put(index: int) -> bytes:
    return b"r" + struct.pack("<I", index)


def get(index: int) -> bytes:
    return b"j" + struct.pack("<I", index)


def shared_tuple(wide: int, deep: int) -> bytes:
    """A tuple that stands for wide ** deep numbers."""
    made = b"K\1" + put(0)
    for level in range(deep):
        made += b"0(" + get(level) * wide + b"t" + put(level + 1)
    return made


def collisions(count: int) -> list[bytes]:
    return [number(MERSENNE * k) for k in range(1, count)]


STORAGE = b"(X\7\0\0\0storagectorch\n%s\n" + text("0") + text("cpu") + b"K\2tQ"


def marked_conjugate(size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """A complex tensor whose values PyTorch would conjugate when they are used."""

    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(map(number, values)) + b"t"

    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE % b"ComplexFloatStorage" + b"K\0"
        + numbers(size) + numbers(stride) + b"\x89}}" + text("conj") + b"\x88stR"
    )  # fmt: skip


def repeated(value: bytes, call: bytes, times: int) -> bytes:
    """*call* on one and the same value, over and over."""
    return value + put(0) + b"0" + (call % get(0) + b"0") * times + b"N."


MANY = b"(" + b"".join(map(number, range(10_000))) + b"l"
WORK: dict[str, Callable[[], bytes]] = {
    "a key of shared tuples": lambda: b"}" + shared_tuple(1000, 8) + b"K\1s.",
    "an element of a set": lambda: b"\x8f(" + shared_tuple(1000, 8) + b"\x90.",
    "an element of a frozenset": lambda: b"(" + shared_tuple(1000, 8) + b"\x91.",
    "a key of an OrderedDict": lambda: (
        b"ccollections\nOrderedDict\n](" + shared_tuple(1000, 8) + b"K\1la\x85R."
    ),
    "colliding keys": lambda: b"}(" + b"".join(k + b"N" for k in collisions(20_000)) + b"u.",
    "colliding keys one by one": lambda: (
        b"}" + b"".join(k + b"Ns" for k in collisions(20_000)) + b"."
    ),
    "a colliding set": lambda: b"\x8f(" + b"".join(collisions(20_000)) + b"\x90.",
    "a set of a colliding list": lambda: (
        b"cbuiltins\nset\n(" + b"".join(collisions(20_000)) + b"l\x85R."
    ),
    "colliding tuples": lambda: (
        b"}(" + b"".join(k + b"\x85N" for k in collisions(20_000)) + b"u."
    ),
    "a long number as a key again and again": lambda: (
        b"}" + number(1 << 8_000_000) + put(0) + b"0" + (get(0) + b"Ns") * 50_000 + b"."
    ),
    "equal texts as keys": lambda: (
        b"}" + text("a" * 10**6) + b"Ns" + text("a" * 10**6) + put(0) + b"0"
        + (get(0) + b"Ns") * 50_000 + b"."
    ),
    "sets of one list": lambda: repeated(MANY, b"cbuiltins\nset\n%s\x85R", 2000),
    "bytearrays of the same bytes": lambda: repeated(
        b"B" + struct.pack("<I", 10**6) + bytes(10**6), b"cbuiltins\nbytearray\n%s\x85R", 50_000
    ),
    "bytes of the same text": lambda: repeated(
        text("a" * 10**6), b"c_codecs\nencode\n%s" + text("latin1") + b"\x86R", 50_000
    ),
    "attributes of the same dict": lambda: repeated(
        b"}(" + b"".join(text(f"a{i}") + b"N" for i in range(5_000)) + b"u",
        b"ccollections\nOrderedDict\n)R%sb", 5000,
    ),
    "a conjugate of one number many times over": lambda: marked_conjugate((2**40,), (0,)) + b".",
    "many conjugates": lambda: repeated(
        b"K\0", b"%s0" + marked_conjugate((2**16,), (0,)), 1000
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_more_work_than_the_file_is_long_is_refused(name: str) -> None:
    with pytest.raises(CheckpointError, match="more time and memory than a file of its size"):
        tensorbus.load(checkpoint(WORK[name]()))


def test_a_large_file_may_need_much_work() -> None:
    value = {
        "numbers": dict.fromkeys(range(-50_000, 50_000), 1.0),
        "floats": {i / 7: i for i in range(50_000)},
        "names": [{"exp_avg": i, ("a", 1): None} for i in range(50_000)],
        "sets": [set(range(20)), frozenset("abc")] * 1000,
        "counted": Counter(range(1000)),
        "ordered": OrderedDict.fromkeys(range(1000)),
        "tuples": dict.fromkeys([(i, str(i), (i,)) for i in range(20_000)]),
        "bytes": [bytes(1000), bytearray(1000)] * 100,
    }
    file = io.BytesIO()
    tensorbus.save(value, file)
    assert tensorbus.load(file) == value


def test_an_expanded_tensor_needs_no_memory_of_its_own() -> None:
    file = io.BytesIO()
    tensorbus.save(tensorbus.ones(1).expand(2**40), file)
    assert tensorbus.load(file).shape == (2**40,)


@pytest.mark.parametrize("size", [(2**62, 2**62), (2**61,), (2**40, 2**20, 2)])
def test_no_tensor_has_more_bytes_than_there_are_addresses(size: tuple[int, ...]) -> None:
    pickled = marked_conjugate(size, (0,) * len(size)) + b"."
    with pytest.raises(CheckpointError, match="more elements than there are addresses"):
        tensorbus.load(checkpoint(pickled))


LOUD = "\x1b[31m" + "x" * 10_000 + "\n"
SAID: dict[str, bytes] = {
    "a name": b"c" + LOUD.encode() + b"attr\n.",
    "a name from the stack": text(LOUD) + text("f") + b"\x93.",
    "a device": b"ctorch\ndevice\n" + text(LOUD) + b"\x85R.",
    "a layout": b"ctorch.serialization\n_get_layout\n" + text(LOUD) + b"\x85R.",
    "a location": (STORAGE % b"FloatStorage").replace(text("cpu"), text(LOUD)) + b".",
    "a storage": (STORAGE % b"FloatStorage").replace(text("0"), text(LOUD)) + b".",
    "an encoding": b"c_codecs\nencode\n" + text("a") + text(LOUD) + b"\x86R.",
    "a size": b"ctorch\nSize\n(" + number(1 << 40_000) + b"t\x85R.",
    "a count": (STORAGE % b"FloatStorage").replace(b"K\2", number(1 << 40_000)) + b".",
    "an attribute": (
        b"ccollections\nOrderedDict\n)R}" + text(LOUD) + b"K\1sb" + b"}" + b"](" + b"K\1" * 9
    ),
    "a list": b"ctorch\nSize\n(](K\1" + b"K\1" * 10_000 + b"et\x85R.",
    "an index": b"ctorch\ndevice\n" + text("cpu") + number(1 << 40_000) + b"\x86R.",
    "a shared list as a size": b"ctorch\nSize\n" + shared_tuple(1000, 8) + b"\x85R.",
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_file_says_is_short_and_harmless_in_errors(name: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        tensorbus.load(checkpoint(SAID[name]))
    said = str(caught.value)
    assert len(said) < 700 and said.isprintable()


@pytest.mark.parametrize(
    "entry",
    [
        '{"%s": {"dtype": "F32"}}',
        '{"%s": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}',
        '{"a": {"dtype": "%s", "shape": [1], "data_offsets": [0, 4]}}',
        '{"%s": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}',
        '{"%s": {"dtype": "F32", "shape": [' + "9" * 5000 + '], "data_offsets": [0, 4]}}',
        '{"%s": {"dtype": "F32", "shape": [0, 4611686018427387904, 4611686018427387904],'
        ' "data_offsets": [0, 0]}, "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}',
    ],
)
def test_names_in_safetensors_files_too(entry: str, tmp_path: Any) -> None:
    header = (entry % LOUD.replace("\x1b", "\\u001b").replace("\n", "\\n")).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(CheckpointError) as caught:
        load_file(path)
    assert len(str(caught.value)) < 500 and str(caught.value).isprintable()


def test_names_of_records_too() -> None:
    file = io.BytesIO()
    writer = ArchiveWriter(file, "archive")
    for i in range(5):
        writer.add(f"{i}{LOUD}", b"")
    writer.finish()
    with pytest.raises(CheckpointError, match=re.escape("holds 0\\x1b[31mxxx")) as caught:
        tensorbus.load(file)
    assert len(str(caught.value)) < 700 and str(caught.value).isprintable()


def test_what_an_allowed_function_refuses_is_the_files_fault() -> None:
    def look_up(name: str) -> Any:
        return {}[name]

    pickled = b"cacme\nlook_up\n" + text("x") + b"\x85R."
    allowed = tensorbus.serialization.safe_globals([(look_up, "acme.look_up")])
    said = "look_up was called with unfit arguments"
    with allowed, pytest.raises(CheckpointError, match=said) as e:
        tensorbus.load(checkpoint(pickled))
    assert isinstance(e.value.__cause__, KeyError)


@pytest.mark.parametrize("damaged", [b"", b"K\1", b"\x80\4\x8c", b"\x63a\n"])
def test_a_damaged_pickle_that_is_trusted_is_a_checkpoint_error(damaged: bytes) -> None:
    with pytest.raises(CheckpointError):
        tensorbus.load(checkpoint(damaged), weights_only=False)
