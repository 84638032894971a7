"""Streams of files: their names, what they hold."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from typing import Any

from tensorbus.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe


class _Files(IterDataPipe[Any]):
    """A pipe whose length the program gives, or nobody knows."""

    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("list_files")
class FileLister(_Files):
    """The paths of the files in folders, those whose names match one of *masks*, in order.

    With *recursive* those in folders below, too. OSError for a folder that is not there.
    """

    def __init__(
        self,
        root: str | Sequence[str] | IterDataPipe[Any] = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ):
        self.datapipe = [root] if isinstance(root, str) else root
        self.masks = [masks] if isinstance(masks, str) else masks
        self.recursive, self.abspath, self.length = recursive, abspath, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            for folder, folders, names in self._folders(os.fspath(root)):
                folders.sort()
                for name in sorted(names):
                    if self._wanted(name):
                        path = os.path.join(folder, name)
                        yield os.path.abspath(path) if self.abspath else path

    def _folders(self, root: str) -> Iterator[tuple[str, list[str], list[str]]]:
        if os.path.isfile(root):
            folder, name = os.path.split(root)
            yield folder, [], [name]
            return

        def fail(error: OSError) -> None:
            raise error

        for found in os.walk(root, onerror=fail):
            yield found
            if not self.recursive:
                return

    def _wanted(self, name: str) -> bool:
        return not any(self.masks) or any(fnmatch(name, mask) for mask in self.masks)


@functional_datapipe("open_files")
class FileOpener(_Files):
    """Pairs of a path and the file, opened for text (*mode* r, t, rt) or bytes (b, rb)."""

    def __init__(
        self, datapipe: Any, mode: str = "r", encoding: str | None = None, length: int = -1
    ):
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.encoding, self.length = datapipe, encoding, length
        self.mode = mode if mode.startswith("r") else f"r{mode}"

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path in self.datapipe:
            if not isinstance(path, str):
                raise TypeError(f"Expected string type for pathname, but got {type(path)}")
            file = open(path, self.mode, encoding=self.encoding)  # noqa: SIM115 - the reader's
            yield path, file


@functional_datapipe("read_from_stream")
class StreamReader(IterDataPipe[Any]):
    """Pairs of a label and what is read from its file: all of it, or *chunk* after *chunk*."""

    def __init__(self, datapipe: Any, chunk: int | None = None):
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for label, stream in self.datapipe:
            while part := stream.read(self.chunk):
                yield label, part
            stream.close()
