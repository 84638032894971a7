"""What is on disk is in the wheel, and what the metadata promises exists."""

from __future__ import annotations

import ast
import email
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import (
    EntryPoints,
    PackageNotFoundError,
    packages_distributions,
    requires,
)
from pathlib import Path

import pytest

from tensorbus.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
BACKENDS = PROJECT["project"]["entry-points"]["tensorbus.backends"]


def packages_on_disk() -> list[str]:
    patterns = ("core/*", "backends/*/*", "comm_plugins/*/*", "conformance/*")
    return sorted(
        str(p.relative_to(ROOT).as_posix())
        for pattern in patterns
        for p in ROOT.glob(pattern)
        if (p / "__init__.py").exists()
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("building the wheel needs hatchling (extra `test`)")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


def metadata_file(wheel: zipfile.ZipFile, name: str) -> str:
    return wheel.read(f"tensorbus-{__version__}.dist-info/{name}").decode()


def test_every_package_on_disk_is_listed_and_every_listed_one_exists():
    assert sorted(PACKAGES) == packages_on_disk()


def test_the_wheel_holds_every_file_on_disk_and_no_other(wheel):
    on_disk = {
        f"{Path(package).name}/{file.relative_to(ROOT / package).as_posix()}"
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    in_wheel = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert in_wheel == on_disk


def test_the_wheel_is_pure_and_named_for_any_platform(wheel):
    assert Path(wheel.filename).name == f"tensorbus-{__version__}-py3-none-any.whl"
    assert "Root-Is-Purelib: true" in metadata_file(wheel, "WHEEL")


def test_the_metadata_is_complete(wheel):
    metadata = email.message_from_string(metadata_file(wheel, "METADATA"))
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert "The tensorbus authors" in metadata_file(wheel, "licenses/LICENSE")
    assert metadata["Description-Content-Type"] == "text/markdown"
    needed = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    names = {re.match(r"[\w-]+", r)[0].replace("-", "_") for r in needed}
    assert names == {"ml_dtypes", "numpy", "pluggy", "rich"}
    extras = "demo tensorboard opencl opencl-cpu cuda12 cuda13 cuda-host mpi test bench docs all"
    assert set(metadata.get_all("Provides-Extra", [])) == set(extras.split())


def test_types_are_announced(wheel):
    assert "tensorbus/py.typed" in wheel.namelist()


def test_every_backend_folder_has_an_entry_point_and_every_entry_a_folder():
    folders = {Path(p).name for p in PACKAGES if p.startswith("backends/")}
    # The suite's devices without hardware lie in its own package.
    devices = {v for v in BACKENDS.values() if v.startswith("tensorbus_conformance.devices.")}
    assert set(BACKENDS.values()) - devices == folders


def test_every_entry_point_of_the_wheel_leads_to_a_file_in_it(wheel):
    entries = EntryPoints._from_text(metadata_file(wheel, "entry_points.txt"))
    assert {e.name for e in entries if e.group == "console_scripts"} == {
        "tensorbus",
        "tensorbusrun",
    }
    names = set(wheel.namelist())
    for entry in entries:
        path = entry.module.replace(".", "/")
        assert {f"{path}.py", f"{path}/__init__.py"} & names, entry


@pytest.mark.parametrize("name", sorted(BACKENDS))
def test_a_spec_says_what_its_entry_point_says(name):
    spec = importlib.import_module(BACKENDS[name]).tensorbus_backend()
    assert spec.name == name
    extras = PROJECT["project"]["optional-dependencies"]
    for extra in re.findall(r"tensorbus\[([\w-]+)\]", spec.install):
        assert extra in extras
    offered = {re.match(r"[\w-]+", r)[0] for rs in extras.values() for r in rs}
    offered |= {re.match(r"[\w-]+", r)[0] for r in PROJECT["project"]["dependencies"]}
    for needed in spec.requires:
        assert any(o == needed or o.startswith(f"{needed}-") for o in offered), needed


def test_the_unpacked_wheel_runs_by_itself(wheel, tmp_path):
    wheel.extractall(tmp_path)
    program = (
        "import tensorbus; from tensorbus import discovery; print(tensorbus.__file__);"
        "print(*discovery.backend_names()); print(discovery.backend('cpu').device_count())"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    file, names, count = done.stdout.splitlines()
    assert Path(file).is_relative_to(tmp_path)
    assert names.split() == sorted({*BACKENDS, "meta"}) and count == "1"


def _imported_outright(file: Path) -> set[str]:
    """The packages that a file of tests imports at its top, without which none of it runs."""
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _named(requirements: Iterable[str]) -> set[str]:
    """The distributions of requirements that hold without an extra."""
    plain = (each for each in requirements if "extra ==" not in each)
    return {re.split(r"[^\w.-]", each)[0].lower().replace("_", "-") for each in plain}


def test_what_tests_import_is_in_an_extra_that_they_ask_for() -> None:
    """Not brought by PyTorch alone, which is where the answers are recorded and no one else's."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["test"], *extras["demo"], *extras["cuda-host"]]
    declared = _named(asked)
    for name in sorted(declared):
        with suppress(PackageNotFoundError):  # of an extra that is not installed
            declared |= _named(requires(name) or [])
    brought = packages_distributions()
    missing = {
        f"{file.relative_to(ROOT)}: {package}"
        for file in (ROOT / "tests").rglob("test_*.py")
        for package in _imported_outright(file) & set(brought)
        if package != "tensorbus" and not package.startswith("tensorbus_")
        and not declared & {name.lower().replace("_", "-") for name in brought[package]}
    }  # fmt: skip
    assert not missing


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == __version__
