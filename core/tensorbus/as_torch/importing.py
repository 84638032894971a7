"""What finds ``torch`` and all below it: our modules, and a distribution that has this version."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec
from os import PathLike
from types import ModuleType
from typing import Any

from tensorbus._base.module_paths import keep
from tensorbus._base.pytorch_paths import FUNCTIONS

OURS, THEIRS = "tensorbus", "torch"
BESIDE = {"functorch": "tensorbus.func.functorch"}
"""Packages that come with PyTorch, and what they are here."""


class Alias:
    """A finder of modules, and of the distribution ``torch``."""

    def __init__(self, version: str):
        self.version = version

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, below = name.partition(".")
        if name in BESIDE:
            return ModuleSpec(name, _Same(), origin="tensorbus.as_torch")  # type: ignore[arg-type]
        if top != THEIRS:
            return None
        if below and importlib.util.find_spec(f"{OURS}.{below}") is None:
            raise ModuleNotFoundError(
                f"No module named {name!r}: torch is tensorbus here, which has no {below}",
                name=name,
            )
        loader: Any = _Same()
        return ModuleSpec(name, loader, origin="tensorbus.as_torch", is_package=not below)

    def find_distributions(
        self, context: metadata.DistributionFinder.Context | None = None
    ) -> Iterable[metadata.Distribution]:
        """The distribution ``torch``, where that or all are asked for."""
        wanted = None if context is None else context.name
        if wanted is None or wanted.lower() == THEIRS:
            yield _Distribution(self.version)


class _Same:
    """Loads a module of ours under PyTorch's name: the same object, which stays as it is."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        ours = BESIDE.get(spec.name) or OURS + spec.name.removeprefix(THEIRS)
        module = importlib.import_module(ours)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the machinery has put its own there
        path = module.__name__.removeprefix(f"{OURS}.")
        if path in FUNCTIONS:
            keep(path, module)


class _Distribution(metadata.Distribution):
    """What ``importlib.metadata`` says of ``torch``: a name and a version, no files."""

    def __init__(self, version: str):
        self._text = (
            f"Metadata-Version: 2.1\nName: {THEIRS}\nVersion: {version}\n"
            "Summary: tensorbus under the name torch\n"
        )

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: str | PathLike[str]) -> Any:
        raise FileNotFoundError(f"torch is tensorbus here: there is no file {path} of it")
