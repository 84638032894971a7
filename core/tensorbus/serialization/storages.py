"""The storages of a checkpoint: what references to them mean, and where they are placed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

import tensorbus
from tensorbus.serialization.bfloat16 import offers, widened
from tensorbus.serialization.errors import bad, shown
from tensorbus.serialization.locations import (
    default_restore_location,
    has_packages,
    known_device,
)
from tensorbus.serialization.rebuild import StorageType
from tensorbus.storage import TypedStorage, UntypedStorage

MapLocation = None | str | Any | Mapping[str, Any] | Callable[[Any, str], Any]


class Records(Protocol):
    """What holds the bytes of storages, by their keys."""

    byteorder: str
    shared: bool
    """Whether the bytes are memory that tensors may keep, rather than copy."""

    def record(self, key: str, size: int) -> np.ndarray:
        """So many bytes, a flat uint8 array; CheckpointError where they are not there."""


class Storages:
    """The storages of one file, each read when it is first asked for."""

    def __init__(self, records: Records, map_location: MapLocation):
        self._records = records
        self._at = _placement(
            map_location, UntypedStorage.over_host if records.shared else UntypedStorage.from_host
        )
        self._loaded: dict[str, tuple[StorageType, int, TypedStorage]] = {}
        self._views: dict[Any, TypedStorage] = {}
        self.widened: Any = None
        """The device that lacks bfloat16, where such storages became float32."""

    def load(self, pid: Any) -> Any:
        """What a persistent id stands for."""
        if isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module":
            return pid[1]  # a class, with its source for comparison, which is of no use here
        if not isinstance(pid, tuple) or len(pid) not in (5, 6) or pid[0] != "storage":
            raise bad("its pickle refers to something that is no storage")
        _, kind, key, location, count, *view = pid
        if not isinstance(kind, StorageType) or not _is_count(count):
            raise bad("its pickle has a storage of unknown kind or size")
        if not isinstance(key, str) or not isinstance(location, str):
            raise bad("its pickle has a storage without name or location")
        found = self._loaded.get(key)
        if found is None:
            made = self.place(kind, key, location, count)
            found = self._loaded[key] = kind, count, made
        elif found[:2] != (kind, count):
            raise bad(f"the storage {shown(key)} has two types or sizes")
        whole = found[2] if view in ([], [None]) else self._part(found[2], view[0])
        return whole.untyped() if kind.untyped else whole

    def place(self, kind: StorageType, key: str, location: str, count: int) -> TypedStorage:
        """The storage of that key, on the device it belongs to."""
        dtype = kind.dtype
        data = self._records.record(key, count * dtype.itemsize)
        if self._records.byteorder != sys.byteorder:
            width = dtype.itemsize // (2 if dtype.is_complex else 1)
            data = np.ascontiguousarray(data.reshape(-1, width)[:, ::-1]).reshape(-1)
        if dtype is tensorbus.bool and data.size and int(data.max()) > 1:
            raise bad(f"the storage {shown(key)} holds truth values other than 0 and 1")
        storage = self._at(data, location)
        if dtype is tensorbus.bfloat16 and not offers(storage.device, dtype):
            storage = self._at(widened(data), location)
            dtype = tensorbus.float32
            self.widened = storage.device
        return TypedStorage.over(storage, dtype)

    def _part(self, whole: TypedStorage, view: Any) -> TypedStorage:
        """A part of a storage, which has a key of its own in files of before 0.4."""
        if not isinstance(view, tuple) or len(view) != 3 or not isinstance(view[0], str):
            raise bad("a view of a storage has no key, offset and size")
        if view not in self._views:
            self._views[view] = part_of(whole, *view[1:])
        return self._views[view]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def part_of(whole: TypedStorage, offset: Any, count: Any) -> TypedStorage:
    """So many elements of a storage, in the same memory."""
    if not _is_count(offset) or not _is_count(count) or offset + count > whole.size():
        raise bad(f"a view of a storage reaches beyond its {whole.size()} elements")
    width = whole.dtype.itemsize
    part = whole.untyped()[offset * width : (offset + count) * width]
    return TypedStorage.over(part, whole.dtype)


Placing = Callable[[np.ndarray, str], Any]


def _placement(map_location: MapLocation, make: Callable[..., UntypedStorage]) -> Placing:
    """A function from the bytes of a storage and the device it was saved from to the storage."""

    def restore(data: np.ndarray, location: str) -> Any:
        if has_packages():
            return default_restore_location(make(data, tensorbus.device("cpu")), location)
        return make(data, known_device(location))

    if map_location is None:
        return restore
    if isinstance(map_location, str | tensorbus.device):
        device = known_device(str(map_location))
        return lambda data, _: make(data, device)
    if isinstance(map_location, Mapping):
        wanted = {str(saved): str(target) for saved, target in map_location.items()}
        return lambda data, location: restore(data, wanted.get(location, location))
    if not callable(map_location):
        raise TypeError(
            "load(): map_location must be a device, a dict of devices or a function, got "
            f"{type(map_location).__name__}"
        )

    def ask(data: np.ndarray, location: str) -> Any:
        given = map_location(make(data, tensorbus.device("cpu")), location)
        if given is None:
            return restore(data, location)
        if not isinstance(given, UntypedStorage):
            raise TypeError(
                f"load(): map_location must return a storage or None, got {type(given).__name__}"
            )
        return given

    return ask
