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


class Precision(Flag):
    """How exact float32 products may be: "none" for no choice, or one of *names*."""

    def __init__(self, *names: str, first: str = "none"):
        super().__init__(first, str)
        self.names = ("none", *names)

    def __set__(self, instance: Any, value: Any) -> None:
        if not isinstance(value, str):
            raise TypeError(f"{self.name} expects a str, but got {type(value).__name__}")
        if value not in self.names:
            raise RuntimeError(f"Unknown precision: {value}; choose one of {', '.join(self.names)}")
        self.value = value


class Setting:
    """A group of flags: only those that its class has can be set."""

    __slots__ = ()


def part(**flags: Flag) -> Any:
    """A group with flags of its own, such as ``torch.backends.cudnn.conv``."""
    return type("Part", (Setting,), {"__slots__": (), **flags})()


class Together:
    """Flags of a class that are set together, and put back together."""

    def __init__(self, owner: type, *names: str):
        self._flags: list[Flag] = [vars(owner)[name] for name in names]

    def values(self) -> tuple[Any, ...]:
        """What the flags are, in order."""
        return tuple(flag.value for flag in self._flags)

    def change(self, *values: Any) -> tuple[Any, ...]:
        """Set those whose value is not None, all or none of them; what all were before."""
        before = self.values()
        try:
            for flag, value in zip(self._flags, values, strict=True):
                if value is not None:
                    flag.__set__(None, value)
        except BaseException:
            self.restore(before)
            raise
        return before

    def restore(self, values: tuple[Any, ...]) -> None:
        """Set all of them."""
        for flag, value in zip(self._flags, values, strict=True):
            flag.__set__(None, value)


class Verbose:
    """A block in which a library would tell what it does: here none is used, so nothing is told.

    *level* is ``VERBOSE_OFF`` or another of the module's constants.
    """

    def __init__(self, level: int):
        self.level = level

    def __enter__(self) -> Verbose:
        return self

    def __exit__(self, *args: object) -> None:
        pass


def install(module: str, cls: type[ModuleType]) -> None:
    """Make a module one of *cls*, whose flags its attributes then are."""
    sys.modules[module].__class__ = cls
