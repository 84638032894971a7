"""Pytest plugin: tests of what this machine lacks are left out, and one skip says how many and why.

Half of the ops' tests run on ``opencl`` as well. Where there is no such device, thousands of skips
would hide the few that a reader should see.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections import Counter

import cuda_host
import pytest

REQUIRED = {name for name in os.environ.get("TENSORBUS_REQUIRE", "").split(",") if name}

# Fixtures whose parameter names a device, or "c" for kernels in C; the fixture opencl is of one.
DEVICE_FIXTURES = ("device", "generated")

MODULES = {"mpi": "mpi4py", "pytorch": "torch"}

LEFT_OUT = pytest.StashKey[Counter[str]]()


@functools.cache
def why_not(need: str) -> str:
    """Why this machine lacks a device type, c, mpi, pytorch or cuda-host; empty where it has it."""
    if need in REQUIRED:
        return ""  # then the tests themselves fail, with the reason
    if need == "c":
        return "" if shutil.which("gcc") else "gcc is not installed: apt-get install gcc libc6-dev"
    if need == "cuda-host":
        return cuda_host.why_not()
    if need in MODULES:
        found = importlib.util.find_spec(MODULES[need]) is not None
        return "" if found else f"{MODULES[need]} is not installed"
    from tensorbus import discovery

    try:
        return "" if discovery.backend(need).device_count() > 0 else f"no device of type {need}"
    except RuntimeError as error:
        return str(error)


def needs(item: pytest.Item) -> set[str]:
    """What a test needs that not every machine has."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    found = {str(params[name]) for name in DEVICE_FIXTURES if name in params}
    if "opencl" in getattr(item, "fixturenames", ()):
        found.add("opencl")
    if "cuda_on_host" in getattr(item, "fixturenames", ()):
        found.add("cuda-host")
    if "mpiexec" in getattr(item, "fixturenames", ()):
        found.add("mpi")
    if "live_torch" in getattr(item, "fixturenames", ()):
        found.add("pytorch")
    return found & {"opencl", "c", "mpi", "cuda-host", "pytorch"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[LEFT_OUT] = Counter()
    kept, left_out = [], []
    for item in items:
        missing = [need for need in needs(item) if why_not(need)]
        config.stash[LEFT_OUT].update(missing)
        (left_out if missing else kept).append(item)
    if left_out:
        items[:] = kept
        config.hook.pytest_deselected(items=left_out)
