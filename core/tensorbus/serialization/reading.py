"""Loading: PyTorch's zip format to objects."""

from __future__ import annotations

import io
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np

import tensorbus
from tensorbus.serialization import names
from tensorbus.serialization.archive import ArchiveReader
from tensorbus.serialization.bfloat16 import offers, widened
from tensorbus.serialization.budget import limited
from tensorbus.serialization.errors import CheckpointError, bad, escaped, reason, shown
from tensorbus.serialization.files import opened_as_text, seekable
from tensorbus.serialization.formats import unknown_format
from tensorbus.serialization.rebuild import StorageType
from tensorbus.serialization.restricted import RestrictedUnpickler
from tensorbus.storage import TypedStorage, UntypedStorage

MapLocation = None | str | Any | Mapping[str, Any] | Callable[[Any, str], Any]


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what ``save``, ours or PyTorch's, wrote to a path or a binary file.

    A pipe is read to its end first. *map_location* says where storages go: a device, a dict from
    saved to wanted devices, or a function of (storage on the cpu, saved device) that returns a
    storage or None. No code from the file is run unless *weights_only* is False; then the file may
    run anything: use it for files you trust. *mmap* is accepted and changes nothing.
    CheckpointError (a RuntimeError) for a file that is damaged or something else, or that would
    take more time and memory than its size explains; UnsafeCheckpointError for one that names what
    is not known to be safe.

    >>> import io, tensorbus
    >>> file = io.BytesIO()
    >>> tensorbus.save({"w": tensorbus.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> tensorbus.load(file)
    {'w': tensor([1., 1.])}
    """
    unknown = pickle_load_args.keys() - {"encoding", "errors", "fix_imports", "buffers"}
    if unknown:
        raise TypeError(f"load() got an unexpected keyword argument '{min(unknown)}'")
    if pickle_module is not None and pickle_module is not pickle:
        raise ValueError("load(): pickle_module must be Python's pickle, or left out")
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load(seekable(file), map_location, weights_only is not False, pickle_load_args)
    if not callable(getattr(f, "read", None)):
        raise TypeError(
            f"load(): expected a path or a file opened for binary reading, got {type(f).__name__}"
        )
    return _load(seekable(f), map_location, weights_only is not False, pickle_load_args)


def _load(file: IO[bytes], map_location: MapLocation, safe: bool, options: dict[str, Any]) -> Any:
    file.seek(0)
    head = file.read(4)
    if isinstance(head, str):
        raise opened_as_text()
    if head != b"PK\3\4":
        raise CheckpointError(unknown_format(file))
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise CheckpointError(
            "The file can't be loaded: it is a TorchScript program. Save the module's state_dict() "
            "with PyTorch instead."
        )
    if "data.pkl" not in archive:
        listed = ", ".join(escaped(name) for name in archive.names()[:5])
        raise CheckpointError(
            f"The file can't be loaded: it is a zip file without data.pkl; it holds {listed}."
        )
    storages = _Storages(archive, map_location)
    pickled = archive.read("data.pkl").tobytes()
    if safe:
        with limited(archive.length):
            loaded = RestrictedUnpickler(pickled, storages.load).load()
    else:
        loaded = _trusting(_TrustingUnpickler(io.BytesIO(pickled), storages, options))
    if storages.widened is not None:
        warnings.warn(
            f"{storages.widened} has no bfloat16: such tensors of the checkpoint were loaded as "
            "float32, which holds their values exactly",
            stacklevel=3,
        )
    return loaded


def _trusting(unpickler: pickle.Unpickler) -> Any:
    try:
        return unpickler.load()
    except CheckpointError:
        raise
    except (pickle.UnpicklingError, EOFError) as error:
        raise bad(f"its pickle can't be followed ({reason(error)})") from error


class _TrustingUnpickler(pickle.Unpickler):
    """Python's own unpickler, with PyTorch's names standing for ours."""

    def __init__(self, file: IO[bytes], storages: _Storages, options: dict[str, Any]):
        super().__init__(file, **options)
        self._storages = storages

    def persistent_load(self, pid: Any) -> Any:
        return self._storages.load(pid)

    def find_class(self, module: str, name: str) -> Any:
        table, _ = names.known()
        found = table.get(f"{module}.{name}")
        if found is not None:
            return found
        if module == "torch" or module.startswith("torch."):
            return _our_class(module, name)
        return super().find_class(module, name)


def _our_class(module: str, name: str) -> Any:
    """The class of ours that stands for one of PyTorch's; it may live in another module."""
    for namespace in (tensorbus, tensorbus.nn, tensorbus.optim):
        found = getattr(namespace, name, None)
        if found is not None:
            return found
    full = escaped(f"{module}.{name}")
    raise CheckpointError(
        f"The checkpoint holds an object of {full}, which tensorbus does not have."
    )


class _Storages:
    """The storages of one archive, each read when it is first asked for."""

    def __init__(self, archive: ArchiveReader, map_location: MapLocation):
        self._archive = archive
        self._at = _placement(map_location)
        self._loaded: dict[str, tuple[StorageType, int, TypedStorage]] = {}
        self.widened: Any = None
        order = b"little"
        if "byteorder" in archive:
            order = archive.read("byteorder").tobytes()
        if order not in (b"little", b"big"):
            raise bad(f"its byte order is {order[:20]!r}")
        self._swapped = order.decode() != sys.byteorder

    def load(self, pid: Any) -> Any:
        """What a persistent id stands for."""
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage":
            raise bad("its pickle refers to something that is no storage")
        _, kind, key, location, count = pid
        if not isinstance(kind, StorageType) or type(count) is not int or not 0 <= count < 2**63:
            raise bad("its pickle has a storage of unknown kind or size")
        if not isinstance(key, str) or not isinstance(location, str):
            raise bad("its pickle has a storage without name or location")
        found = self._loaded.get(key)
        if found is None:
            found = self._loaded[key] = kind, count, self._read(kind, key, location, count)
        elif found[:2] != (kind, count):
            raise bad(f"the storage {shown(key)} has two types or sizes")
        return found[2].untyped() if kind.untyped else found[2]

    def _read(self, kind: StorageType, key: str, location: str, count: int) -> TypedStorage:
        dtype = kind.dtype
        data = self._archive.read(f"data/{key}", count * dtype.itemsize)
        if self._swapped:
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


def _placement(map_location: MapLocation) -> Callable[[np.ndarray, str], Any]:
    """A function from the bytes of a storage and the device it was saved from to the storage."""
    if map_location is None:
        return _restore
    if isinstance(map_location, str | tensorbus.device):
        device = tensorbus.device(map_location)
        return lambda data, _: UntypedStorage.from_host(data, device)
    if isinstance(map_location, Mapping):
        wanted = {str(saved): str(target) for saved, target in map_location.items()}
        return lambda data, location: _restore(data, wanted.get(location, location))
    if not callable(map_location):
        raise TypeError(
            "load(): map_location must be a device, a dict of devices or a function, got "
            f"{type(map_location).__name__}"
        )

    def ask(data: np.ndarray, location: str) -> Any:
        given = map_location(UntypedStorage.from_host(data, tensorbus.device("cpu")), location)
        if given is None:
            return _restore(data, location)
        if not isinstance(given, UntypedStorage):
            raise TypeError(
                f"load(): map_location must return a storage or None, got {type(given).__name__}"
            )
        return given

    return ask


def _restore(data: np.ndarray, location: str) -> Any:
    try:
        device = tensorbus.device(location)
        return UntypedStorage.from_host(data, device)
    except (RuntimeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"The checkpoint was saved from the device {shown(location)}, which cannot be used "
            f"here ({reason(error)}). Load it with map_location='cpu', or another device."
        ) from error
