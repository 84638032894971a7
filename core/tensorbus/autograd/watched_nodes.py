"""Something that stands around every node which a backward pass runs: a profiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Around = Callable[[str, int, Callable[[], Any]], Any]
"""(name of the node, its sequence number or -1, what runs it) -> what it gives."""


class _WatchedNodes:
    """``around`` is None while nobody watches."""

    __slots__ = ("around",)

    def __init__(self) -> None:
        self.around: Around | None = None


WATCHED_NODES = _WatchedNodes()


def watch_nodes(around: Around) -> None:
    """Let *around* run every node, in all threads."""
    WATCHED_NODES.around = around


def unwatch_nodes() -> None:
    """Run nodes as they stand again."""
    WATCHED_NODES.around = None
