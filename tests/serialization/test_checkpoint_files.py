"""Checkpoint files: whole or not at all, wherever they are written to or read from."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.serialization import load_file, save_file
from tensorbus.serialization.archive import ArchiveWriter
from tensorbus.serialization.files import replacing

KILLED = """
import sys, os, signal, tensorbus
from tensorbus.serialization.archive import ArchiveWriter

def killed(self):
    self._file.flush()
    os.kill(os.getpid(), signal.SIGKILL)

ArchiveWriter.finish = killed
tensorbus.save(tensorbus.ones(3), sys.argv[1])
"""


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


@pytest.mark.skipif(os.name != "posix", reason="signals and file locks are POSIX's")
def test_what_a_killed_save_leaves_the_next_one_removes(tmp_path: Path) -> None:
    path, other = tmp_path / "model.pt", tmp_path / "model"
    tensorbus.save(1, path)
    for _ in range(2):  # the second time it removes what the first one left
        command = [sys.executable, "-c", KILLED, str(path)]
        assert subprocess.run(command, timeout=240).returncode == -9
        stale = [name for name in os.listdir(tmp_path) if name != "model.pt"]
        assert len(stale) == 1 and stale[0].startswith(".model.pt.")
    assert tensorbus.load(path) == 1
    tensorbus.save(2, other)
    assert len(os.listdir(tmp_path)) == 3  # that of another name stays
    tensorbus.save(3, path)
    assert sorted(os.listdir(tmp_path)) == ["model", "model.pt"]
    assert (tensorbus.load(path), tensorbus.load(other)) == (3, 2)


def test_savings_of_one_name_at_once_leave_each_other_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"

    with replacing(str(path)) as file:
        file.write(b"first")
        tensorbus.save(2, path)
        assert tensorbus.load(path) == 2
    assert path.read_bytes() == b"first" and os.listdir(tmp_path) == ["model.pt"]


@pytest.mark.skipif(os.name != "posix", reason="folders are opened on POSIX systems only")
def test_the_new_name_is_brought_to_the_disk_after_the_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync, replace = [], os.fsync, os.replace

    def noted(descriptor: int) -> None:
        synced.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", lambda *a: (synced.append("renamed"), replace(*a)))
    tensorbus.save(1, tmp_path / "model.pt")
    assert synced == ["file", "renamed", "folder"]


def test_long_and_undecodable_names(tmp_path: Path) -> None:
    for name in ("x" * 255, "\N{SNOWMAN}" * 85, os.fsdecode(b"model\xff.pt")):
        tensorbus.save(1, tmp_path / name)
        assert tensorbus.load(tmp_path / name) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_with_a_name_or_without(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    value = {"w": tensorbus.ones(3)}

    def through(save: Any, load: Any) -> Any:
        thread = threading.Thread(target=save, args=(value, pipe))
        thread.start()
        loaded = load(pipe)
        thread.join()
        return loaded["w"].tolist()

    assert through(tensorbus.save, tensorbus.load) == [1, 1, 1]
    assert through(save_file, load_file) == [1, 1, 1]
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    if os.path.exists("/dev/fd"):
        source, sink = os.pipe()
        tensorbus.save(value, f"/dev/fd/{sink}")
        os.close(sink)
        assert tensorbus.load(f"/dev/fd/{source}")["w"].tolist() == [1, 1, 1]
        os.close(source)


def test_a_file_that_takes_a_part_at_a_time(tmp_path: Path) -> None:
    class Slow(io.RawIOBase):
        def __init__(self) -> None:
            self.taken = io.BytesIO()

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            return self.taken.write(bytes(data[:7]))

    slow = Slow()
    tensorbus.save(tensorbus.arange(100.0), slow)  # type: ignore[arg-type]
    assert tensorbus.load(slow.taken).tolist() == list(range(100))


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
    for error in (AttributeError, TypeError):  # PyTorch's, and what tells of an argument's type
        for f, kind in ((None, "NoneType"), (3, "int"), ([], "list"), (b"a.pt", "bytes")):
            text = f"^'{kind}' object has no attribute 'seek'. load.. takes a path or a file"
            with pytest.raises(error, match=text):
                tensorbus.load(f)
            text = f"'f' to be string, path, or a file-like object with a 'write'.*, but got {kind}"
            with pytest.raises(error, match=text):
                tensorbus.save(1, f)
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
    while deep:
        deep = deep[0]
