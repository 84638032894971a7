"""The rooms' arrows run one way: who may import whom, which words may stand where, and how long a
file may be. All by looking at the files, so a new file is judged on the day it is written.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "tensorbus"
CONFORMANCE = ROOT / "conformance" / "tensorbus_conformance"
PLUGINS = sorted(
    p
    for pattern in ("backends/*/tensorbus_*", "comm_plugins/*/tensorbus_*")
    for p in ROOT.glob(pattern)
    if p.is_dir()
)
OTHER_DEVICE = re.compile(r"(opencl|mps|xpu|hip|rocm)(:\d+)?")
VENDOR = re.compile(r"(?<![a-z])(cupy|pyopencl|mpi4py|nccl)", re.IGNORECASE)
HERE = Path(__file__)
OTHER_DEVICES = CORE / "_base" / "device_types.py"
"""The types that attributes such as ``is_mps`` ask for; what they mean is not known there."""


def tracked() -> list[Path]:
    """The repository's own files: what git knows, or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the list of the repository's files needs git and a checkout")
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


@dataclass(frozen=True)
class Facts:
    """What these tests ask of a file, from one walk through it."""

    imports: list[tuple[int, str, list[str], int]]
    """``from`` imports and others: the level, the module, the names, the line."""
    device_names: list[tuple[int, str]]
    """Names of devices besides cpu and cuda in its code, with their lines."""


@functools.cache
def facts(file: Path) -> Facts:
    found = Facts([], [])
    told = set()  # docstrings may tell of any device
    for node in ast.walk(ast.parse(file.read_text("utf-8"), str(file))):
        if isinstance(node, ast.Import):
            found.imports.extend((0, alias.name, [], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            found.imports.append((node.level, node.module or "", names, node.lineno))
        elif isinstance(node, ast.Expr):  # comes before what is in it
            told.add(node.value)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in told
            and OTHER_DEVICE.fullmatch(node.value)
        ):
            found.device_names.append((node.lineno, node.value))
    return found


def imports(file: Path, package_root: Path) -> Iterator[tuple[str, int]]:
    """Each module that *file* imports, anywhere in it, with the line."""
    package = file.relative_to(package_root.parent).with_suffix("").parts
    for level, module, names, line in facts(file).imports:
        base = ".".join((*package[:-level], *filter(None, [module]))) if level else module
        for name in names:
            yield f"{base}.{name}", line
        if not names:
            yield base, line


def offenders(root: Path, allowed: re.Pattern[str], *, outside: Sequence[Path] = ()) -> list[str]:
    """Where a file under *root* imports what is neither the standard library nor *allowed*."""
    found = []
    for file in sorted(root.rglob("*.py")):
        if any(file.is_relative_to(folder) for folder in outside):
            continue
        for module, line in imports(file, root):
            if module.split(".")[0] in sys.stdlib_module_names or allowed.match(module):
                continue
            found.append(f"{file.relative_to(ROOT)}:{line} imports {module}")
    return found


DRAWING = (CORE / "demo", CORE / "utils" / "tensorboard")


def own(package: Path) -> str:
    return rf"{package.name}(\.|$)"


# -- imports ---------------------------------------------------------------------------------
def test_the_core_imports_no_plugin_and_no_vendor_library():
    allowed = re.compile(r"(tensorbus|numpy|pluggy|rich)(\.|$)")
    assert offenders(CORE, allowed, outside=DRAWING) == []


def test_what_draws_may_import_matplotlib_besides():
    allowed = re.compile(r"(tensorbus|numpy|rich|matplotlib)(\.|$)")
    for folder in DRAWING:
        assert offenders(folder, allowed) == []


def test_what_plugins_import_knows_nothing_of_the_frontend():
    allowed = re.compile(r"(tensorbus\.plugin|tensorbus\._base|plugin|numpy|pluggy)(\.|$)")
    assert offenders(CORE / "plugin", allowed) == []


@pytest.mark.parametrize("package", PLUGINS, ids=lambda p: p.name)
def test_a_plugin_imports_tensorbus_plugin_numpy_and_its_own_library(package):
    vendor = {
        "cpu_numpy": "(ml_dtypes|scipy)",  # SciPy where it is installed
        "cuda_cupy": "cupy",
        "mpi": "(mpi4py|cupy)",
        "nccl": "cupy",
        "opencl": "pyopencl",
    }.get(package.parent.name)
    names = [r"tensorbus\.plugin(\.|$)", r"numpy(\.|$)", own(package)]
    if vendor:
        names.append(rf"{vendor}(\.|$)")
    assert offenders(package, re.compile("|".join(names))) == []


def test_the_suite_imports_the_public_api_and_no_plugin():
    # A private module of the core has a component that begins with an underscore.
    allowed = re.compile(
        rf"tensorbus(\.(?!_)\w+)*$|(numpy|pytest|rich|scipy|hypothesis)(\.|$)|{own(CONFORMANCE)}"
    )
    assert offenders(CONFORMANCE, allowed) == []


# -- words -----------------------------------------------------------------------------------
def text_files(folder: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".py", ".toml", ".md", ".txt", ".json", ".pyi"):
            yield file, file.read_text("utf-8")


@pytest.mark.parametrize("room", ["core", "conformance"])
def test_no_vendor_word(room):
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file, text in text_files(ROOT / room)
        for number, line in enumerate(text.splitlines(), 1)
        if VENDOR.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("package", [CORE, CONFORMANCE], ids=lambda p: p.name)
def test_the_only_device_names_are_cpu_and_cuda(package):
    """No code of the frontend or the suite decides anything by the name of another device."""
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name!r}"
        for file in sorted({*package.rglob("*.py")} - {OTHER_DEVICES})
        for line, name in facts(file).device_names
    ]
    assert found == []


def test_no_path_of_a_machine_and_no_registry_host():
    path = re.compile(r"(?<![\w.~])/(work|root|home|opt)/|pythonhosted|pypi\.org|download\.pytorch")
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in tracked()
        if file != HERE and file.suffix not in (".gz", ".png", ".npz", ".pt", ".zip")
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1)
        if path.search(line)
    ]
    assert found == []


# -- size ------------------------------------------------------------------------------------
def test_no_file_is_longer_than_400_lines():
    long = {
        str(file.relative_to(ROOT)): count
        for file in tracked()
        if file.suffix == ".py" and (count := len(file.read_text("utf-8").splitlines())) > 400
    }
    assert long == {}


# -- what an import brings along -------------------------------------------------------------
def loaded_after(program: str) -> set[str]:
    code = f"import sys\n{program}\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_reads_no_metadata_and_loads_no_plugin():
    loaded = loaded_after("import tensorbus, tensorbus.discovery")
    assert not loaded & {"pluggy", "rich", "importlib.metadata", "tensorbus.discovery.loader"}
    assert not [m for m in loaded if m.startswith("tensorbus_")]


def test_tensors_compute_without_what_stands_on_them():
    program = "import tensorbus as t; (t.ones(2, 3) @ t.ones(3, 2)).softmax(0).sum().item()"
    loaded = loaded_after(program)
    rooms = ("nn", "optim", "distributed", "serialization", "utils.data", "multiprocessing", "cli")
    assert not [m for m in loaded if m.startswith(tuple(f"tensorbus.{room}" for room in rooms))]
    assert not loaded & {"tensorbus.autograd.engine", "tensorbus.autograd.function"}
    with_gradient = loaded_after(f"{program}; t.ones(2, requires_grad=True).sum().backward()")
    assert "tensorbus.autograd.engine" in with_gradient


def test_bfloat16_brings_its_library_when_it_is_touched():
    program = "import tensorbus as t; x = t.ones(2) + 1; x.half()"
    assert "ml_dtypes" not in loaded_after(program)
    assert "ml_dtypes" in loaded_after(f"{program}; x.bfloat16()")


def test_reading_specs_imports_no_vendor_library():
    program = f"""
from tensorbus import discovery
names = discovery.backend_names()
import importlib
for package in {[p.name for p in PLUGINS]}:
    module = importlib.import_module(package)
    getattr(module, "tensorbus_comm" if "_comm_" in package else "tensorbus_backend")()
"""
    loaded = loaded_after(program)
    assert {p.name for p in PLUGINS} <= loaded
    assert not loaded & {"cupy", "pyopencl", "mpi4py", "torch", "scipy", "matplotlib", "ml_dtypes"}


@pytest.mark.parametrize("plugins", ["nothing-of-that-name", "kom:tcp"])
def test_nothing_is_raised_at_import_whatever_is_selected(plugins):
    done = subprocess.run(
        [sys.executable, "-c", "import tensorbus, tensorbus.nn, tensorbus.optim"],
        env={**os.environ, "TENSORBUS_PLUGINS": plugins},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
