"""Checkpoint files: whole or not at all, wherever they are written to or read from."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.serialization.archive import ArchiveWriter


def test_saving_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    tensorbus.save({"a": tensorbus.ones(3)}, path)
    before = path.read_bytes()

    class Interrupted:
        def __reduce__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tensorbus.save({"a": tensorbus.zeros(3), "b": Interrupted()}, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.pt"]


def test_a_failure_while_writing_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.pt"
    tensorbus.save({"a": tensorbus.ones(3)}, path)
    before = path.read_bytes()
    monkeypatch.setattr(ArchiveWriter, "finish", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tensorbus.save({"a": tensorbus.zeros(3)}, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.pt"]


@pytest.mark.skipif(os.name != "posix", reason="file modes and links are POSIX's")
def test_modes_and_links_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.pt"
    link = tmp_path / "link.pt"
    tensorbus.save(1, real)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~umask
    real.chmod(0o640)
    link.symlink_to(real)
    tensorbus.save(2, link)
    assert link.is_symlink()
    assert tensorbus.load(real) == 2
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    tensorbus.save(3, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_files_of_all_kinds_are_taken(tmp_path: Path) -> None:
    with open(tmp_path / "a", "wb") as file:
        tensorbus.save([1], file)
    assert tensorbus.load(tmp_path / "a") == [1]
    assert tensorbus.load(str(tmp_path / "a")) == [1]
    with open(tmp_path / "a", "rb") as file:
        assert tensorbus.load(file) == [1]
    source, sink = os.pipe()
    with os.fdopen(sink, "wb") as file:
        tensorbus.save([2], file)
    with os.fdopen(source, "rb") as file:
        assert tensorbus.load(file) == [2]
    with pytest.raises(TypeError, match="expected a path or a file opened for binary reading"):
        tensorbus.load(3)
    with pytest.raises(TypeError, match="expected a path or a file opened for binary writing"):
        tensorbus.save(1, 3)
    with open(tmp_path / "a", encoding="latin1") as file, pytest.raises(TypeError, match="'rb'"):
        tensorbus.load(file)
    with pytest.raises(FileNotFoundError):
        tensorbus.load(tmp_path / "none.pt")
    with pytest.raises(FileNotFoundError):
        tensorbus.save(1, tmp_path / "none" / "a.pt")


def test_what_cannot_be_saved_is_told() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        tensorbus.save(deep, io.BytesIO())
    with pytest.raises(Exception, match="pickle"):
        tensorbus.save(lambda: 1, io.BytesIO())
    with pytest.raises(ValueError, match="pickle_module must be Python's pickle"):
        tensorbus.save(1, io.BytesIO(), pickle_module=np)
    with pytest.raises(ValueError, match=r"the format before PyTorch 1\.6 is not written"):
        tensorbus.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)
    while deep:
        deep = deep[0]
