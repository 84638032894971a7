"""Files that PyTorch wrote, as recorded."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest


def write_without_sources(torch: Any, thing: Any, file: io.BytesIO, **options: Any) -> None:
    """``torch.save`` of modules, whose old format holds their classes' sources and where they lie.

    Neither belongs into a recorded answer, so a word of ours stands for both.
    """
    room = torch.serialization
    before = room.get_source_lines_and_file
    room.get_source_lines_and_file = lambda kind: ([f"class {kind.__name__}\n"], 0, "source.py")
    try:
        torch.save(thing, file, **options)
    finally:
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
