"""``load`` with files in memory, other orders of bytes, and what environments insist on."""

from __future__ import annotations

import io
import mmap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tensorbus
from tensorbus import nn
from tensorbus.serialization import (
    LoadEndianness,
    UnsafeCheckpointError,
    get_default_load_endianness,
    get_default_mmap_options,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
    set_default_load_endianness,
    set_default_mmap_options,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tensorbus.save({"w": tensorbus.arange(20000.0), "b": tensorbus.ones(2) > 0}, tmp_path / "a.pt")
    return tmp_path / "a.pt"


def test_mapped_tensors_lie_in_the_file(path: Path) -> None:
    before = path.read_bytes()
    loaded = tensorbus.load(path, mmap=True)
    assert loaded["w"].tolist() == list(range(20000)) and loaded["b"].tolist() == [True, True]
    if (maps := Path("/proc/self/maps")).exists():
        start = loaded["w"].data_ptr()
        line = next(x for x in maps.read_text().splitlines() if str(path) in x)
        low, high = (int(end, 16) for end in line.split()[0].split("-"))
        assert low <= start < high
    loaded["w"].fill_(7)
    loaded["w"] += 1
    assert path.read_bytes() == before and loaded["w"][0] == 8
    path.unlink()
    assert loaded["w"].sum() == 8 * 20000


def test_a_shared_mapping_writes_to_the_file(path: Path) -> None:
    assert get_default_mmap_options() == mmap.MAP_PRIVATE
    with set_default_mmap_options(mmap.MAP_SHARED):
        assert get_default_mmap_options() == mmap.MAP_SHARED
        loaded = tensorbus.load(path, mmap=True)
    assert get_default_mmap_options() == mmap.MAP_PRIVATE
    loaded["w"].fill_(3)
    tensorbus.serialization.set_crc32_options(False)
    try:
        assert tensorbus.load(path)["w"].sum() == 60000
    finally:
        tensorbus.serialization.set_crc32_options(True)
    with pytest.raises(ValueError, match=r"expected mmap\.MAP_PRIVATE or mmap\.MAP_SHARED"):
        set_default_mmap_options(99)


def test_mapping_needs_a_path_to_a_zip_file(path: Path, tmp_path: Path) -> None:
    with (
        open(path, "rb") as file,
        pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"),
    ):
        tensorbus.load(file, mmap=True)
    tensorbus.save(1, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        tensorbus.load(tmp_path / "old.pt", mmap=True)
    moved = tensorbus.load(path, mmap=True, map_location="meta")
    assert moved["w"].device.type == "meta"


def test_mapped_models_of_pytorchs_are_assigned(
    pytorch_file: Callable[..., io.BytesIO], tmp_path: Path
) -> None:
    def make(torch: Any) -> Any:
        return {"weight": torch.arange(6.0).view(2, 3), "bias": torch.ones(2)}

    (tmp_path / "net.pt").write_bytes(pytorch_file(make).getvalue())
    with tensorbus.device("meta"):
        net = nn.Linear(3, 2)
    net.load_state_dict(tensorbus.load(tmp_path / "net.pt", mmap=True), assign=True)
    assert net(tensorbus.ones(1, 3)).tolist() == [[4, 13]]


def without_order(path: Path) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            if not name.endswith("byteorder"):
                new.writestr(name, old.read(name))
    return file


def test_the_order_of_bytes_of_files_that_do_not_tell_it(tmp_path: Path) -> None:
    tensorbus.save(tensorbus.tensor([1, 256], dtype=tensorbus.int16), tmp_path / "a.pt")
    file = without_order(tmp_path / "a.pt")
    assert get_default_load_endianness() is None
    assert tensorbus.load(file).tolist() == [1, 256]
    try:
        set_default_load_endianness(LoadEndianness.BIG)
        assert get_default_load_endianness() is LoadEndianness.BIG
        assert tensorbus.load(file).tolist() == [256, 1]
        assert tensorbus.load(tmp_path / "a.pt").tolist() == [1, 256]
    finally:
        set_default_load_endianness(None)
    with pytest.raises(TypeError, match="set_default_load_endianness"):
        set_default_load_endianness("big")  # type: ignore[arg-type]


@pytest.fixture
def module() -> Iterator[io.BytesIO]:
    file = io.BytesIO()
    tensorbus.save(nn.Linear(1, 1), file)
    yield file


def test_environments_insist(module: io.BytesIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    for asked in (None, False, True):
        with pytest.raises(UnsafeCheckpointError):
            tensorbus.load(module, weights_only=asked)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        tensorbus.load(module)
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    with pytest.warns(UserWarning, match=r"forcing\s+weights_only=False"):
        assert isinstance(tensorbus.load(module), nn.Linear)
    with pytest.raises(UnsafeCheckpointError):
        tensorbus.load(module, weights_only=True)


def test_unsafe_names_are_listed_without_being_used(module: io.BytesIO) -> None:
    linear = "tensorbus.nn.modules.linear.Linear"
    assert get_unsafe_globals_in_checkpoint(module) == [linear]
    with safe_globals([nn.Linear]):
        assert get_unsafe_globals_in_checkpoint(module) == []
    for form in (True, False):
        file = io.BytesIO()
        tensorbus.save([print, {"a": tensorbus.ones(1)}], file, _use_new_zipfile_serialization=form)
        assert get_unsafe_globals_in_checkpoint(file) == ["builtins.print"]
    with pytest.raises(tensorbus.serialization.CheckpointError):
        get_unsafe_globals_in_checkpoint(io.BytesIO(b"none"))
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        tensorbus.load(module, weights_only=True, pickle_module=__import__("pickle"))


def test_programs_may_name_locations_of_their_own() -> None:
    """As libraries for devices of their own do; here the parts of a file that go to "strict"."""
    locations = tensorbus.serialization.locations
    try:
        tensorbus.serialization.register_package(
            5,
            lambda storage: "elsewhere:1" if storage.device.type == "strict" else None,
            lambda storage, location: restored(storage) if location == "elsewhere:1" else None,
        )
        file = io.BytesIO()
        x = tensorbus.ones(2, device="strict")
        tensorbus.save([x, tensorbus.zeros(1)], file)
        assert b"elsewhere:1" in file.getvalue()
        assert [t.device.type for t in tensorbus.load(file)] == ["strict", "cpu"]
    finally:
        locations._packages.clear()
    with pytest.raises(tensorbus.serialization.CheckpointError, match=r"tagged with elsewhere:1\)"):
        tensorbus.load(file)
    at = tensorbus.serialization.default_restore_location
    loaded = tensorbus.load(file, map_location=lambda storage, location: at(storage, "cpu"))
    assert loaded[0].tolist() == [1, 1]
    assert at(tensorbus.FloatStorage([1, 2]), "strict").device.type == "strict"


def restored(storage: Any) -> Any:
    return tensorbus.serialization.default_restore_location(storage, "strict")
