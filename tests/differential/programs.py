"""A program: lines of Python that two libraries run, and what each line is seen to do."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

from tests.differential.seen import Seen, see


@dataclass
class Program:
    """Statements over ``torch`` and what earlier ones assigned.

    A statement assigns one name, or changes the tensor that its expression begins with. What it
    assigned or changed is seen after it; all names are seen once more at the end.
    """

    family: str
    seed: int
    lines: list[str] = field(default_factory=list)

    def script(self) -> str:
        """A program that runs under either library and shows every name."""
        names = dict.fromkeys(filter(None, map(told, self.lines)))
        shown = [f"print({name!r}, {name})" for name in names]
        return "\n".join(
            [f"# {self.family}, seed {self.seed}", "import torch", *self.lines, *shown]
        )


class Run:
    """A program in one library: runs line by line and keeps what was seen."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.names: dict[str, Any] = {"torch": library}
        self.seen: list[Seen] = []
        self.writes = False
        self.first_versions: dict[str, int] = {}

    def line(self, text: str) -> Seen:
        """Runs one statement; an exception of it is what is seen."""
        self.writes = " = " not in text or "] = " in text
        try:
            exec(_compiled(text), self.names)
            name = told(text)
            seen = self.see(name) if name in self.names else Seen("none")
        except Exception as error:
            seen = Seen.of_error(error)
        self.seen.append(seen)
        return seen

    def see(self, name: str) -> Seen:
        """The name's value; of its version, whether it was written to since it had the name."""
        try:
            seen = see(self.names[name], self.library, name)
        except Exception as error:  # such as of views of a split that were written to
            return Seen.of_error(error)
        if seen.kind == "tensor" and seen.facts is not None:
            version = seen.facts.pop("writes")
            seen.facts["written"] = version != self.first_versions.setdefault(name, version)
        return seen

    def end(self) -> list[Seen]:
        """All that was seen, and each name as it is now, unless a write has failed half way."""
        if self.seen and self.seen[-1].kind == "error" and self.writes:
            return self.seen
        for name in list(self.names):
            if name != "torch" and not name.startswith("__"):
                self.seen.append(self.see(name))
        return self.seen


def run(program: Program, library: Any) -> list[Seen]:
    """What *program* is seen to do in *library*."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = Run(library)
        for text in program.lines:
            running.line(text)
        return running.end()


@lru_cache(4096)
def _compiled(text: str) -> CodeType:
    return compile(text, "<program>", "exec")


@lru_cache(4096)
def told(text: str) -> str:
    """The name that a statement assigns or changes."""
    node: ast.AST = ast.parse(text).body[0]
    if isinstance(node, (ast.Assign, ast.Delete)):
        node = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        node = node.target
    elif isinstance(node, ast.With):
        return told(ast.unparse(node.body[0]))
    elif isinstance(node, ast.Expr):
        node = node.value
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return ""
    return "" if node.id == "torch" else node.id


@lru_cache(4096)
def read(text: str) -> frozenset[str]:
    """The names that a statement uses."""
    return frozenset(n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name))
