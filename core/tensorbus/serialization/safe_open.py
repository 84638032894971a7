"""Single tensors out of safetensors files, which are not read whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np

import tensorbus
from tensorbus.serialization.errors import CheckpointError, shown
from tensorbus.serialization.safetensors import Entry, dtype_name, read_header, tensor_of_bytes
from tensorbus.storage import UntypedStorage

_FRAMEWORKS = ("pt", "torch", "pytorch", "tensorbus")


class safe_open:
    """A safetensors file of which tensors, or parts of them, are read when they are asked for.

    The file lies in memory as it is: a tensor on the cpu is no copy until it is written to, and
    what is written never goes to the file. *framework* is "pt", for callers of the safetensors
    package. CheckpointError for a file that is damaged or something else, and for a name that is
    not in it.

    >>> import os, tempfile, tensorbus
    >>> from tensorbus.serialization import safe_open, save_file
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> save_file({"w": tensorbus.arange(6.0).view(3, 2)}, path)
    >>> with safe_open(path, framework="pt") as file:
    ...     file.keys(), file.get_slice("w")[1:, :1]
    (['w'], tensor([[2.],
            [4.]]))
    """

    def __init__(
        self, filename: str | os.PathLike[str], framework: str = "pt", device: Any = "cpu"
    ):
        if framework not in _FRAMEWORKS:
            raise ValueError(
                f"safe_open(): framework {framework!r}: tensors are this library's; give 'pt'"
            )
        self._device = tensorbus.device(device)
        with open(filename, "rb") as file:
            header = read_header(file)
        self._metadata = header.metadata
        self._entries = {entry.name: entry for entry in header.entries}
        # Behind the header's length the file has bytes, for that is checked.
        self._bytes: np.ndarray | None = np.memmap(filename, np.uint8, "c").view(np.ndarray)
        self._start = header.start

    def __enter__(self) -> safe_open:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bytes = None

    def keys(self) -> list[str]:
        """The tensors' names."""
        return sorted(self._entries)

    def offset_keys(self) -> list[str]:
        """The tensors' names in the order of their data."""
        return list(self._entries)

    def metadata(self) -> dict[str, str] | None:
        """The texts that the file was saved with."""
        return self._metadata

    def get_tensor(self, name: str) -> Any:
        """A tensor, on the device that the file was opened for."""
        return self._read(name, self._device)

    def get_slice(self, name: str) -> TensorSlice:
        """A tensor of which only what an index takes is read."""
        self._entry(name)
        return TensorSlice(self, name)

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            raise CheckpointError(f"File does not contain tensor {shown(name)}")
        return self._entries[name]

    def _read(self, name: str, device: Any) -> Any:
        entry = self._entry(name)
        if self._bytes is None:
            raise CheckpointError("File is not open: its with block has ended")
        start = self._start + entry.start
        data = self._bytes[start : start + entry.size]
        if start % entry.dtype.itemsize:
            data = data.copy()
        return tensor_of_bytes(entry, data, device, UntypedStorage.over_host)


class TensorSlice:
    """What ``get_slice`` gives: an index makes a tensor of a part."""

    def __init__(self, file: safe_open, name: str):
        self._file, self._name = file, name

    def get_shape(self) -> list[int]:
        """The whole tensor's shape."""
        return list(self._file._entry(self._name).shape)

    def get_dtype(self) -> str:
        """The dtype by the format's name, such as ``F32``."""
        return dtype_name(self._file._entry(self._name).dtype)

    def __getitem__(self, index: Any | Iterable[Any]) -> Any:
        part = self._file._read(self._name, tensorbus.device("cpu"))[index]
        return part.to(self._file._device)
