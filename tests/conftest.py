"""Fixtures for all tests: the devices of this machine, and distributions made for one test."""

from __future__ import annotations

import gc
import importlib.machinery
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorbus import discovery
from tensorbus._dispatch import kinds

pytest_plugins = ["pytester", "checkout", "oracle", "lanes", "machine"]

REQUIRED = {name for name in os.environ.get("TENSORBUS_REQUIRE", "").split(",") if name}

MAX_SKIPS = os.environ.get("TENSORBUS_MAX_SKIPS")

# Unbuffered, ``print(a, b)`` of two processes into one pipe mix in the middle of a line; and a line
# that a process forgets to flush would be seen here alone.
os.environ.pop("PYTHONUNBUFFERED", None)

# Many tests start Python: without bytecode in __pycache__ each such process compiles the library
# anew, which takes a second in place of a third of one. Images of containers often set this.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What is made for a user once, such as the secret of jobs on loopback, is made for these tests.
_settings = tempfile.TemporaryDirectory(prefix="tensorbus-tests-")
os.environ["XDG_CONFIG_HOME"] = _settings.name


def pytest_collection_finish() -> None:
    """What collecting made stays for the run: the collector need not look at it again.

    Twenty thousand tests are a million objects, a third of a second for each full collection.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A skip is not a pass: more of them than ``TENSORBUS_MAX_SKIPS`` fail the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if MAX_SKIPS is None or reporter is None:
        return
    skipped = len(reporter.stats.get("skipped", []))
    if skipped > int(MAX_SKIPS):
        reporter.write_line(f"\n{skipped} tests were skipped, TENSORBUS_MAX_SKIPS={MAX_SKIPS}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def usable_or_skip(type: str) -> str:
    """*type*, if such a device can be used; else skip, or fail if ``TENSORBUS_REQUIRE`` has it."""
    try:
        if discovery.backend(type).device_count() > 0:
            return type
        reason = f"the {type} plugin finds no device"
    except RuntimeError as e:
        reason = str(e)
    if type in REQUIRED:
        pytest.fail(f"TENSORBUS_REQUIRE={','.join(sorted(REQUIRED))}: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(params=["cpu", "opencl"])
def device(request: pytest.FixtureRequest) -> str:
    """Each device type whose results can be checked here; skips those this machine lacks."""
    return usable_or_skip(request.param)


@pytest.fixture
def live_torch() -> Any:
    """PyTorch itself, for what a recorded answer can't replace; most tests take ``oracle``."""
    return pytest.importorskip(
        "torch", reason="PyTorch itself runs in this test: scripts/venv test,opencl,demo,bench"
    )


@pytest.fixture
def broken_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy as it is where CUDA's libraries are missing: it is found, and does not load."""

    class Broken(importlib.machinery.SourceFileLoader):
        def exec_module(self, module: Any) -> None:
            raise OSError("libcudart.so.12: cannot open shared object file")

    spec = importlib.machinery.ModuleSpec("cupy", Broken("cupy", "cupy.py"))

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            return spec if name == "cupy" else None

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])


Install = Callable[..., Path]


@pytest.fixture
def fresh_discovery(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Discovery that has seen nothing yet; what was loaded before is back after the test.

    A backend loaded anew beside tensors of the old one would be a second device of one name.
    """
    monkeypatch.delenv("TENSORBUS_PLUGINS", raising=False)
    before = discovery._get()
    discovery.reset()
    yield
    discovery._loader = before
    for kind in list(kinds._kinds.values()):
        if before._backends.get(kind.device.type) is not kind.backend:
            kinds.forget(kind.device.type)


@pytest.fixture
def install(
    fresh_discovery: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Install]:
    """``install(name, {group: {entry: value}}, {module: source}, version)``: a distribution.

    It lies in a folder of its own at the front of ``sys.path``, so a later one shadows an earlier.
    """
    before = set(sys.modules)

    def make(
        name: str,
        entries: dict[str, dict[str, str]] | str,
        modules: dict[str, str] | None = None,
        version: str = "1.0",
        author: str = "",
    ) -> Path:
        folder = tmp_path / f"{name}-{version}"
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(metadata + (f"Author: {author}\n" if author else ""))
        if not isinstance(entries, str):
            entries = "".join(
                f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items())
                for group, lines in entries.items()
            )
        (info / "entry_points.txt").write_text(entries)
        for module, source in (modules or {}).items():
            (folder / f"{module}.py").write_text(source)
        monkeypatch.syspath_prepend(folder)
        discovery.reset()
        return folder

    yield make
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]
