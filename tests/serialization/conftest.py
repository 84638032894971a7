"""Files that PyTorch wrote, as recorded."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest


def write_without_sources(torch: Any, thing: Any, file: io.BytesIO, **options: Any) -> None:
    """``torch.save`` with a file that is the same in every process.

    The old format holds the sources of modules' classes and where they lie, and the addresses of
    storages. None belongs into a recorded answer, so words and numbers of ours stand for them.
    """
    room = torch.serialization
    before = room.get_source_lines_and_file
    address, numbers = torch.UntypedStorage._cdata, dict[int, int]()
    torch.UntypedStorage._cdata = property(
        lambda storage: numbers.setdefault(address.__get__(storage), 100 + len(numbers))
    )
    room.get_source_lines_and_file = lambda kind: ([f"class {kind.__name__}\n"], 0, "source.py")
    try:
        torch.save(thing, file, **options)
    finally:
        del torch.UntypedStorage._cdata
        room.get_source_lines_and_file = before


@pytest.fixture
def pytorch_file(oracle: Callable[..., Any]) -> Callable[..., io.BytesIO]:
    """``pytorch_file(make, **options)``: what ``torch.save(make(torch), **options)`` writes."""

    def record(make: Callable[[Any], Any], **options: Any) -> io.BytesIO:
        def write(torch: Any) -> bytes:
            file = io.BytesIO()
            write_without_sources(torch, make(torch), file, **options)
            return file.getvalue()

        return io.BytesIO(oracle(write))

    return record


@pytest.fixture
def save_modules() -> Callable[..., None]:
    """``save_modules(torch, thing, file, **options)``: ``torch.save`` without sources."""
    return write_without_sources
