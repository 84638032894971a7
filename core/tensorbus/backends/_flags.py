"""Settings that are kept: attributes of a module or an object that check what they are given."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class Flag:
    """One setting, of one type, which the whole process shares."""

    def __init__(self, value: Any, *types: type):
        self.value = value
        self.types = types or (bool,)
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self.value

    def __set__(self, instance: Any, value: Any) -> None:
        # A bool is an int to Python, and not what a program means by one.
        if type(value) not in self.types:
            wanted = " or ".join("None" if t is type(None) else t.__name__ for t in self.types)
            found = type(value).__name__
            raise RuntimeError(f"{self.name} expects a {wanted}, but got {found}")
        self.value = value


def install(module: str, cls: type[ModuleType]) -> None:
    """Make a module one of *cls*, whose flags its attributes then are."""
    sys.modules[module].__class__ = cls
