"""Names of PyTorch that tensorbus lacks: their AttributeError says so, and where the list is.

``pytorch_names.txt`` holds PyTorch's documented public names, a namespace a line; ``scripts/
coverage record`` writes it where PyTorch is installed.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping
from typing import Any

from tensorbus._base.page import show_pages
from tensorbus._base.table import Table
from tensorbus._base.warning import warn_user

PYTORCH = "2.13"
"""The version of PyTorch whose names these are."""

_UNUSUAL = (
    "__config__",
    "__future__",
    "_dynamo",
    "_jit_internal",
    "_ops",
    "_python_dispatch",
    "_pytree",
    "_tensor",
    "_utils",
    "_VF",
)
"""Modules that users name, although they begin with an underscore."""

RENAMED = {
    "nn": {"HardTanh": "Hardtanh", "NLLLoss2d": "NLLLoss", "SeLU": "SELU"},
    "nn.modules.loss": {"NLLLoss2d": "NLLLoss"},
    "nn.functional": {"bce_with_logits": "binary_cross_entropy_with_logits"},
}
"""For each namespace the names of older versions, which work and warn, and what they are now."""

NAMES = os.path.join(os.path.dirname(__file__), "pytorch_names.txt")


@functools.cache
def documented() -> dict[str, frozenset[str]]:
    """The documented names of each namespace: ``torch``, ``Tensor``, ``nn``, ``nn.functional``."""
    with open(NAMES, encoding="utf-8") as file:
        lines = (line.split() for line in file)
        return {space.removesuffix(":"): frozenset(names) for space, *names in lines}


def why(space: str, name: str) -> str:
    """What an AttributeError says beyond that a name is missing; empty if PyTorch lacks it."""
    prefix = "" if space == "torch" else f"{space}."
    if name not in documented().get(space, ()) and f"{prefix}{name}" not in documented():
        return ""
    return (
        f": PyTorch {PYTORCH} has torch.{prefix}{name}, tensorbus does not yet; "
        "docs/coverage.md lists what is there"
    )


def attributes(
    module: str,
    later: Mapping[str, str] | None = None,
    others: Callable[[str], Any] | None = None,
    table: Table | None = None,
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a public module, for what is not there when it is imported.

    *table* has names of its own. *later* maps others to the submodules that define them. Submodules
    themselves are found as well: what a program never touches is never imported. Then *others* is
    asked, which gives None for names that it does not know; and at last ``RENAMED``.
    """
    space = module.removeprefix("tensorbus").removeprefix(".") or "torch"
    later = later or {}

    def __getattr__(name: str) -> Any:
        if table is not None and name in table:
            found = table[name]
            setattr(importlib.import_module(module), name, found)
            return found
        if name in later:
            home = importlib.import_module(f"{module}.{later[name]}")
            found = getattr(home, name)
            setattr(importlib.import_module(module), name, found)
            show_pages(module, [(name, found)])
            return found
        if not name.startswith("_") or name in _UNUSUAL:
            try:
                return importlib.import_module(f"{module}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{module}.{name}":
                    raise
        if others is not None and not name.startswith("__") and (found := others(name)) is not None:
            setattr(importlib.import_module(module), name, found)
            return found
        if new := RENAMED.get(space, {}).get(name):
            warn_user(f"torch.{space}.{name} is deprecated: it is called {new} now", FutureWarning)
            return getattr(importlib.import_module(module), new)
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}{why(space, name)}",
            name=name,
            obj=importlib.import_module(module),
        )

    return __getattr__


def names_of(*rooms: str) -> Callable[[str], Any]:
    """What ``attributes`` takes as *others*: the names of other modules, imported when asked."""

    def others(name: str) -> Any:
        for room in rooms:
            found = getattr(importlib.import_module(room), name, None)
            if found is not None:
                return found
        return None

    return others


def listing(
    module: str, later: Mapping[str, str] | None = None, table: Table | None = None
) -> Callable[[], list[str]]:
    """The ``__dir__`` of a public module: also the names of PyTorch that are found when asked for.

    *later* and *table* are what ``attributes`` gets.
    """
    space = module.removeprefix("tensorbus").removeprefix(".")
    prefix = f"{space}." if space else ""

    def __dir__() -> list[str]:
        names = {
            *vars(importlib.import_module(module)),
            *(later or ()),
            *(table.names() if table is not None else ()),
        }
        inner = {s.removeprefix(prefix).split(".")[0] for s in documented() if s.startswith(prefix)}
        found = {s for s in inner - names if importlib.util.find_spec(f"{module}.{s}")}
        return sorted(names | found)

    return __dir__


class Absent:
    """An attribute of PyTorch's tensors that tensorbus' lack: asking for it says so.

    It stands on the class, since a class with ``__getattr__`` finds all its attributes more slowly.
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        name = owner.__name__
        whose = f"type object {name!r}" if instance is None else f"{name!r} object"
        raise AttributeError(
            f"{whose} has no attribute {self.name!r}{why('Tensor', self.name)}",
            name=self.name,
            obj=owner if instance is None else instance,
        )
