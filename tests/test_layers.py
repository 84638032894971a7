"""The layers of the core: a module imports, at run time, from its own layer and from those below.

Imports inside functions count: they run too. Imports for type checkers alone do not.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[1] / "core"

LAYERS = (
    ("_base", "version", "utils.hooks", "return_types"),
    ("plugin",),
    ("discovery", "_device"),
    ("rows",),
    ("_dispatch",),
    ("graph",),
    (
        "_tensor",
        "autograd.node",
        "autograd.several_results",
        "autograd.grad_mode",
        "autograd.early",
    ),
    ("op_engine", "_C", "storage", "autograd.packing"),
    ("autograd",),
    ("ops.families", "ops", "random"),
    ("",),  # the package itself: the ops' public names
    (
        "*",
        "autograd.functional",
        "autograd.profiler",
        "autograd.strict_mode",
    ),  # nn, optim, distributed and the rest, which use the public names
)
"""From the lowest to the highest, each by the rooms or modules that it holds."""

FAMILIES = (
    "creation",
    "views",
    "joining",
    "matmul",
    "indexing",
    "pointwise",
    "reduce",
    "random",
    "linalg",
    "fft",
)
"""The families of ops in the order in which one may use another: each those before it."""
LAST_FAMILIES = {"nn", "tensor"}

LARGEST_CIRCLE = 3


def modules() -> dict[str, Path]:
    found = {}
    for file in (CORE / "tensorbus").rglob("*.py"):
        parts = file.relative_to(CORE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = modules()


def module_of(name: str) -> str:
    """The module that a dotted name lies in: itself, or what defines it."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything in a module but what stands under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from _statements(other)
        else:
            yield child
            yield from _statements(child)


def imports_of(file: Path) -> set[str]:
    """The modules of the core that a file imports when it runs."""
    found = set()
    for node in _statements(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {module_of(name) for name in found if name.split(".")[0] == "tensorbus"}


@functools.cache
def graph() -> dict[str, set[str]]:
    """What each module imports; read once, and by no process that runs none of these tests."""
    return {name: imports_of(file) - {name} for name, file in MODULES.items()}


def layer_of(module: str) -> int:
    """The index of a module's layer: that of the longest name that it lies under."""
    name = module.removeprefix("tensorbus").removeprefix(".")
    if not name:
        return next(i for i, names in enumerate(LAYERS) if "" in names)
    while name:
        for i, names in enumerate(LAYERS):
            if name in names:
                return i
        name = name.rpartition(".")[0]
    return len(LAYERS) - 1


def circles() -> list[set[str]]:
    """The sets of modules that reach each other by imports (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in sorted(graph()[module]):
            if other not in order:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == order[module]:
            circle = set(stack[stack.index(module) :])
            del stack[stack.index(module) :]
            found.append(circle)

    for module in sorted(graph()):
        if module not in order:
            visit(module)
    return [c for c in found if len(c) > 1]


def test_imports_go_down_the_layers():
    upwards = [
        f"{module} imports {other}"
        for module, others in sorted(graph().items())
        for other in sorted(others)
        if layer_of(other) > layer_of(module)
    ]
    assert upwards == []


def test_no_circle_of_modules_is_larger():
    assert [sorted(c) for c in circles() if len(c) > LARGEST_CIRCLE] == []


def family_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[:2] == ["tensorbus", "ops"] and len(parts) > 3 else None


def test_families_use_only_those_before_them():
    folders = {p.name for p in (CORE / "tensorbus" / "ops").iterdir() if p.is_dir()}
    assert folders - {"__pycache__"} == {*FAMILIES, *LAST_FAMILIES}
    wrong = []
    for module, others in sorted(graph().items()):
        own = family_of(module)
        if own is None:
            continue
        before = FAMILIES[: FAMILIES.index(own)] if own in FAMILIES else FAMILIES
        wrong += [
            f"{module} imports {other}"
            for other in sorted(others)
            if family_of(other) not in (None, own, *before)
        ]
    assert wrong == []


@pytest.mark.parametrize("layer", [n for names in LAYERS for n in names if n not in ("", "*")])
def test_every_name_of_a_layer_exists(layer):
    assert f"tensorbus.{layer}" in MODULES


def test_what_waits_until_it_is_touched_is_what_the_modules_declare():
    program = "from tensorbus._tools.later import text; print(text(), end='')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = (CORE / "tensorbus" / "ops" / "later.py").read_text("utf-8")
    assert found == done.stdout, "run scripts/stubs"
