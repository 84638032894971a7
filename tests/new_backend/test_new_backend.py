"""``tensorbus new-backend``: every kind of project works before a line of it is written."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tensorbus import cli
from tensorbus.cli import new_backend
from tensorbus.cli.project import families
from tensorbus.plugin import API, PRIMITIVES, SIGNATURES
from tensorbus.version import __version__

ROOT = Path(__file__).parents[2]


# -- what is written -------------------------------------------------------------------------
def test_nothing_is_left_to_fill_in_and_lines_are_short(projects):
    for file in [file for project in projects.values() for file in project.rglob("*.*")]:
        text = file.read_text("utf-8") if file.is_file() else ""
        if file.name != "conformance.yml":  # whose own language has dollars
            assert "$" not in text.replace("$(", ""), file
        assert "TODO" not in text
        if file.suffix in (".py", ".toml"):
            assert max(map(len, text.splitlines()), default=0) <= 100, file


def test_the_files_are_those_that_the_readme_lists(projects):
    for project in projects.values():
        listed = re.findall(r"^\| `([^`]+)` \|", (project / "README.md").read_text("utf-8"), re.M)
        assert len(listed) >= 6
        assert [p for p in listed if not (project / p).exists()] == []
        seen = {p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file()}
        for file in seen - {"README.md", ".gitignore"}:
            covered = any(file == p or (p.endswith("/") and file.startswith(p)) for p in listed)
            assert covered or file.endswith("py.typed"), file


def test_the_primitives_are_specified_as_in_our_own_pages(projects):
    page = (ROOT / "docs" / "primitives.md").read_text("utf-8")
    shipped = (ROOT / "core" / "tensorbus" / "plugin" / "primitives.md").read_text("utf-8")
    assert shipped == page, (
        "core/tensorbus/plugin/primitives.md is the copy of docs/primitives.md that is installed: "
        "copy it there"
    )
    for project in projects.values():
        assert (project / "PRIMITIVES.md").read_text("utf-8") == page


def test_every_primitive_is_in_one_family():
    names = [name for family in families() for name in family.primitives]
    assert sorted(names) == sorted(PRIMITIVES)


@pytest.mark.parametrize("name", ["newlib", "newlib_bare"])
def test_every_primitive_has_a_function_with_its_signature_and_text(name, projects, installed):
    package = installed(projects[name]).name
    described = {n: about for family in families() for n, about in family.primitives.items()}
    found = {}
    for family in families():
        module = importlib.import_module(f"{package}.kernels.{family.module}")
        for op, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__:
                found[op] = function
    assert sorted(found) == sorted(PRIMITIVES)
    for op, function in found.items():
        plain = [str(p.replace(annotation=p.empty)) for p in parameters(function)]
        assert f"({', '.join(plain)})".replace(" = ", "=") == SIGNATURES[op]
        dtypes, text = described[op]
        words = " ".join(function.__doc__.split())
        assert words == f"{' '.join(text.split())} Dtypes: {' '.join(dtypes.split())}"


def parameters(function) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def test_the_plugin_names_the_contract_it_was_written_for(projects):
    for name, project in projects.items():
        text = (project / f"tensorbus_{name}" / "__init__.py").read_text("utf-8")
        assert f"api={API}," in text


def test_every_option_in_readme_and_ci_is_one_of_the_suite(projects):
    words = ["conformance", "--help"]
    done = subprocess.run(
        [sys.executable, "-m", "tensorbus", *words], capture_output=True, text=True
    )
    for project in projects.values():
        for file in (project / "README.md", project / ".github/workflows/conformance.yml"):
            for line in re.findall(r"tensorbus (conformance [^`\n#]*)", file.read_text("utf-8")):
                for option in re.findall(r"(?<!\w)--?[a-z]+", line):
                    assert option in done.stdout, f"{file.name}: {line}"


def test_the_code_is_formatted_and_lint_clean(projects):
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("needs ruff (extra `test`)")
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", *map(str, projects.values())],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


def test_the_code_is_strictly_typed(projects, tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("needs mypy (extra `test`)")
    packages = [word for name in projects for word in ("-p", f"tensorbus_{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *packages],
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, projects.values()))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# -- what is refused -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Acme", "--kind", "array-library"], "'Acme' can't be the name: it begins with a small"),
        (["2b", "--kind", "array-library"], "'2b' can't be the name"),
        (["a__b", "--kind", "overlay"], "'a__b' can't be the name"),
        (["a-b", "--kind", "overlay"], "'a-b' can't be the name"),
        (["a" * 41, "--kind", "overlay"], "can't be the name"),
        (["é", "--kind", "overlay"], "'é' can't be the name"),
        (["", "--kind", "overlay"], "'' can't be the name"),
        (["cpu", "--kind", "kernel-language"], "'cpu' is taken by tensorbus"),
        (["conformance", "--kind", "array-library"], "tensorbus_conformance is installed"),
        (["x", "--kind", "overlay", "--for", "npu"], "--for npu: no plugin offers such a device"),
        (["x", "--kind", "array-library", "--for", "cpu"], "--for goes with --kind overlay"),
        (["x", "--kind", "overlay", "--bare"], "--bare goes with a backend"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new-backend", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_kind_has_to_be_said(capsys):
    with pytest.raises(SystemExit):
        cli.main(["new-backend", "x"])
    assert "--kind" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["new-backend", "--help"])
    out = capsys.readouterr().out
    assert all(kind in out for kind in new_backend.KINDS)


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_exists_is_not_overwritten(kind, tmp_path, capsys):
    taken = tmp_path / "taken"
    {
        "folder": taken.mkdir,
        "file": taken.touch,
        "link": lambda: taken.symlink_to(tmp_path / "nowhere"),
    }[kind]()
    assert cli.main(["new-backend", "x", "--kind", "overlay", "--path", str(taken)]) == 2
    assert f"{taken} exists, and nothing is overwritten" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_where_nothing_can_be_written_nothing_is_left(tmp_path, capsys):
    (tmp_path / "file").touch()
    words = ["new-backend", "x", "--kind", "overlay", "--path", str(tmp_path / "file" / "x")]
    assert cli.main(words) == 2
    assert "give a --path that you may write to" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_folders_on_the_way_are_made_and_the_next_steps_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--kind", "overlay", "--path", str(tmp_path / "deep" / "er")]
    assert cli.main(["new-backend", "x1", *words]) == 0
    said = capsys.readouterr().out
    assert f"python -m pip install -e '{tmp_path / 'deep' / 'er'}[test]'\n" in said
    assert "tensorbus conformance cpu -k softmax" in said
    assert cli.main(["new-backend", "x2", "--kind", "array-library"]) == 0
    assert "tensorbus conformance x2 --profile core" in capsys.readouterr().out
    assert (tmp_path / "tensorbus-x2" / "tensorbus_x2" / "backend.py").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "tensorbus-x2"]


def test_what_a_project_requires_is_met_by_this_checkout_and_bounded_above(projects):
    """The bound is the first release that the project can't have been tested with."""
    major, minor, *_ = __version__.split(".")
    for folder in projects.values():
        about = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        (required,) = [r for r in about["dependencies"] if r.startswith("tensorbus")]
        assert required == f"tensorbus>={__version__},<{major}.{int(minor) + 1}"
        assert about["optional-dependencies"]["test"] == ["tensorbus[test]"]


def test_a_long_name_gives_valid_code(tmp_path):
    name = "a_" + "b" * 36 + "_c"
    for kind in new_backend.KINDS:
        project = tmp_path / kind
        assert cli.main(["new-backend", name, "--kind", kind, "--path", str(project)]) == 0
        for file in project.rglob("*.py"):
            compile(file.read_text("utf-8"), str(file), "exec")
        about = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
        assert about["name"] == f"tensorbus-{name}".replace("_", "-")
