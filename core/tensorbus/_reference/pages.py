"""The page of a public function or class: its docstring, then shapes, dtypes, errors, an example.

What stands below the docstring comes from ``examples.txt``, which ``scripts/examples`` writes: all
of it was executed. Nothing imports this module before somebody reads a page.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("examples.txt")

HEADER = ["import tensorbus as torch"]
OF_RANKS = [*HEADER, "import tensorbus.distributed as dist", 'dist.init_process_group("gloo")']
"""What stands before an example, and before one that several ranks run."""

_CATEGORIES = {"integer": "integers", "float": "floating point"}
_RESULTS = {"default": "the default dtype", "real": "the real dtype"}
_FAULTS = {
    "tensor": "where {} is not a tensor",
    "operand": "where {} is neither a tensor nor a number",
    "dim": "where {} is out of range",
    "shapes": "where the shapes do not broadcast",
}


@dataclass
class Entry:
    """What ``examples.txt`` has about one name."""

    name: str
    lines: list[str] = field(default_factory=list)
    """The example, with what it prints."""
    facts: dict[str, str] = field(default_factory=dict)
    """What calls of it have shown: ``shapes``, ``dtypes``, ``errors``. And on how many ``ranks``
    its example runs, where that is more than one process."""

    @property
    def statements(self) -> list[str]:
        """The example without what it prints."""
        return [line[4:] for line in self.lines if line.startswith(">>> ")]


@functools.cache
def entries() -> dict[str, Entry]:
    """All that the file has, by name."""
    found = {}
    for block in FILE.read_text("utf-8").split("\n\n"):
        name, *lines = block.strip("\n").split("\n")
        facts = dict(line[1:].split(" ", 1) for line in lines if line[0] == "@")
        found[name] = Entry(name, [line for line in lines if line[0] != "@"], facts)
    return found


def page(names: list[str], source: str) -> str:
    """The whole text for what users find under *names*; *source* is its docstring."""
    own = inspect.cleandoc(source)
    entry = next((entries()[name] for name in names if name in entries()), None)
    if entry is None:
        return own
    parts = [own] if own else []
    parts += [text for text in (_shapes(entry), _dtypes(entry), _errors(entry)) if text]
    if ">>>" not in own:
        parts.append("\n".join([_title(entry), *(f"    {line}" for line in _example(entry))]))
    return "\n\n".join(parts)


def _title(entry: Entry) -> str:
    ranks = entry.facts.get("ranks")
    return f"Example, on {ranks} ranks, with what the last one prints:" if ranks else "Example:"


def _example(entry: Entry) -> list[str]:
    header = OF_RANKS if "ranks" in entry.facts else HEADER
    return [*(f">>> {line}" for line in header), *entry.lines]


def _shapes(entry: Entry) -> str:
    rule, _, names = entry.facts.get("shapes", "").partition(" ")
    if rule == "same":
        return f"Shapes: the result has the shape of {_stars(names)}."
    if rule == "broadcast":
        return f"Shapes: {_stars(names)} broadcast; the result has the common shape."
    if rule == "reduced":
        return "Shapes: a dimension that is reduced is left out, or of size 1 where *keepdim*."
    if rule == "example":
        given, _, result = names.partition(" -> ")
        return f"Shapes: {given} gives {result} in the example."
    return ""


def _dtypes(entry: Entry) -> str:
    taken = [part.partition(":") for part in entry.facts.get("dtypes", "").split()]
    if not taken:
        return ""
    text = "Dtypes: " + _listed([_CATEGORIES.get(name, name) for name, _, _ in taken])
    results: dict[str, list[str]] = {}
    for name, _, result in taken:
        if result:
            results.setdefault(result, []).append(_CATEGORIES.get(name, name))
    for result, names in results.items():
        of = "" if len(names) == len(taken) else f" for {_listed(names)}"
        text += f"; the result has {_RESULTS.get(result, 'dtype ' + result)}{of}"
    return text + "."


def _errors(entry: Entry) -> str:
    told = []
    for part in entry.facts.get("errors", "").split("; "):
        error, *rest = part.split(" ")
        if rest:
            told.append(f"{error} {_FAULTS[rest[0]].format(_stars(' '.join(rest[1:]), 'or'))}")
    return f"Errors: {'; '.join(told)}." if told else ""


def _stars(names: str, last: str = "and") -> str:
    return _listed([f"*{name}*" for name in names.split()], last)


def _listed(parts: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
