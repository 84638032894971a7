"""The checkout as Python would find it installed, without installing it."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def environment(scratch: Path) -> dict[str, str]:
    """The environment of processes that import this checkout and find its plugins.

    Discovery reads the entry points of distributions: *scratch* gets the metadata of one.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    version: dict[str, str] = {}
    exec((ROOT / "core" / "tensorbus" / "version.py").read_text("utf-8"), version)
    number = version["__version__"]
    info = scratch / f"tensorbus-{number}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tensorbus\nVersion: {number}\n")
    groups = project["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
             for group, entries in groups.items()]  # fmt: skip
    (info / "entry_points.txt").write_text("".join(lines))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    folders = dict.fromkeys(str((ROOT / package).parent) for package in packages)
    path = [str(scratch), *folders, str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in path if p),
        "CUPY_CACHE_DIR": str(scratch / "kernels"),
        "TENSORBUS_CUDA": "gpu",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def tensorbus(*arguments: str) -> list[str]:
    """The command ``tensorbus`` of this checkout."""
    return [sys.executable, "-m", "tensorbus", *arguments]
