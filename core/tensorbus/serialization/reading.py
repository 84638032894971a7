"""Loading: PyTorch's files to objects."""

from __future__ import annotations

import io
import os
import pickle
import warnings
from collections.abc import Callable
from typing import IO, Any

import numpy as np

import tensorbus
from tensorbus import storage
from tensorbus.serialization import modules, names, options
from tensorbus.serialization.budget import limited
from tensorbus.serialization.containers import names_in, opened
from tensorbus.serialization.errors import CheckpointError, NoFileError, bad, escaped, reason
from tensorbus.serialization.files import seekable
from tensorbus.serialization.refused import refuse_absent
from tensorbus.serialization.restricted import RestrictedUnpickler
from tensorbus.serialization.storages import MapLocation
from tensorbus.serialization.trusted import user_globals


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what ``save``, ours or PyTorch's of any version, wrote to a path or a binary file.

    A pipe is read to its end first. *map_location* says where storages go: a device, a dict from
    saved to wanted devices, or a function of (storage on the cpu, saved device) that returns a
    storage or None. No code from the file is run unless *weights_only* is False; then the file may
    run anything: use it for files you trust. By default modules and optimizers of ours may be in
    it, under their own names or PyTorch's; where *weights_only* is True only what
    ``add_safe_globals`` allows. With *mmap*, tensors lie in the file itself, which is read where
    they are used and never written to (see ``set_default_mmap_options``); f is then a path to a zip
    file. CheckpointError (a RuntimeError and an UnpicklingError) for a file that is damaged or
    something else, or that would take more time and memory than its size explains;
    UnsafeCheckpointError for one that names what is not known to be safe.

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
    if pickle_module is not None:
        if weights_only:
            raise RuntimeError(
                "Can not safely load weights when explicit pickle_module is specified"
            )
        if pickle_module is not pickle:
            raise ValueError("load(): pickle_module must be Python's pickle, or left out")
    weights_only = options.weights_only_here(weights_only)
    if pickle_load_args and weights_only is not False:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)

    def read(file: IO[bytes]) -> Any:
        mapped = _mapped(f) if mmap else None
        return _load(file, map_location, weights_only, pickle_load_args, mapped)

    return _with_file("load", f, read)


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The names in a checkpoint that ``load(f, weights_only=True)`` refuses.

    Nothing of the file is imported or run. CheckpointError for a file that is no checkpoint.

    >>> import datetime, io, tensorbus
    >>> file = io.BytesIO()
    >>> tensorbus.save(datetime.date(2026, 1, 2), file)
    >>> tensorbus.serialization.get_unsafe_globals_in_checkpoint(file)
    ['datetime.date']
    """

    def read(file: IO[bytes]) -> list[str]:
        known = names.known()[0].keys() | user_globals.keys()
        with limited(file.seek(0, 2)):
            return sorted(names_in(opened(file, "cpu", None).container) - known)

    return _with_file("get_unsafe_globals_in_checkpoint", f, read)


def _load_from_bytes(b: bytes) -> Any:
    """A storage from what PyTorch's tensors are in a plain pickle: the bytes of a file of one."""
    return load(io.BytesIO(b), weights_only=False)


storage._load_from_bytes = _load_from_bytes  # type: ignore[attr-defined]


def _with_file(
    name: str, f: str | os.PathLike[str] | IO[bytes], read: Callable[[IO[bytes]], Any]
) -> Any:
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return read(seekable(file))
    if not callable(getattr(f, "read", None)):
        lacks = "read" if hasattr(f, "seek") else "seek"
        raise NoFileError(
            f"'{type(f).__name__}' object has no attribute '{lacks}'. {name}() takes a path or a "
            "file opened for binary reading"
        )
    return read(seekable(f))


def _mapped(f: Any) -> np.ndarray:
    """The bytes of a file, which are read when they are used."""
    if not isinstance(f, str | os.PathLike):
        raise ValueError("f must be a file path in order to use the mmap argument")
    shared = options.get_default_mmap_options() == options.MAP_SHARED
    return np.memmap(f, np.uint8, "r+" if shared else "c").view(np.ndarray)


def _load(
    file: IO[bytes],
    map_location: MapLocation,
    weights_only: bool | None,
    pickle_load_args: dict[str, Any],
    mapped: np.ndarray | None,
) -> Any:
    position = file.tell()
    length = file.seek(0, 2)
    file.seek(position)
    with limited(length):
        container, storages, refer = opened(file, map_location, mapped)
    if weights_only is not False:
        with limited(length):
            # Modules are more than weights: they load where weights alone are not insisted on.
            reader = RestrictedUnpickler(container.file, refer, modules=weights_only is None)
            loaded = reader.load()
    else:
        loaded = _trusting(_TrustingUnpickler(container.file, refer, pickle_load_args))
    if container.end is not None:
        file.seek(container.end)  # where another object may follow
    if storages.widened is not None:
        warnings.warn(
            f"{storages.widened} has no bfloat16: such tensors of the checkpoint were loaded as "
            "float32, which holds their values exactly",
            stacklevel=5,
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

    def __init__(
        self, file: IO[bytes], refer: Callable[[Any], Any], pickle_load_args: dict[str, Any]
    ):
        super().__init__(file, **pickle_load_args)
        self._refer = refer

    def persistent_load(self, pid: Any) -> Any:
        return self._refer(pid)

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
    ours = modules.find(f"{module}.{name}")
    if ours is not None:
        return ours
    for namespace in (tensorbus, tensorbus.nn, tensorbus.optim):
        found = getattr(namespace, name, None)
        if found is not None:
            return found
    full = escaped(f"{module}.{name}")
    refuse_absent([full])
    raise CheckpointError(
        f"The checkpoint holds an object of {full}, which tensorbus does not have."
    )
