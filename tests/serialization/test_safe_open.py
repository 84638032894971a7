"""Safetensors files of which tensors, or parts of them, are read."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.serialization import CheckpointError, safe_open, save_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tensors = {
        "large": torch.arange(200_000.0).view(400, 500),
        "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "truth": torch.tensor([True, False]),
        "empty": torch.zeros(0, 3),
        "number": torch.tensor(7),
    }
    save_file(tensors, tmp_path / "a.safetensors", {"by": "us"})
    return tmp_path / "a.safetensors"


def test_tensors_are_read_as_asked(path: Path) -> None:
    with safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == ["empty", "half", "large", "number", "truth"]
        assert file.metadata() == {"by": "us"} and set(file.offset_keys()) == set(file.keys())
        assert file.get_tensor("number").item() == 7
        assert file.get_tensor("truth").tolist() == [True, False]
        assert file.get_tensor("empty").shape == (0, 3)
        assert file.get_tensor("half").tolist() == [1.5, -2]
        part = file.get_slice("large")
        assert part.get_shape() == [400, 500] and part.get_dtype() == "F32"
        assert part[399, -2:].tolist() == [199_998, 199_999]
        assert part[1:400:200, :2].tolist() == [[500, 501], [100_500, 100_501]]
        large = file.get_tensor("large")
    assert large.sum().item() == np.arange(200_000, dtype=np.float32).sum()


def test_nothing_is_copied_or_written_back(path: Path) -> None:
    before = path.read_bytes()
    with safe_open(path) as file:
        one, two = file.get_tensor("large"), file.get_tensor("large")
    assert one.data_ptr() == two.data_ptr()  # the same memory, a part of the file
    one.fill_(1)
    assert two[0, 0] == 1 and path.read_bytes() == before
    path.unlink()
    assert two.sum() == 200_000


def test_pytorchs_package_writes_the_same(path: Path, tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors")
    with package.safe_open(path, framework="np") as theirs, safe_open(path) as ours:
        assert ours.metadata() == theirs.metadata()
        for name in ("large", "truth", "number", "empty"):
            assert np.array_equal(ours.get_tensor(name).numpy(), theirs.get_tensor(name))
            assert ours.get_slice(name).get_shape() == theirs.get_slice(name).get_shape()
    from safetensors.numpy import save_file as save

    save({"odd": np.arange(3, dtype=np.uint8), "x": np.ones(2)}, tmp_path / "b.safetensors")
    with safe_open(tmp_path / "b.safetensors") as ours:
        assert ours.get_tensor("x").tolist() == [1, 1]
        assert ours.get_tensor("odd").tolist() == [0, 1, 2]


def test_data_that_is_not_aligned_is_copied(tmp_path: Path) -> None:
    header = json.dumps(
        {
            "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
            "b": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
        }
    ).encode()
    data = struct.pack("<Q", len(header)) + header + b"\5" + np.array([1, 2], "<f4").tobytes()
    (tmp_path / "c.safetensors").write_bytes(data)
    with safe_open(tmp_path / "c.safetensors") as file:
        assert file.get_tensor("b").tolist() == [1, 2] and file.get_tensor("a").tolist() == [5]


def test_devices_and_errors(path: Path, tmp_path: Path) -> None:
    with safe_open(path, device="strict") as file:
        assert file.get_tensor("number").device.type == "strict"
        assert file.get_slice("large")[0, :2].device.type == "strict"
        with pytest.raises(CheckpointError, match="does not contain tensor 'none'"):
            file.get_tensor("none")
        part = file.get_slice("large")
    with pytest.raises(CheckpointError, match="File is not open"):
        part[0]
    with pytest.raises(ValueError, match="framework 'tf'"):
        safe_open(path, framework="tf")
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="damaged"):
        safe_open(tmp_path / "cut")
    wrong = json.dumps({"__metadata__": {"a": 1}}).encode()
    (tmp_path / "wrong").write_bytes(struct.pack("<Q", len(wrong)) + wrong)
    with pytest.raises(CheckpointError, match="its metadata is not a table of texts"):
        safe_open(tmp_path / "wrong")
