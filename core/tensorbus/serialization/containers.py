"""What a checkpoint's file is: a container of one object's pickle, and of storages."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import numpy as np

from tensorbus.serialization.archive import ALIGNMENT, ArchiveReader
from tensorbus.serialization.errors import (
    CheckpointError,
    EmptyCheckpointError,
    bad,
    escaped,
)
from tensorbus.serialization.files import opened_as_text
from tensorbus.serialization.formats import unknown_format
from tensorbus.serialization.legacy import LegacyFile, is_legacy
from tensorbus.serialization.options import read_order
from tensorbus.serialization.storages import MapLocation, Storages
from tensorbus.serialization.survey import Survey
from tensorbus.serialization.tar import TarFile, is_tar


class ZipFile:
    """The zip archive that PyTorch writes since 1.6."""

    end: int | None = None

    def __init__(self, file: IO[bytes], mapped: np.ndarray | None = None):
        self._archive = archive = ArchiveReader(file)
        self._mapped = mapped
        self.shared = mapped is not None
        if "constants.pkl" in archive:
            raise CheckpointError(
                "The file can't be loaded: it is a TorchScript program. Save the module's "
                "state_dict() with PyTorch instead."
            )
        if "data.pkl" not in archive:
            listed = ", ".join(escaped(name) for name in archive.names()[:5])
            raise CheckpointError(
                f"The file can't be loaded: it is a zip file without data.pkl; it holds {listed}."
            )
        order = read_order()
        if "byteorder" in archive:
            order = archive.read("byteorder").tobytes().decode("latin1")
        if order not in ("little", "big"):
            raise bad(f"its byte order is '{escaped(order, 20)}'")
        self.byteorder = order
        self.file: IO[bytes] = io.BytesIO(archive.read("data.pkl").tobytes())

    def record(self, key: str, size: int) -> np.ndarray:
        """The bytes of a storage."""
        if self._mapped is None:
            return self._archive.read(f"data/{key}", size)
        start = self._archive.locate(f"data/{key}", size)[0]
        part = self._mapped[start : start + size]
        return part if start % ALIGNMENT == 0 else part.copy()


class Opened(NamedTuple):
    """A container, whose ``file`` stands at the object's pickle."""

    container: Any
    storages: Storages
    refer: Callable[[Any], Any]
    """What a persistent id of that pickle stands for."""


def opened(file: IO[bytes], map_location: MapLocation, mapped: np.ndarray | None) -> Opened:
    """The container that a file is; CheckpointError for what is none."""
    position = file.tell()
    file.seek(0)
    head = file.read(4)
    if isinstance(head, str):
        raise opened_as_text()
    if head == b"PK\3\4":
        archive = ZipFile(file, mapped)
        storages = Storages(archive, map_location)
        return Opened(archive, storages, storages.load)
    if mapped is not None:
        name = f"{file.name}, " if isinstance(getattr(file, "name", None), str) else ""
        raise RuntimeError(
            "mmap can only be used with files saved with "
            f"`torch.save({name}_use_new_zipfile_serialization=True), please torch.save your "
            "checkpoint with this option in order to use mmap."
        )
    if is_tar(file):
        tar = TarFile(file, map_location)
        return Opened(tar, tar.storages, tar.load)
    # Several objects may lie in one such file, each where the one before it ends.
    for start in (position, 0):
        file.seek(start)
        if is_legacy(file):
            legacy = LegacyFile(file)
            storages = Storages(legacy, map_location)
            return Opened(legacy, storages, storages.load)
    found = EmptyCheckpointError if file.seek(0, 2) == 0 else CheckpointError
    raise found(unknown_format(file))


def names_in(container: Any) -> set[str]:
    """All that an opened container's pickle names."""
    survey = Survey(container.file)
    survey.load()
    return survey.globals
