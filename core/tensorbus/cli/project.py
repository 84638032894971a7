"""Writes a plugin's project from templates and from the contract's own data."""

from __future__ import annotations

import re
import shutil
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from string import Template

from tensorbus.plugin import API, SIGNATURES
from tensorbus.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
PAGE = Path(__file__).parents[1] / "plugin" / "primitives.md"
"""The specification of the primitives, which is a page of the documentation too."""

SUFFIX = ".template"
PARTS = "parts.toml"
FAMILY = "FAMILY"
"""The template of that name is written once for each family of primitives."""

PARAMETERS = {
    "dim": "int",
    "dims": "tuple[int, ...]",
    "dtype": "Any",
    "key": "tuple[int, int]",
    "n": "int",
    "offset": "int",
    "op": "str",
    "out=None": "Array | None",
    "start": "float",
    "step": "float",
    "wrap": "bool",
}
"""The types of parameters; those that are not named here are arrays."""


@dataclass(frozen=True, slots=True)
class Project:
    """The project of one plugin; *base* is the device of an overlay, or empty."""

    name: str
    kind: str
    base: str
    bare: bool

    @property
    def package(self) -> str:
        """The package's name."""
        return f"tensorbus_{self.name}"

    @property
    def distribution(self) -> str:
        """The name under which it is installed."""
        return self.package.replace("_", "-")

    @property
    def layers(self) -> tuple[str, ...]:
        """The folders of templates; a file of a later one replaces that of an earlier."""
        if self.kind == "comm":
            return ("comm",)
        if self.kind != "overlay":
            return "backend", self.kind
        return ("overlay", "overlay-cpu") if self.base == "cpu" else ("overlay",)

    def write(self, folder: Path) -> None:
        """Write all files into a new folder; OSError where that can't be."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Made aside and moved, so that a full disk leaves no half of a project.
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as aside:
            made = Path(aside) / "project"
            for path, text in self.files().items():
                file = made / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8", newline="\n")
            shutil.move(made, folder)

    def files(self) -> dict[PurePosixPath, str]:
        """The text of each file."""
        values = self._values()
        made: dict[PurePosixPath, str] = {}
        if self.kind != "comm":
            made[PurePosixPath("PRIMITIVES.md")] = PAGE.read_text("utf-8")
        for layer in self.layers:
            for template in sorted((TEMPLATES / layer).rglob(f"*{SUFFIX}")):
                path = self._path(template.relative_to(TEMPLATES / layer))
                text = Template(template.read_text("utf-8"))
                if path.stem == FAMILY:
                    for family in families():
                        own = path.with_stem(family.module)
                        made[own] = text.substitute(values, **family.values())
                else:
                    made[path] = text.substitute(values)
        return made

    def _path(self, template: Path) -> PurePosixPath:
        parts = [
            self.package if part == "PACKAGE" else re.sub(r"^dot-", ".", part)
            for part in template.parts
        ]
        return PurePosixPath(*parts[:-1], parts[-1].removesuffix(SUFFIX))

    def _values(self) -> dict[str, str]:
        modules = sorted(family.module for family in families())
        values = {
            "api": str(API),
            "base": self.base,
            "Class": "".join(word.capitalize() for word in self.name.split("_")),
            "distribution": self.distribution,
            "from_library": str(not self.bare),
            "generated": "frozenset()" if self.bare else "None",
            "modules": "".join(f"    {module},\n" for module in modules),
            "name": self.name,
            "package": self.package,
            "quoted_modules": "".join(f'    "{m}",\n' for m in sorted([*modules, "find"])),
            "tensorbus": __version__,
            "untested": _next_minor(__version__),
        }
        parts = tomllib.loads((TEMPLATES / self.layers[-1] / PARTS).read_text("utf-8"))
        texts = {"files": parts["files"], **parts["bare" if self.bare else "whole"]}
        return values | {k: Template(v.strip()).substitute(values) for k, v in texts.items()}


def _next_minor(version: str) -> str:
    """The first release that a plugin written today can't have been tested with."""
    major, minor, *_ = version.split(".")
    return f"{major}.{int(minor) + 1}"


@dataclass(frozen=True, slots=True)
class Family:
    """A chapter of the primitives' page: its title and, for each primitive, dtypes and text."""

    title: str
    primitives: dict[str, tuple[str, str]]

    @property
    def module(self) -> str:
        """The name of its Python file."""
        return self.title.lower()

    def values(self) -> dict[str, str]:
        """What the template of a family's file needs."""
        stubs = [stub(name, *about) for name, about in self.primitives.items()]
        typed = any(PARAMETERS.get(p) == "Any" for n in self.primitives for p in parameters(n))
        return {
            "title": self.title,
            "imports": "from typing import Any\n\n" if typed else "",
            "stubs": "\n\n\n".join(stubs),
        }


def families() -> Iterator[Family]:
    """The primitives by chapter, from the page that specifies them."""
    for chapter in re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M)[1:]:
        found = re.findall(
            r"^### (\w+)\n\n`.*?`\n\nDtypes: (.*?)\n\n(.*?)\s*(?=^###|\Z)", chapter, re.M | re.S
        )
        primitives = {name: (dtypes, text) for name, dtypes, text in found if name in SIGNATURES}
        if primitives:
            yield Family(chapter.partition("\n")[0], primitives)


def parameters(name: str) -> list[str]:
    """The parameters of a primitive, as its signature spells them."""
    return SIGNATURES[name].strip("()").split(", ")


def stub(name: str, dtypes: str, text: str) -> str:
    """A function without body that says what a primitive takes and gives."""
    typed = []
    for parameter in parameters(name):
        plain, equals, default = parameter.partition("=")
        typed.append(
            f"{plain}: {PARAMETERS.get(parameter, 'Array')}{f' = {default}' if equals else ''}"
        )
    paragraphs = [" ".join(text.split()), f"Dtypes: {dtypes}"]
    wrapped = "\n\n".join(textwrap.fill(paragraph, 92) for paragraph in paragraphs)
    doc = textwrap.indent(wrapped, "    ")
    return (
        f"@unwritten\ndef {name}({', '.join(typed)}) -> Array:\n"
        f'    """{doc.strip()}\n    """\n    raise NotImplementedError'
    )
