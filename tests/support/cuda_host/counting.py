"""What the device was asked to do."""

from __future__ import annotations

import contextlib
import ctypes
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from cuda_host import libraries


@dataclass
class Counts:
    """Numbers of what happened in a block of code; ``names`` counts launches and waits by name."""

    launches: int = 0
    waits: int = 0
    to_host: int = 0
    to_device: int = 0
    on_device: int = 0
    allocations: int = 0
    fills: int = 0
    names: Counter[str] = field(default_factory=Counter)


@contextlib.contextmanager
def counting() -> Iterator[Counts]:
    """Count what the device does within the block."""
    library, counts = libraries.device(), Counts()
    numbers = (ctypes.c_long * 7)()

    @ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    def watch(name: bytes) -> None:
        counts.names[name.decode()] += 1

    library.host_counters(numbers, 1)
    library.host_watch(watch)
    try:
        yield counts
    finally:
        library.host_watch(None)
        library.host_counters(numbers, 1)
        (
            counts.launches,
            counts.waits,
            counts.to_host,
            counts.to_device,
            counts.on_device,
            counts.allocations,
            counts.fills,
        ) = numbers


@contextlib.contextmanager
def watching_streams() -> Iterator[list[tuple[str, int, int]]]:
    """What is done in streams within the block: what, the stream's number and the event's."""
    library = libraries.device()
    seen: list[tuple[str, int, int]] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)
    def watch(what: bytes, stream: int | None, event: int | None) -> None:
        seen.append((what.decode(), stream or 0, event or 0))

    library.host_watch_streams(watch)
    try:
        yield seen
    finally:
        library.host_watch_streams(None)
