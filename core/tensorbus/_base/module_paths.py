"""Imports of modules from where PyTorch keeps them: ``tensorbus.autograd.gradcheck``.

The last finder of the process: it is asked for what is no file, and reads the table then.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tensorbus._base.refused_names import REFUSED, refused

PACKAGE = "tensorbus"


class Keeping(ModuleType):
    """A module in which no submodule takes the place of a function or value that has its name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and _holds_a_value(self, name)):
            super().__setattr__(name, value)


def _holds_a_value(module: ModuleType, name: str) -> bool:
    """Whether an attribute is there that is no module."""
    return not isinstance(vars(module).get(name), ModuleType | None)


def keep(path: str, module: ModuleType) -> None:
    """Let what has the path of a *module*, a path below the package, stay: a function, a value."""
    parent, _, name = path.rpartition(".")
    around = importlib.import_module(f"{PACKAGE}.{parent}")
    if not _holds_a_value(around, name):
        setattr(around, name, getattr(module, name))
    kind = type(around)
    if kind is ModuleType:
        around.__class__ = Keeping
    elif not issubclass(kind, Keeping):  # a module with attributes of its own, such as flags
        around.__class__ = type(kind.__name__, (Keeping, kind), {})


class _Names:
    """The names of an imported path: those of its rooms."""

    def __init__(self, module: ModuleType, rooms: Sequence[str]):
        self.module = module
        self.path = module.__name__.removeprefix(f"{PACKAGE}.")
        self.rooms = [PACKAGE if room == "." else f"{PACKAGE}.{room}" for room in rooms]

    def get(self, name: str) -> Any:
        if name == "__all__":
            return [n for n in self.listing() if not n.startswith("_")]
        if not (name.startswith("__") and name.endswith("__")):
            for room in self.rooms:
                try:
                    return getattr(importlib.import_module(room), name)
                except AttributeError:
                    pass
            if (found := refused(self.path, name)) is not None:
                return found
        raise AttributeError(
            f"module {self.module.__name__!r} has no attribute {name!r}"
            + importlib.import_module(f"{PACKAGE}._base.absent").why(self.path, name),
            name=name,
            obj=self.module,
        )

    def listing(self) -> list[str]:
        rooms = [importlib.import_module(room) for room in self.rooms]
        named = REFUSED[self.path][0].split() if self.path in REFUSED else []
        return sorted({*named, *(n for r in rooms for n in getattr(r, "__all__", dir(r)))})


class _Loader:
    """Makes the module of a path, whose names are looked up when they are asked for."""

    def __init__(self, rooms: str, function: bool):
        self.rooms, self.function = rooms, function

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        path = module.__name__.removeprefix(f"{PACKAGE}.")
        names = _Names(module, self.rooms.split())
        rooms = " and ".join(f"``{room}``" for room in names.rooms) or "nothing"
        module.__doc__ = f"PyTorch's module of this path: names of {rooms}."
        lookup: Callable[[str], Any] = names.get
        module.__dict__.update({"__getattr__": lookup, "__dir__": names.listing})
        parent, _, name = module.__name__.rpartition(".")
        if self.function or _holds_a_value(sys.modules[parent], name):
            keep(path, module)


class PathFinder:
    """Finds the paths of the table."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{PACKAGE}."):
            return None
        from tensorbus._base.pytorch_paths import FUNCTIONS, PATHS

        below = name.removeprefix(f"{PACKAGE}.")
        inner = any(other.startswith(f"{below}.") for other in (*PATHS, *REFUSED))
        if not inner and below not in PATHS and below not in REFUSED:
            return None
        loader: Any = _Loader(PATHS.get(below, ""), below in FUNCTIONS)
        return ModuleSpec(name, loader, origin="PyTorch's module paths", is_package=inner)


def install() -> None:
    """Ask the table for what is imported from the package and is no file of it."""
    if PathFinder not in sys.meta_path:
        sys.meta_path.append(PathFinder)
