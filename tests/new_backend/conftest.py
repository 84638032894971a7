"""A project of each kind that ``tensorbus new-backend`` writes, and a way to install one."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

import tensorbus as torch
from tensorbus import cli
from tensorbus._dispatch import fallback, kinds

PROJECTS = {
    "newlib": ["--kind", "array-library"],
    "newlib_bare": ["--kind", "array-library", "--bare"],
    "newlang": ["--kind", "kernel-language"],
    "newlang_bare": ["--kind", "kernel-language", "--bare"],
    "newfast": ["--kind", "overlay"],
    "newelsewhere": ["--kind", "overlay", "--for", "opencl"],
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A project of each kind; tests do not write into them."""
    made = {}
    for name, options in PROJECTS.items():
        made[name] = tmp_path_factory.mktemp("projects") / f"tensorbus-{name}"
        assert cli.main(["new-backend", name, *options, "--path", str(made[name])]) == 0
    return made


@pytest.fixture
def installed(install, tmp_path, monkeypatch):
    """``installed(project)``: a copy of the project, installed; no trace of it afterwards."""
    names = []

    def add(project: Path) -> Path:
        copy = tmp_path / project.name
        shutil.copytree(project, copy)
        about = tomllib.loads((copy / "pyproject.toml").read_text("utf-8"))["project"]
        install(about["name"], about["entry-points"], version=about["version"])
        monkeypatch.syspath_prepend(copy)
        names.extend(entry for group in about["entry-points"].values() for entry in group)
        return copy / about["name"].replace("-", "_")

    before = torch.get_fallback()
    torch.set_fallback("warn")
    yield add
    torch.set_fallback(before)
    for name in names:
        kinds.forget(name)
        fallback.forget(name)
