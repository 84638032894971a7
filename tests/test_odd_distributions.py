"""Distributions with odd metadata, names that are taken, libraries that are missing."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tensorbus
from tensorbus import discovery
from tensorbus.cli import devices, main
from tensorbus.discovery.metadata import BACKENDS, COMMANDS, COMMS, OVERLAYS

BACKEND = """
from tensorbus.plugin import Backend, BackendSpec, hookimpl

class Mine(Backend):
    name = "{name}"
    def device_count(self):
        return 1

@hookimpl
def tensorbus_backend():
    return BackendSpec("{name}", load=Mine)
"""


def unreadable() -> dict[str, str]:
    return {r.name: str(r.exception) for r in discovery.records("")}


# -- metadata --------------------------------------------------------------------------------
@pytest.mark.parametrize("left", [None, "Metadata-Version: 2.1\n", "Name:\n"])
def test_a_distribution_without_metadata_or_name_is_a_record(install, left, capsys, monkeypatch):
    folder = install("acme-npu", {BACKENDS: {"npu": "acme_npu"}})
    (metadata,) = folder.glob("*/METADATA")
    if left is None:
        metadata.unlink()
    else:
        metadata.write_text(left)
    assert "cpu" in discovery.backend_names() and "npu" not in discovery.backend_names()
    ((name, text),) = unreadable().items()
    assert "acme_npu-1.0.dist-info" in name and "name" in text.lower()
    assert tensorbus.ones(2).sum().item() == 2.0
    monkeypatch.setattr(devices, "ask_each", lambda *_: [])
    rows = devices.rows(devices.answers(240.0))
    assert [row[3] for row in rows if row[0] == name] == ["not usable"]
    assert main(["doctor"]) == 0
    assert "acme_npu-1.0.dist-info" in capsys.readouterr().out


def test_a_distribution_without_version_is_used(install):
    folder = install("acme-npu", {BACKENDS: {"npu": "m"}}, {"m": BACKEND.format(name="npu")})
    (metadata,) = folder.glob("*/METADATA")
    metadata.write_text("Metadata-Version: 2.1\nName: acme-npu\n")
    assert discovery.backend("npu").device_count() == 1
    (record,) = [r for r in discovery.records(BACKENDS) if r.name == "npu"]
    assert record.owner == "acme-npu"


@pytest.mark.parametrize("name", ["my npu", "npu:0", "npu,dsp", "1npu", "ñpu"])
def test_an_entry_that_nobody_could_ask_for_is_a_record(install, name):
    # Entry points know no quoting: a colon ends a name, so it is written with another one.
    install("acme-npu", f"[{BACKENDS}]\n{name} = acme_npu\n")
    assert name not in discovery.backend_names() and "cpu" in discovery.backend_names()
    with pytest.raises(RuntimeError) as caught:
        tensorbus.device("xyz")
    assert name not in str(caught.value)
    ((shown, text),) = unreadable().items()
    assert shown == name and "has a name that can't be asked for" in text


# -- a name of ours --------------------------------------------------------------------------
@pytest.fixture
def second_cpu(install):
    install("acme-cpu", {BACKENDS: {"cpu": "acme_cpu"}}, {"acme_cpu": BACKEND.format(name="cpu")})


def test_ours_stays_in_charge_and_says_so_once(second_cpu):
    said = "is tensorbus' own, but acme-cpu 1.0 claims that name too and is left out"
    with pytest.warns(UserWarning, match=said) as caught:
        discovery.check_name("cpu")
    assert caught[0].filename == __file__ and "uninstall acme-cpu" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(discovery.backend("cpu")).__module__.startswith("tensorbus_cpu_numpy")
    assert "acme_cpu" not in sys.modules


def test_both_are_rows_of_the_devices(second_cpu):
    rows = [r for r in devices.rows(devices.answers(240.0)) if r[0].partition(":")[0] == "cpu"]
    assert [r[3] for r in rows] == ["usable", "left out"]
    assert rows[0][2].startswith("tensorbus") and rows[1][2] == "acme-cpu 1.0"
    assert "uninstall acme-cpu" in rows[1][6]


def test_the_other_can_be_chosen_by_its_distribution(second_cpu, monkeypatch):
    monkeypatch.setenv("TENSORBUS_PLUGINS", "distribution:Acme_CPU")
    assert type(discovery.backend("cpu")).__module__ == "acme_cpu"


def test_the_variable_names_all_plugins_of_a_distribution(install, monkeypatch):
    entries = {BACKENDS: {"npu": "m"}, OVERLAYS: {"fast": "m"}, COMMS: {"wire": "m"}}
    install("acme-npu", entries)
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu, distribution:acme-npu")
    assert discovery.backend_names() == ["cpu", "meta", "npu"]
    assert discovery.overlay_names() == ["fast"] and discovery.comm_names() == ["wire"]


def test_one_that_only_calls_itself_ours_is_not(install):
    for name in ("tensorbus-npu", "acme-npu"):
        install(name, {BACKENDS: {"npu": "m"}})
    with pytest.raises(RuntimeError, match="claimed by 2 distributions"):
        discovery.check_name("npu")


# -- overlays --------------------------------------------------------------------------------
@pytest.mark.parametrize("source", ["raise OSError('gone')", "import sys; sys.exit('gone')"])
def test_a_broken_overlay_costs_one_warning_that_is_seen(install, source):
    folder = install("acme-fast", {OVERLAYS: {"fast": "acme_fast"}}, {"acme_fast": source})
    program = (
        "import tensorbus as t\nx = t.ones(2)\n(x + 1).exp()\n(x * 2).sum()\nprint('done')\n"
        "t.ones(2, dtype=t.int64) + 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr.count("overlay 'fast' of acme-fast 1.0 can't be used") == 1
    assert "gone" in done.stderr and "Warning" in done.stderr


# -- what is missing -------------------------------------------------------------------------
def declare(folder: Path, *requirements: str) -> None:
    (metadata,) = folder.glob("*/METADATA")
    lines = "".join(f"Requires-Dist: {r}\n" for r in requirements)
    metadata.write_text(metadata.read_text() + lines)


@pytest.mark.parametrize(
    ("requirements", "remedy"),
    [
        (['No_Such-npu>=1; extra == "npu"'], "pip install 'acme-cli[npu]'"),
        (
            ["numpy", "other; extra=='x'", "no-such-npu (>1) ; python_version>'3' and extra=='t'"],
            "pip install 'acme-cli[t]'",
        ),
        (["no-such-npu-cuda12[ctk]; extra == 'cuda12'", "no.such.npu-cuda13; extra == 'cuda13'"],
         "pip install 'acme-cli[cuda12]' or pip install 'acme-cli[cuda13]'"),
        (["no-such-npu>=2"], "pip install 'no-such-npu>=2'"),
        (["no-such; extra == 'x'", "no-such-npus; extra == 'y'"], "reinstall or remove acme-cli"),
        ([], "reinstall or remove acme-cli"),
    ],
)  # fmt: skip
def test_a_missing_module_names_the_extra_that_brings_it(install, requirements, remedy, capsys):
    source = "import no_such_npu.deep"
    folder = install("acme-cli", {COMMANDS: {"hello": "acme_cli"}}, {"acme_cli": source})
    declare(folder, *requirements)
    assert main(["hello"]) == 2
    said = capsys.readouterr().err
    assert "No module named 'no_such_npu'" in said
    assert said.endswith(f"What to do: {remedy}\n")


def test_the_suite_without_scipy_names_the_extra_that_brings_it():
    """As in an environment that has the demo's extra alone."""
    program = (
        "import sys; sys.modules['scipy'] = None\n"
        "from tensorbus.cli import main; sys.exit(main(['conformance', 'cpu']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "scipy" in done.stderr and "What to do: pip install " in done.stderr
    assert "'tensorbus[test]'" in done.stderr or "'scipy>=" in done.stderr
