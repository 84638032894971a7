"""The one flag that sends every op to the slow path: tracing, profiling and their like."""

from __future__ import annotations


class _Rare:
    """``on`` while any mode is active in any thread."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


RARE = _Rare()
