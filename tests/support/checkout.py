"""Pytest plugin: a run that would test an installed copy instead of this checkout ends at once."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def packages() -> list[Path]:
    """The folders of all packages in the wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return [ROOT / p for p in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


def pytest_configure() -> None:
    for folder in packages():
        spec = importlib.util.find_spec(folder.name)
        found = None if spec is None or spec.origin is None else Path(spec.origin).resolve().parent
        if found != folder:
            raise pytest.UsageError(
                f"these tests would not test this checkout: {folder.name} is"
                f" {'not installed' if found is None else f'imported from {found}'};"
                f" run scripts/test, or pip install -e '{ROOT}[test]' and pytest again"
            )
