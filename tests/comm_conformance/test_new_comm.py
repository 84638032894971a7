"""``tensorbus new-backend NAME --kind comm``: the project works before a line of it is written."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tensorbus.distributed as dist
from tensorbus import cli, discovery
from tensorbus.plugin import API
from tensorbus_conformance.comms import cases, run_comm


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project; tests do not write into it."""
    folder = tmp_path_factory.mktemp("projects") / "tensorbus-new_net"
    assert cli.main(["new-backend", "new_net", "--kind", "comm", "--path", str(folder)]) == 0
    return folder


@pytest.fixture
def installed(project, install, monkeypatch):
    """The project, installed."""
    about = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    assert about["name"] == "tensorbus-new-net"
    monkeypatch.syspath_prepend(project)
    yield install(about["name"], about["entry-points"], version=about["version"])
    for module in [m for m in sys.modules if m.partition(".")[0] == "tensorbus_new_net"]:
        del sys.modules[module]


def test_the_readme_lists_the_files_and_options_of_the_suite(project):
    readme = (project / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `([^`]+)` \|", readme, re.M)
    seen = {p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file()}
    for file in seen - {"README.md", ".gitignore", "tensorbus_new_net/py.typed"}:
        assert any(file == p or (p.endswith("/") and file.startswith(p)) for p in listed), file
    assert "PRIMITIVES.md" not in seen and "$" not in readme.replace("$(", "")
    done = subprocess.run(
        [sys.executable, "-m", "tensorbus", "conformance", "--help"], capture_output=True, text=True
    )
    workflow = (project / ".github/workflows/conformance.yml").read_text("utf-8")
    lines = re.findall(r"tensorbus (conformance [^`\n#]*)", readme + workflow)
    assert len(lines) >= 2
    for option in (word for line in lines for word in re.findall(r"(?<!\w)--?[a-z]+", line)):
        assert option in done.stdout, option


def test_the_code_is_formatted_and_typed(project, tmp_path):
    if importlib.util.find_spec("ruff") is None or importlib.util.find_spec("mypy") is None:
        pytest.skip("needs ruff and mypy (extra `test`)")
    words = [["ruff", "check", "--no-cache", "."], ["ruff", "format", "--check", "--no-cache", "."]]
    words.append(["mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "tensorbus_new_net"])
    for command in words:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=project, capture_output=True, text=True,
            env={**os.environ, "MYPYPATH": str(project)},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_found_and_names_its_contract(installed):
    spec = discovery.comm_spec("new_net")
    assert (spec.name, spec.api, spec.priority) == ("new_net", API, -1)
    assert dist.is_backend_available("new_net")


def test_it_conforms(installed):
    names = "sum-1009,max-1009,*/float32/*,C1/barrier/*,C0/recv/*,C0/group/*,C0/abort/*,C0/close/*"
    report = run_comm("new_net", 2, "C0,C1", names, profile="core")
    assert len(report.results) > 60
    assert {r.outcome for r in report.results} == {"pass"}, report.failures[:5]


def test_a_lost_rank_and_one_that_differs_are_named(installed):
    names = "C2/kill/any/rank-0-in-all_reduce,C2/disagree/any/*-10"
    report = run_comm("new_net", 2, pattern=names)
    assert len(report.results) == 6
    assert {r.outcome for r in report.results} == {"pass"}, report.failures


def test_its_own_tests_pass(project, tmp_path, installed):
    text = (project / "tests" / "test_comm.py").read_text("utf-8")
    assert len(cases.select(["C0"], None, "core")) > 50
    file = tmp_path / "test_copy_of_comm.py"
    file.write_text(text.replace('level="C0"', 'level="C0", pattern="C0/send/*"'), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tcp"], "'tcp' is taken by tensorbus"),
        (["a-b"], "'a-b' can't be the name"),
        (["x", "--for", "cpu"], "--for goes with --kind overlay"),
        (["x", "--bare"], "--bare goes with a backend; the kind comm has none"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new-backend", *words, "--kind", "comm"]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_next_steps_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new-backend", "net", "--kind", "comm"]) == 0
    assert "tensorbus conformance --comm net --profile core" in capsys.readouterr().out
    assert (tmp_path / "tensorbus-net" / "tensorbus_net" / "mailbox.py").is_file()
