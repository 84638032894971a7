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
