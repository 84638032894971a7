"""Safetensors files: against the library's own reader and writer where it is installed."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.serialization import CheckpointError, load_file, save_file

CPU = tensorbus.discovery.backend("cpu").capabilities(0)
DTYPES = [d for d in tensorbus._base.dtypes.ALL if d in CPU.dtypes and d != tensorbus.complex128]


def sample() -> dict[str, Any]:
    tensors = {str(d): (tensorbus.arange(6) % 2).view(2, 3).to(d) for d in DTYPES}
    tensors["scalar"] = tensorbus.tensor(2.5)
    tensors["empty"] = tensorbus.empty(0, 4)
    tensors["turned"] = tensorbus.arange(6.0).view(2, 3).t()
    tensors["part"] = tensorbus.arange(10)[3:5]
    tensors["grad"] = tensorbus.ones(2, requires_grad=True)
    return tensors


def test_what_is_written_is_read(tmp_path: Path) -> None:
    save_file(sample(), tmp_path / "a", metadata={"made": "here"})
    loaded = load_file(tmp_path / "a")
    assert loaded.keys() == sample().keys()
    for name, tensor in sample().items():
        got = loaded[name]
        assert (got.dtype, got.shape, got.tolist()) == (tensor.dtype, tensor.shape, tensor.tolist())
        assert got.is_contiguous()
        assert not got.requires_grad


def test_the_file_is_laid_out_as_documented(tmp_path: Path) -> None:
    save_file(
        {"b": tensorbus.ones(1, dtype=tensorbus.int8), "a": tensorbus.ones(2)}, tmp_path / "a"
    )
    data = (tmp_path / "a").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0
    assert json.loads(data[8 : 8 + length]) == {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "I8", "shape": [1], "data_offsets": [8, 9]},
    }
    assert data[8 + length :] == np.ones(2, "<f4").tobytes() + b"\1"


def test_the_library_reads_and_writes_the_same(tmp_path: Path) -> None:
    library = pytest.importorskip(
        "safetensors.numpy", reason="the other side is that library: pip install safetensors"
    )
    skipped = {"torch.bfloat16"}
    tensors = {name: t for name, t in sample().items() if name not in skipped}
    save_file(tensors, tmp_path / "ours")
    theirs = library.load_file(tmp_path / "ours")
    assert theirs.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert theirs[name].tolist() == tensor.tolist()
    library.save_file(theirs, tmp_path / "theirs")
    again = load_file(tmp_path / "theirs")
    for name, tensor in tensors.items():
        assert (again[name].dtype, again[name].tolist()) == (tensor.dtype, tensor.tolist())


def test_devices_both_ways(tmp_path: Path, device: str) -> None:
    save_file({"a": tensorbus.arange(4.0, device=device)[1:]}, tmp_path / "a")
    loaded = load_file(tmp_path / "a", device=device)["a"]
    assert loaded.device.type == device
    assert loaded.cpu().tolist() == [1, 2, 3]


def test_what_does_not_fit_the_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'a' is a list; use tensorbus.save"):
        save_file({"a": [1]}, tmp_path / "a")
    with pytest.raises(TypeError, match="can't be called '__metadata__'"):
        save_file({"__metadata__": tensorbus.ones(1)}, tmp_path / "a")
    with pytest.raises(TypeError, match="metadata must be a dict from text to text"):
        save_file({}, tmp_path / "a", metadata={"a": 1})
    with pytest.raises(ValueError, match=r"no torch\.complex128 \('a'\)"):
        save_file({"a": tensorbus.ones(1, dtype=tensorbus.complex128)}, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def entry(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("header", "data", "text"),
    [
        ('{"a":', 0, "header can't be read"),
        ("[" * 100_000, 0, "header can't be read"),
        ("[1]", 0, "header is not a table"),
        ('{"a":1,"a":2}', 0, "a name occurs twice"),
        ({"a": {"dtype": "F32"}}, 0, "entry of 'a' is incomplete"),
        ({"a": entry(shape=[-1], offsets=[0, 4])}, 4, "impossible numbers"),
        ({"a": entry(shape=[1.0])}, 4, "impossible numbers"),
        ({"a": entry(shape=[2])}, 4, "does not fit its shape"),
        ({"a": entry(shape=[2**62, 2**62])}, 4, "does not fit its shape"),
        ({"a": entry(offsets=[4, 8])}, 8, "does not follow"),
        ({"a": entry(), "b": entry()}, 4, "does not follow"),
        ({"a": entry()}, 3, "it has 3 bytes of data, but its header says 4"),
        ({"a": entry()}, 5, "it has 5 bytes of data, but its header says 4"),
        ({"a": entry("F8_E4M3")}, 4, r"'a' has the dtype F8_E4M3; tensorbus reads BF16, BOOL"),
        ({"a": entry("BOOL", [4])}, 4, "truth values other than 0 and 1"),
    ],
)
def test_a_file_that_lies_is_refused(tmp_path: Path, header: Any, data: int, text: str) -> None:
    raw = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    (tmp_path / "a").write_bytes(struct.pack("<Q", len(raw)) + raw + b"\7" * data)
    with pytest.raises(CheckpointError, match=text):
        load_file(tmp_path / "a")


@pytest.mark.parametrize("data", [b"", b"abc", struct.pack("<Q", 2**62), bytes(7)])
def test_a_short_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(CheckpointError, match="longer than the file"):
        load_file(tmp_path / "a")


def test_damage_gives_documented_errors_only(tmp_path: Path) -> None:
    save_file(sample(), tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()
    draw = random.Random(0)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)) :]
        else:
            data[draw.randrange(1000)] = draw.randrange(256)
        (tmp_path / "b").write_bytes(data)
        try:
            load_file(tmp_path / "b")
        except CheckpointError:
            refused += 1
    assert refused > 200
