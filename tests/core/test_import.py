"""What ``import tensorbus`` loads: the engine and the ops. Every other room waits to be touched."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tensorbus import op_engine, ops
from tensorbus.ops import families

ENGINE = """
    _C _base _device _dispatch _tensor autograd discovery op_engine ops plugin random return_types
    rows storage utils version
""".split()
MODULES = 300
"""Each costs a part of a millisecond: what few programs use is imported when it is."""
PROGRAM = """
import sys
import numpy
before = set(sys.modules)
import gc
import tensorbus as torch
assert gc.isenabled()
print(*{name.split(".")[1] for name in sys.modules if name.startswith("tensorbus.")})
print(*sys.modules.keys() - before & {
    "cupy", "ml_dtypes", "multiprocessing", "numpy.testing", "pathlib", "pkgutil",
    "pyopencl", "rich", "scipy",
    "socket", "tempfile",
})
print(len([name for name in sys.modules if name.startswith("tensorbus")]))
torch.ones(2).__array_namespace__()
print("tensorbus.array_api" in sys.modules)
"""


def test_a_program_loads_what_it_touches() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    rooms, libraries, count, touched = done.stdout.split("\n")[:4]
    assert sorted(rooms.split()) == ENGINE, done.stderr
    assert libraries == "" and touched == "True"
    assert int(count) <= MODULES


def test_the_modules_of_the_families_are_found_as_pkgutil_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in (ops, op_engine):
        walked = pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
        assert sorted(families._modules(room)) == sorted(m.name for m in walked if not m.ispkg)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        for name in ("__init__", "b", "c/__init__", "c/d"):
            archive.writestr(f"zipped_room/{name}.py", "")
    monkeypatch.syspath_prepend(str(tmp_path / "archive.zip"))
    room = importlib.import_module("zipped_room")
    assert list(families._modules(room)) == ["zipped_room.b", "zipped_room.c", "zipped_room.c.d"]
