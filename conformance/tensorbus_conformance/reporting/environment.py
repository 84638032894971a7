"""What a run depends on: versions, the device's own account, the state of a checkout."""

from __future__ import annotations

import functools
import importlib.util
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import Backend, Capabilities
from tensorbus_conformance import formats
from tensorbus_conformance.report import Report

_PATIENCE = 5.0
"""Seconds that git may take."""


def complete(report: Report, backend: Backend) -> None:
    """Fill in the fields ``versions``, ``capabilities`` and ``git`` of a report."""
    report.versions = versions(backend)
    report.capabilities = capabilities(backend.capabilities(report.index))
    report.git = git_state(_package(backend), Path.cwd())


def versions(backend: Backend) -> dict[str, str]:
    """Python, NumPy, tensorbus, the distribution of the backend, and the platform."""
    found = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tensorbus": tensorbus.__version__,
    }
    return found | _plugin(backend) | {"platform": platform.platform()}


def _plugin(backend: Backend) -> dict[str, str]:
    from tensorbus import discovery

    package = _package(backend)
    for record in discovery.records("tensorbus.backends"):
        entry = record.entry_point
        if entry is not None and entry.value.partition(":")[0].partition(".")[0] == package:
            return {record.distribution: record.version}
    return {}


def capabilities(found: Capabilities) -> dict[str, Any]:
    """What a device says of itself, as JSON takes it; ``details`` has its vendor's versions."""
    return {
        "dtypes": [d.name for d in formats.ALL if d in found.dtypes]
        + sorted(d.name for d in found.dtypes.difference(formats.ALL)),
        "memory_total": found.memory_total,
        "details": {str(key): str(value) for key, value in found.details.items()},
    }


@functools.cache  # four calls of git are slow beside a run of one case
def git_state(package: str, directory: Path) -> dict[str, Any] | None:
    """The commit of a package's checkout, else of the directory's; None where neither has one.

    ``dirty`` says whether tracked files differ from the commit, and ``of`` whose checkout it is.
    """
    # A class in a script or a notebook has no package.
    spec = None if package == "__main__" else importlib.util.find_spec(package)
    if spec is not None and spec.origin is not None:
        origin = Path(spec.origin)
        # A site-packages inside somebody's checkout is not that checkout: only a file that git
        # tracks is.
        if _git(origin.parent, "ls-files", "--error-unmatch", origin.name) is not None:
            return _state(origin.parent, "backend")
    return _state(directory, "working directory")


def _state(directory: Path, of: str) -> dict[str, Any] | None:
    commit = _git(directory, "rev-parse", "HEAD")
    changed = _git(directory, "status", "--porcelain", "--untracked-files=no")
    if commit is None or changed is None:
        return None
    return {"commit": commit, "dirty": bool(changed), "of": of}


def _git(directory: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *words],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _package(backend: Backend) -> str:
    return type(backend).__module__.partition(".")[0]
