"""Where public classes and functions say that they live: the module that users import them from.

``repr``, pickles and documentation name that module, so files can move between private rooms.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from tensorbus._base.page import show_pages

_shown: set[int] = set()
"""The functions that say already where they live; they live as long as the process."""


def show_in(module: str, objects: Iterable[tuple[str, Any]]) -> None:
    """Let classes and functions, given with their names, name *module* as their own; with pages.

    A function that several names share keeps the first.
    """
    for name, shown in objects:
        show_pages(module, [(name, shown)])
        if isinstance(shown, type):
            shown.__module__ = module
        elif isinstance(shown, FunctionType) and id(shown) not in _shown:
            shown.__module__, shown.__qualname__ = module, name
            _shown.add(id(shown))
