"""The components and the one wheel that holds them say the same: files, entry points, needs."""

from __future__ import annotations

import email
import importlib.util
import inspect
import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest

from tensorbus import cli, discovery
from tensorbus.discovery.metadata import BACKENDS, COMMS
from tensorbus.plugin import API
from tensorbus.version import __version__

ROOT = Path(__file__).parents[1]
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS = [Path(p).parent for p in WHOLE["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
FILES = {f.as_posix(): tomllib.loads((ROOT / f / "pyproject.toml").read_text()) for f in FOLDERS}
PROJECTS = {file["project"]["name"]: file["project"] for file in FILES.values()}
CORE = "tensorbus-core"
OURS = WHOLE["project"]["authors"][0]["name"]

EXTRAS = {
    "demo": [(CORE, "demo")],
    "tensorboard": [(CORE, "tensorboard")],
    "opencl": [("tensorbus-opencl", "")],
    "opencl-cpu": [("tensorbus-opencl", ""), ("tensorbus-opencl", "cpu")],
    "cuda12": [("tensorbus-cuda", "cuda12"), ("tensorbus-comm-nccl", "cuda12")],
    "cuda13": [("tensorbus-cuda", "cuda13"), ("tensorbus-comm-nccl", "cuda13")],
    "mpi": [("tensorbus-comm-mpi", ""), ("tensorbus-comm-mpi", "mpich")],
}
"""What an extra of the whole brings: the needs of a component, or of an extra of it."""

DEVELOPMENT = {"test", "bench", "docs", "all", "cuda-host"}
"""Extras of the whole that are for work on the repository."""


def needs(component: str, extra: str = "") -> set[str]:
    """The requirements of a component, or of one of its extras, but for other components."""
    project = PROJECTS[component]
    listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {r for r in listed if not r.startswith("tensorbus")}


ALWAYS = needs(CORE) | needs("tensorbus-cpu")
"""What the whole brings without an extra: the device ``cpu`` is the default."""


def entry_points(project: dict) -> set[tuple[str, str, str]]:
    groups = {**project.get("entry-points", {}), "console_scripts": project.get("scripts", {})}
    return {(group, *entry) for group, entries in groups.items() for entry in entries.items()}


# -- the same facts --------------------------------------------------------------------------
def test_each_package_has_a_component_around_it():
    assert len(PROJECTS) == len(FOLDERS) == 9
    found = sorted(p.parent for p in ROOT.glob("*/pyproject.toml"))
    found += sorted(p.parent for p in ROOT.glob("*/*/pyproject.toml") if p.parts[-3] != "plugins")
    assert {p.relative_to(ROOT) for p in found} == {*FOLDERS}


@pytest.mark.parametrize("folder", FILES)
def test_a_component_is_described_as_the_whole_is(folder):
    file, whole = FILES[folder], WHOLE["project"]
    project = file["project"]
    for key in ("requires-python", "license", "license-files", "authors", "classifiers"):
        assert project[key] == whole[key], key
    assert file["build-system"] == WHOLE["build-system"]
    assert project["dynamic"] == ["version"]
    version = ROOT / folder / file["tool"]["hatch"]["version"]["path"]
    assert version.resolve() == ROOT / WHOLE["tool"]["hatch"]["version"]["path"]
    assert (ROOT / folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    (package,) = file["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert Path(folder) / package in [f / p.name for f in FOLDERS for p in (ROOT / f).iterdir()]


def test_the_entry_points_are_those_of_the_whole():
    parts = [entry for project in PROJECTS.values() for entry in sorted(entry_points(project))]
    assert sorted(parts) == sorted(entry_points(WHOLE["project"]))


def test_what_the_whole_needs_is_what_the_core_and_the_device_cpu_need():
    assert {*WHOLE["project"]["dependencies"]} == ALWAYS


def test_the_extras_of_the_whole_are_the_needs_of_the_components():
    extras, always = WHOLE["project"]["optional-dependencies"], ALWAYS
    assert {*extras} == {*EXTRAS} | DEVELOPMENT
    for extra, parts in EXTRAS.items():
        wanted = set().union(*(needs(*part) for part in parts))
        assert {*extras[extra]} == wanted - always, extra
    named = set().union(*EXTRAS.values())
    for component, project in PROJECTS.items():
        for extra in project.get("optional-dependencies", {}):
            if component != "tensorbus-conformance":
                assert (component, extra) in named
    suite = PROJECTS["tensorbus-conformance"]["optional-dependencies"]
    wanted = needs("tensorbus-conformance").union(*suite.values())
    assert wanted - always <= {*extras["test"]}
    for component in PROJECTS:
        brought = set().union(
            *(needs(*p) for ps in EXTRAS.values() for p in ps if p[0] == component)
        )
        if component != "tensorbus-conformance":
            assert needs(component) <= always | brought, component


def test_a_component_needs_the_core_and_no_other():
    release = ".".join(__version__.split(".")[:2])
    for name, project in PROJECTS.items():
        ours = [r for r in project["dependencies"] if r.startswith("tensorbus")]
        match name:
            case "tensorbus-core":
                assert ours == []
            case "tensorbus-conformance":  # it looks behind the contract: of one release
                assert ours == [f"tensorbus-core=={release}.*"]
            case _:
                assert ours == ["tensorbus-core>=0.1"]


PLUGINS = [
    (group, value)
    for group, entries in WHOLE["project"]["entry-points"].items()
    if group in (BACKENDS, COMMS)
    for value in entries.values()
]


@pytest.mark.parametrize(("group", "value"), PLUGINS, ids=[value for _, value in PLUGINS])
def test_a_component_says_which_contract_it_was_written_for(group, value):
    """By a number: beside a newer core, the default would claim what that one knows."""
    module = importlib.import_module(value)
    hook = module.tensorbus_backend if group == BACKENDS else module.tensorbus_comm
    assert f"api={hook().api}" in inspect.getsource(hook)
    assert hook().api == API


# -- the wheels ------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, zipfile.ZipFile]:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("building the wheels needs hatchling (extra `test`)")
    made = tmp_path_factory.mktemp("wheels")
    for folder in (Path(), *FOLDERS):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)]
        done = subprocess.run(command, cwd=ROOT / folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return {f.name.partition("-")[0].replace("_", "-"): zipfile.ZipFile(f) for f in made.iterdir()}


def inside(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
    return email.message_from_string(wheel.read(name).decode())


def test_the_wheels_of_the_components_share_out_the_whole(wheels):
    whole = inside(wheels.pop("tensorbus"))
    assert {*wheels} == {*PROJECTS}
    shared = [name for wheel in wheels.values() for name in inside(wheel)]
    assert sorted(shared) == sorted(whole)


def test_each_wheel_is_pure_and_complete(wheels):
    for name, wheel in wheels.items():
        stem = f"{name.replace('-', '_')}-{__version__}"
        assert Path(wheel.filename).name == f"{stem}-py3-none-any.whl"
        assert b"Root-Is-Purelib: true" in wheel.read(f"{stem}.dist-info/WHEEL")
        assert wheel.read(f"{stem}.dist-info/licenses/LICENSE")
        found = metadata(wheel)
        assert (found["Name"], found["Version"]) == (name, __version__)
        assert found["Summary"] and found["License-Expression"] == "BSD-3-Clause"
        assert len(found.get_payload()) > 100 and found["Description-Content-Type"]
        if name in PROJECTS:
            text = wheel.read(f"{stem}.dist-info/entry_points.txt").decode()
            entries = {(e.group, e.name, e.value) for e in EntryPoints._from_text(text)}
            assert entries == entry_points(PROJECTS[name])


# -- two installations in one environment ------------------------------------------------------
def test_a_component_beside_the_whole_counts_once(install):
    for name in ("tensorbus", "tensorbus-opencl"):
        install(name, {BACKENDS: {"opencl": "tensorbus_opencl"}}, version="9.9")
    (record,) = [r for r in discovery.records(BACKENDS) if r.name == "opencl"]
    assert record.owner == "tensorbus 9.9"
    discovery.check_name("opencl")


def test_a_component_of_another_version_is_an_error_that_says_what_to_do(install):
    install("tensorbus", {BACKENDS: {"opencl": "tensorbus_opencl"}}, version="9.9", author=OURS)
    install(
        "tensorbus-opencl", {BACKENDS: {"opencl": "tensorbus_opencl"}}, version="9.8", author=OURS
    )
    text = (
        "'opencl' of tensorbus.backends is claimed by 2 distributions, tensorbus 9.9 and "
        "tensorbus-opencl 9.8: all hold the module tensorbus_opencl, so their files are mixed; "
        "uninstall all of them, then install one"
    )
    with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
        discovery.check_name("opencl")


def test_a_stranger_with_the_name_of_ours_is_no_component(install):
    install("tensorbus", {BACKENDS: {"opencl": "tensorbus_opencl"}})
    install("tensorbus-faster", {BACKENDS: {"opencl": "tensorbus_faster"}})
    with pytest.warns(UserWarning, match="'opencl' of .* is tensorbus' own, but tensorbus-faster"):
        discovery.check_name("opencl")
    assert [r.distribution for r in discovery.displaced([BACKENDS])] == ["tensorbus-faster"]


def test_doctor_tells_of_the_whole_beside_the_core(install, capsys):
    install("tensorbus", {}, version=__version__)
    assert cli.main(["doctor"]) == 0
    assert "mixed" not in capsys.readouterr().out
    install("tensorbus-core", {}, version=__version__)
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert f"  tensorbus-core: {__version__}\n" in out
    assert "mixed: the distribution tensorbus holds all that tensorbus-core" in out


# -- parts missing -----------------------------------------------------------------------------
@pytest.fixture
def only(monkeypatch, fresh_discovery):
    """``only(names)``: these backends and no command are installed."""

    def choose(*names: str) -> None:
        loader = discovery._get()
        loader._records = [r for r in loader.list_records(BACKENDS) if r.name in names]

    return choose


def test_without_cpu_the_words_say_what_it_is_for(only):
    only("opencl", "cuda")
    text = (
        "the device 'cpu' is not installed: it is the default, prints the tensors of other "
        "devices, and runs the ops that they lack. Install it with 'pip install tensorbus-cpu', "
        "or name another device: cuda, opencl"
    )
    with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
        discovery.backend("cpu")


def test_without_any_device_the_words_say_how_to_get_one(only):
    only()
    with pytest.raises(RuntimeError, match="none is installed at all: 'pip install tensorbus-cpu'"):
        discovery.backend("cpu")


def test_without_the_suite_its_command_says_where_it_comes_from(only, capsys):
    only("cpu")
    assert cli.main(["conformance", "cpu"]) == 2
    assert "'pip install tensorbus-conformance' brings it" in capsys.readouterr().err
