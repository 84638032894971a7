"""Saving: objects to PyTorch's formats."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections import OrderedDict
from typing import IO, Any

import tensorbus
from tensorbus._base import dtypes
from tensorbus.op_engine.parameter import Parameter, is_lazy
from tensorbus.op_engine.signatures import hide_private
from tensorbus.serialization.archive import ALIGNMENT, ArchiveWriter
from tensorbus.serialization.errors import MissingFolderError, NoFileError
from tensorbus.serialization.files import replacing
from tensorbus.serialization.legacy import write_legacy
from tensorbus.serialization.locations import location_tag
from tensorbus.serialization.names import storage_name
from tensorbus.storage import TypedStorage, UntypedStorage

DEFAULT_PROTOCOL = 2
"""The protocol in which PyTorch pickles."""


class _Name:
    """A global as it stands in the file; what it names need not exist here."""

    def __init__(self, module: str, name: str):
        self.module = module
        self.name = name

    def __call__(self) -> None:
        raise TypeError(f"{self.module}.{self.name} is only a name in a file")


class _StorageReference:
    """A storage as its record in the archive; pickled as a persistent id."""

    def __init__(self, *pid: Any):
        self.pid = ("storage", *pid)


_PythonPickler: Any = pickle._Pickler


class _CheckpointPickler(_PythonPickler):  # type: ignore[misc]
    """Writes tensors, dtypes and the like under PyTorch's names.

    Python's own pickler in Python: the one in C insists on importing what a global names.
    """

    write: Any
    memoize: Any

    def __init__(self, file: IO[bytes], protocol: int, legacy: bool):
        super().__init__(file, protocol)
        self.storages: list[Any] = []
        self.widths: list[int] = []
        # What a view of a storage was in files of before 0.4; no storage is one.
        self._further = (None,) if legacy else ()
        # PyTorch reads untyped storages from its zip format alone.
        self._bytes = ("torch", "ByteStorage") if legacy else ("torch.storage", "UntypedStorage")
        self._keys: dict[Any, tuple[str, Any]] = {}
        self._names: dict[str, _Name] = {}

    def _name(self, module: str, name: str) -> _Name:
        # One object for each name, so that the memo finds it again.
        return self._names.setdefault(f"{module}.{name}", _Name(module, name))

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, _StorageReference):
            return obj.pid
        if isinstance(obj, UntypedStorage):
            return self._storage(obj, None).pid
        if isinstance(obj, TypedStorage):
            return self._storage(obj.untyped(), obj.dtype).pid
        return None

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a class, a function, a dtype or one of PyTorch's names."""
        if type(obj) is dtypes.dtype:
            module, name = "torch", str(obj).removeprefix("torch.")
        elif type(obj) is _Name:
            module, name = obj.module, obj.name
        else:
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def reducer_override(self, obj: Any) -> Any:
        """How objects of ours are written; NotImplemented for all others."""
        kind = type(obj)
        if kind is _Name:
            return obj.name
        if kind is dtypes.dtype:
            return str(obj)
        if isinstance(obj, tensorbus.Tensor):
            return self._tensor(obj)
        if kind is tensorbus.Size:
            return self._name("torch", "Size"), (tuple(obj),)
        if kind is tensorbus.device:
            arguments: tuple[Any, ...] = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return self._name("torch", "device"), arguments
        if kind is tensorbus.layout:
            return self._name("torch.serialization", "_get_layout"), (str(obj),)
        return NotImplemented

    def _tensor(self, tensor: Any) -> Any:
        kind = type(tensor)
        state = _attributes(tensor)
        args: tuple[Any, ...]
        if kind is Parameter:
            args = (tensor.detach(), tensor.requires_grad, OrderedDict())
            if state:
                return self._name("torch._utils", "_rebuild_parameter_with_state"), (*args, state)
            return self._name("torch._utils", "_rebuild_parameter"), args
        if is_lazy(tensor):
            return self._name("torch.nn.parameter", kind.__name__), (tensor.requires_grad,)
        if tensor.layout is not tensorbus.strided:
            return self._name("torch._utils", "_rebuild_sparse_tensor"), _sparse_parts(tensor)
        layout = tuple(tensor.shape), tuple(tensor.stride())
        if tensor._k.has_values:
            typed = storage_name(tensor.dtype) is not None
            function = self._name("torch._utils", f"_rebuild_tensor_v{2 if typed else 3}")
            storage = self._storage(tensor.untyped_storage(), tensor.dtype if typed else None)
            offset = tensor.storage_offset()
            args = (storage, offset, *layout, tensor.requires_grad, OrderedDict())
            if not typed:  # the newer dtypes have no storage of their own
                args = (*args, tensor.dtype)
        else:
            function = self._name("torch._utils", "_rebuild_meta_tensor_no_storage")
            args = (tensor.dtype, *layout, tensor.requires_grad)
        if kind is tensorbus.Tensor and not state:
            return function, args
        named = self._name("torch", "Tensor") if kind is tensorbus.Tensor else kind
        rebuild = self._name("torch._tensor", "_rebuild_from_type_v2")
        return rebuild, (function, named, args, state)

    def _storage(self, storage: Any, dtype: Any) -> _StorageReference:
        key, first = self._keys.setdefault(storage._key, (str(len(self.storages)), dtype))
        if int(key) == len(self.storages):
            self.storages.append(storage)
            self.widths.append(1 if dtype is None else dtype.itemsize)
        if first is not dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                f"types ({first} and {dtype}); clone one of them first"
            )
        name = None if dtype is None else storage_name(dtype)
        if name is None:
            kind, size = self._name(*self._bytes), 1
        else:
            kind, size = self._name("torch", name), dtype.itemsize
        count = storage.nbytes() // size
        return _StorageReference(kind, key, location_tag(storage), count, *self._further)


def _sparse_parts(tensor: Any) -> tuple[Any, ...]:
    """What a sparse tensor is made of, as PyTorch's files have it."""
    array = tensor.detach()._a
    more = (tensor.is_coalesced(),) if tensor.is_sparse else ()
    return tensor.layout, (*array.parts(), tensor.shape, *more)


def _attributes(tensor: Any) -> dict[str, Any]:
    """What the user has set on a tensor; a module's marks for its buffers are not that."""
    state = dict(getattr(tensor, "__dict__", {}))
    if state.pop("_is_buffer", False):
        state.pop("persistent", None)
    return state


@hide_private
def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write *obj* (tensors, state dicts, containers of them) to a path or a binary file.

    The format is PyTorch's own, so ``torch.load`` reads it; that of before PyTorch 1.6 where
    *_use_new_zipfile_serialization* is false. Tensors that share a storage share it
    again when loaded. A path is written to a temporary file beside it, which then takes its name:
    whatever interrupts the saving, the previous file stays whole. What a killed process left behind
    is removed by the next call for that path. RuntimeError when tensors see one
    storage as different dtypes, pickle's errors for an object that cannot be pickled.

    >>> import tensorbus, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.pt")
    >>> tensorbus.save({"w": tensorbus.ones(2)}, path)
    >>> tensorbus.load(path)
    {'w': tensor([1., 1.])}
    """
    if pickle_module is not None and pickle_module is not pickle:
        raise ValueError("save(): pickle_module must be Python's pickle, or left out")
    stream = io.BytesIO()
    legacy = not _use_new_zipfile_serialization
    pickler = _CheckpointPickler(stream, pickle_protocol, legacy)
    try:
        pickler.dump(obj)
    except RecursionError:
        raise ValueError("save(): the object is nested too deeply to be saved") from None

    def write(file: IO[bytes], folder: str) -> None:
        pickled, storages = stream.getvalue(), pickler.storages
        if legacy:
            write_legacy(file, pickled, storages, pickler.widths, pickle_protocol)
        else:
            _write(file, folder, pickled, storages)

    if isinstance(f, str | os.PathLike):
        path = os.fsdecode(f)
        parent = os.path.dirname(path)
        if parent and not os.path.isdir(parent):
            raise MissingFolderError(f"Parent directory {parent} does not exist.")
        folder = os.path.splitext(os.path.basename(path))[0] or "archive"
        with replacing(path) as file:
            write(file, folder)
    elif callable(getattr(f, "write", None)):
        write(f, "archive")
    else:
        raise NoFileError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, "
            f"but got {type(f).__name__}"
        )


def _write(file: IO[bytes], folder: str, pickled: bytes, storages: list[Any]) -> None:
    archive = ArchiveWriter(file, folder)
    digest = hashlib.sha256()

    def add(name: str, data: Any) -> None:
        digest.update(f"{name} {archive.add(name, data)}\n".encode())

    add("data.pkl", pickled)
    add(".format_version", b"1")
    add(".storage_alignment", str(ALIGNMENT).encode())
    add("byteorder", b"little")
    for key, storage in enumerate(storages):
        add(f"data/{key}", storage.to_host())
    add("version", b"3\n")
    # Equal contents give equal files, so the id is made of the contents.
    archive.add(".data/serialization_id", f"{int(digest.hexdigest(), 16) % 10**40:040}".encode())
    archive.finish()
