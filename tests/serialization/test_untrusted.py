"""Damaged and hostile files: a clear error of a documented type, and no code is run."""

from __future__ import annotations

import contextlib
import gzip
import io
import pickle
import random
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.serialization import CheckpointError, UnsafeCheckpointError
from tensorbus.serialization.archive import ArchiveReader, ArchiveWriter

serialization = tensorbus.serialization
touched: list[Any] = []


class Evil:
    """Its pickle calls a function of this module."""

    def __reduce__(self) -> Any:
        return touched.append, ("evil",)


@contextlib.contextmanager
def no_checksums() -> Iterator[None]:
    serialization.set_crc32_options(False)
    try:
        yield
    finally:
        serialization.set_crc32_options(True)


def checkpoint(pickled: bytes, **records: bytes) -> io.BytesIO:
    """A well-formed archive around any pickle."""
    file = io.BytesIO()
    writer = ArchiveWriter(file, "archive")
    writer.add("data.pkl", pickled)
    for name, data in records.items():
        writer.add(name.replace("_", "/"), data)
    writer.finish()
    return file


def sample() -> io.BytesIO:
    file = io.BytesIO()
    tensorbus.save(
        {
            "a": tensorbus.arange(5.0),
            "b": tensorbus.ones(2, 2) > 0,
            "p": tensorbus.nn.Parameter(tensorbus.ones(3)),
            "n": [1, (2, "x"), {"y": b"z"}],
        },
        file,
    )
    return file


@pytest.mark.parametrize("protocol", range(6))
def test_code_in_a_file_is_never_run(protocol: int) -> None:
    file = checkpoint(pickle.dumps([1, Evil()], protocol=protocol))
    with pytest.raises(CheckpointError):
        tensorbus.load(file)
    assert touched == []


@pytest.mark.parametrize(
    "name", ["subprocess run", "builtins eval", "builtins getattr", "torch load", "torch.hub load"]
)
def test_a_name_outside_the_list_is_refused_with_the_way_out(name: str) -> None:
    module, _, attribute = name.partition(" ")
    file = checkpoint(f"c{module}\n{attribute}\n(S''\ntR.".encode())
    full = f"{module}.{attribute}".replace(".", r"\.")
    with pytest.raises(
        UnsafeCheckpointError,
        match=rf"GLOBAL {full} was not.*add_safe_globals\(\[{full}\]\).*weights_only=False",
    ):
        tensorbus.load(file)
    with pytest.raises(pickle.UnpicklingError):
        tensorbus.load(file)


def test_what_acts_on_the_system_can_not_be_allowed() -> None:
    import os

    file = checkpoint(b"cos\nsystem\n(S''\ntR.")
    with (
        serialization.safe_globals([(os.system, "os.system")]),
        pytest.raises(UnsafeCheckpointError, match=r"GLOBAL os\.system whose module os is blocked"),
    ):
        tensorbus.load(file)


HOSTILE = {
    "state on a function": b"ctorch._utils\n_rebuild_tensor_v2\n}X\1\0\0\0aK\1sb.",
    "slots on a class": b"ctorch\nSize\n(N}X\1\0\0\0aK\1stb.",
    "state on a list": b"]}X\1\0\0\0aK\1sb.",
    "a method of a dict": b"ccollections\nOrderedDict\n)R}X\5\0\0\0itemsK\1sb.",
    "a call of a value": b"K\1)R.",
    "a call of a dtype": b"ctorch\nfloat32\n)R.",
    "a call of a storage type": b"ctorch\nFloatStorage\nK\x05\x85R.",
    "a tensor of no storage": (b"ctorch._utils\n_rebuild_tensor_v2\n(K\1K\0K\1\x85K\1\x85\x89NtR."),
    "a parameter of no tensor": b"ctorch._utils\n_rebuild_parameter\n(K\1\x88NtR.",
    "another function for a type": (
        b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\ndevice\nctorch\nTensor\n"
        b"X\3\0\0\0cpu\x85NtR."
    ),
    "a key that is a list": b"}]K\1s.",
    "a key that is a deep tuple": b"}" + b"K\1" + b"\x85" * 50_000 + b"K\1s.",
    "an item of a number": b"K\1K\2K\3s.",
    "an element of a text": b"X\1\0\0\0aK\1a.",
    "too few arguments": b"ctorch._utils\n_rebuild_tensor_v2\n)R.",
    "too many arguments": b"ctorch\nSize\n(K\1K\2K\3tR.",
    "a size of text": b"ctorch\nSize\nX\1\0\0\0a\x85R.",
    "a huge size": b"ctorch\nSize\n(" + b"K\1" * 100 + b"t\x85R.",
    "a strange device": b"ctorch\ndevice\nX\4\0\0\0none\x85R.",
    "a strange encoding": b"c_codecs\nencode\nX\1\0\0\0aX\4\0\0\0zlib\x86R.",
    "a memo of gigabytes": b"K\1r\xff\xff\xff\x7fh\0.",
    "an unset memo": b"h\5.",
    "a text beyond the end": b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa.",
    "bytes beyond the end": b"\x8e\xff\xff\xff\xff\0\0\0\0a.",
    "a long beyond the end": b"\x8b\xff\xff\xff\x7f\1.",
    "an empty stack": b"0.",
    "nothing at all": b".",
    "no end": b"K\1",
    "an open mark": b"(.",
    "no mark": b"K\1t.",
    "two results": b"K\1K\2.",
    "an odd dict": b"(K\1d.",
    "a future protocol": b"\x80\x63K\1.",
    "an extension": b"\x82\1.",
    "an instance by name": b"(ios\nsystem\n.",
    "an unknown persistent id": b"K\1Q.",
    "a storage of negative size": (
        b"(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0aX\3\0\0\0cpuJ\xff\xff\xff\xfftQ."
    ),
    "a storage that is missing": (
        b"(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0aX\3\0\0\0cpuK\1tQ."
    ),
    "a storage outside the archive": (
        b"(X\7\0\0\0storagectorch\nFloatStorage\nX\x0b\0\0\0/etc/passwdX\3\0\0\0cpuK\1tQ."
    ),
    "an invalid text": b"X\2\0\0\0\xff\xff.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_refused(name: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        tensorbus.load(checkpoint(HOSTILE[name]))
    assert str(caught.value)


def tensor_pickle(count: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(b"J" + struct.pack("<i", v) for v in values) + b"t"

    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        b"(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" + b"0"
        b"X\3\0\0\0cpuJ" + struct.pack("<i", count) + b"tQ"
        b"J" + struct.pack("<i", offset) + numbers(size) + numbers(stride) + b"\x89}tR."
    )


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)),
        (1, (4,), (1,)),
        (0, (2, 2), (3, 1)),
        (4, (1,), (1,)),
        (-1, (2,), (1,)),
        (0, (-2,), (1,)),
        (3, (2,), (-1,)),
        (0, (2,), (1, 1)),
        (0, (2**31 - 1, 2**31 - 1), (2**31 - 1, 2**31 - 1)),
    ],
)
def test_a_tensor_stays_inside_its_storage(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    file = checkpoint(tensor_pickle(4, offset, size, stride), data_0=bytes(16))
    with pytest.raises(CheckpointError, match="The checkpoint is damaged: a tensor"):
        tensorbus.load(file)


def test_fitting_tensors_are_accepted() -> None:
    data = np.arange(4, dtype=np.float32).tobytes()
    loaded = tensorbus.load(checkpoint(tensor_pickle(4, 1, (2, 2), (1, 1)), data_0=data))
    assert loaded.tolist() == [[1, 2], [2, 3]]
    loaded = tensorbus.load(checkpoint(tensor_pickle(4, 4, (0,), (1,)), data_0=data))
    assert loaded.shape == (0,)


@pytest.mark.parametrize("count", [3, 5, 2**31 - 1])
def test_a_storage_tells_its_true_size(count: int) -> None:
    file = checkpoint(tensor_pickle(count, 0, (1,), (1,)), data_0=bytes(16))
    with pytest.raises(CheckpointError, match=rf"'data/0' has 16 bytes, but {count * 4} are"):
        tensorbus.load(file)


def test_truth_values_are_0_or_1() -> None:
    pickled = tensor_pickle(4, 0, (4,), (1,)).replace(b"FloatStorage", b"BoolStorage")
    assert tensorbus.load(checkpoint(pickled, data_0=b"\0\1\1\0")).tolist() == [0, 1, 1, 0]
    with pytest.raises(CheckpointError, match="truth values other than 0 and 1"):
        tensorbus.load(checkpoint(pickled, data_0=b"\0\1\2\0"))


def other_formats() -> dict[str, tuple[bytes, str]]:
    array = io.BytesIO()
    np.save(array, np.ones(3))
    many = io.BytesIO()
    np.savez(many, a=np.ones(3))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("archive/data.pkl", b"K\1.")
    script = io.BytesIO()
    writer = ArchiveWriter(script, "net")
    for name in ("data.pkl", "constants.pkl"):
        writer.add(name, b"K\1.")
    writer.finish()
    safetensors = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    legacy = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
    return {
        "nothing": (b"", r"empty \(0 bytes\)"),
        "text": (b"hello", "not a zip file, and begins with b'hello'"),
        "legacy": (legacy + b"more", "damaged|truncated"),
        "tar": (b"x" * 257 + b"ustar" + bytes(300), "its tar archive can't be read"),
        "pickle": (pickle.dumps({"a": 1}), "a plain pickle, which can run any code"),
        "numpy": (array.getvalue(), "a NumPy array file"),
        "npz": (many.getvalue(), r"a zip file without data\.pkl; it holds a\.npy"),
        "safetensors": (
            struct.pack("<Q", len(safetensors)) + safetensors + bytes(4),
            "a safetensors file",
        ),
        "gzip": (gzip.compress(sample().getvalue()), "a gzip file. Unpack it first"),
        "compressed": (packed.getvalue(), "compressed or encrypted records"),
        "script": (script.getvalue(), "a TorchScript program"),
        "pointer": (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        "page": (b"<!DOCTYPE html><html>", "a web page"),
    }


@pytest.mark.parametrize("name", other_formats())
def test_other_formats_are_named(name: str) -> None:
    data, text = other_formats()[name]
    with pytest.raises(CheckpointError, match=text):
        tensorbus.load(io.BytesIO(data))


def test_every_truncation_is_told() -> None:
    data = sample().getvalue()
    for length in [*range(0, len(data), 37), len(data) - 1]:
        with pytest.raises(CheckpointError):
            tensorbus.load(io.BytesIO(data[:length]))


def test_a_flipped_byte_of_a_record_is_noticed() -> None:
    file = sample()
    reader = ArchiveReader(file)
    for name in reader.names():
        place = file.getvalue().find(bytes(reader.read(name)))
        data = bytearray(file.getvalue())
        data[place] ^= 1
        with pytest.raises(CheckpointError):
            tensorbus.load(io.BytesIO(bytes(data)))
            # Records that loading does not need are not read.
            ArchiveReader(io.BytesIO(bytes(data))).read(name)


def test_flipped_bytes_give_documented_errors_only() -> None:
    data = sample().getvalue()
    draw = random.Random(0)
    with no_checksums():
        for _ in range(1500):
            damaged = bytearray(data)
            for _ in range(draw.choice([1, 1, 2, 5])):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            with contextlib.suppress(CheckpointError):
                tensorbus.load(io.BytesIO(bytes(damaged)))
    assert touched == []


def test_random_pickles_give_documented_errors_only() -> None:
    draw = random.Random(1)
    pieces = [
        *(bytes([code]) for code in range(256)),
        *(HOSTILE[name][:-1] for name in HOSTILE if len(HOSTILE[name]) < 200),
        b"ccollections\nOrderedDict\n)R", b"ctorch\nSize\n", b"cbuiltins\nset\n", b"}", b"]", b"(",
        b"K\1", b"X\1\0\0\0a", b"t", b"\x85", b"R", b"b", b"s", b"u", b"a", b"e", b"h\0", b"q\0",
    ]  # fmt: skip
    for _ in range(3000):
        pickled = b"".join(draw.choice(pieces) for _ in range(draw.randrange(1, 30))) + b"."
        with contextlib.suppress(CheckpointError):
            tensorbus.load(checkpoint(pickled))
    assert touched == []


def directory(entries: list[tuple[bytes, int, int, int]], body: bytes, shift: int = 0) -> bytes:
    """A zip file with a table of contents of (name, size, offset, method) of our choice."""
    table = b"".join(
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, method, 0, 0, 0, size, size, len(name),
                    0, 0, 0, 0, 0, offset) + name
        for name, size, offset, method in entries
    )  # fmt: skip
    end = struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, len(entries), len(entries), len(table), len(body) + shift, 0
    )
    return body + table + end


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (directory([(b"a/data.pkl", 2**31, 0, 0)], b"PK\3\4" + bytes(60)), "beyond the end"),
        (directory([(b"a/data.pkl", 3, 2**31, 0)], b"PK\3\4" + bytes(60)), "beyond the end"),
        (directory([(b"a/data.pkl", 3, 0, 0)], b"PK\3\4" + bytes(60), 9), "out of place"),
        (directory([(b"a/x", 3, 0, 0), (b"a/y", 3, 0, 0)], b"PK\3\4" + bytes(60)), "overlap"),
        (directory([(b"a/x", 3, 0, 0), (b"a/x", 3, 40, 0)], b"PK\3\4" + bytes(90)), "twice"),
        (directory([(b"a/data.pkl", 3, 9, 0)], b"PK\3\4" + bytes(60)), "is out of place"),
        (directory([(b"a/data.pkl", 0xFFFFFFFF, 0, 0)], b"PK\3\4" + bytes(60)), "lacks its size"),
    ],
)
def test_a_table_of_contents_that_lies_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(CheckpointError, match=text):
        tensorbus.load(io.BytesIO(data))


def test_attributes_of_a_tensor_are_kept_and_never_shadow_its_own(pytorch_file: Any) -> None:
    def with_attribute(torch: Any, name: str) -> Any:
        tensor = torch.ones(2)
        setattr(tensor, name, "kept")
        return tensor

    harmless = pytorch_file(lambda torch: with_attribute(torch, "note"))
    assert tensorbus.load(harmless).note == "kept"
    file = pytorch_file(lambda torch: with_attribute(torch, "backwara"))
    hostile = io.BytesIO(file.getvalue().replace(b"backwara", b"backward"))
    with no_checksums(), pytest.raises(CheckpointError, match="a tensor has an attribute"):
        tensorbus.load(hostile)
