"""PyTorch's module paths: each is found from one table, and its names are those of our rooms."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import tensorbus
from tensorbus._base.pytorch_paths import FUNCTIONS, PATHS

NAMES = {
    "autograd.gradcheck": ("gradgradcheck", tensorbus.autograd.gradgradcheck),
    "cuda.random": ("manual_seed_all", tensorbus.cuda.manual_seed_all),
    "distributed.distributed_c10d": ("ProcessGroup", tensorbus.distributed.ProcessGroup),
    "functional": ("einsum", tensorbus.einsum),
    "multiprocessing.spawn": ("ProcessContext", tensorbus.multiprocessing.ProcessContext),
    "profiler.profiler": ("schedule", tensorbus.profiler.schedule),
    "utils.data.datapipes.iter.combining": (
        "Concater",
        tensorbus.utils.data.datapipes.iter.Concater,
    ),
}


@pytest.mark.parametrize("path", NAMES)
def test_names_of_a_path_are_those_of_our_rooms(path: str) -> None:
    name, expected = NAMES[path]
    module = importlib.import_module(f"tensorbus.{path}")
    assert getattr(module, name) is expected
    assert name in dir(module) or path == "functional"  # all of the package, which lists less


def test_each_path_can_be_imported_and_each_room_exists() -> None:
    for path, rooms in PATHS.items():
        module = importlib.import_module(f"tensorbus.{path}")
        assert module.__name__ == f"tensorbus.{path}" and module.__doc__
        for room in rooms.split():
            importlib.import_module("tensorbus" if room == "." else f"tensorbus.{room}")
        with pytest.raises(AttributeError, match=rf"tensorbus.{path}' has no attribute 'nothing'"):
            module.nothing  # noqa: B018


def test_a_function_keeps_its_name_beside_the_module() -> None:
    for path in FUNCTIONS & PATHS.keys():
        room, _, name = path.rpartition(".")
        module = importlib.import_module(f"tensorbus.{path}")
        around = importlib.import_module(f"tensorbus.{room}")
        assert callable(getattr(around, name)) and getattr(module, name) is getattr(around, name)
        assert sys.modules[module.__name__] is module


def test_what_a_room_has_stays_when_a_path_of_its_name_is_imported() -> None:
    program = """
import __future__, importlib, tensorbus
from tensorbus._base.pytorch_paths import PATHS
for path in PATHS:
    room, _, name = f"tensorbus.{path}".rpartition(".")
    around = importlib.import_module(room)
    before = vars(around).get(name)
    importlib.import_module(f"tensorbus.{path}")
    if before not in (None, __future__.annotations) and getattr(around, name) is not before:
        print(path)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_path_that_pytorch_lacks_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tensorbus\.nn\.nothing'"):
        importlib.import_module("tensorbus.nn.nothing")


def test_stars_take_public_names() -> None:
    space: dict[str, object] = {}
    exec("from tensorbus.profiler.profiler import *", space)
    assert space["profile"] is tensorbus.profiler.profile and "_show_in" not in space


@pytest.mark.slow
def test_the_table_is_read_when_a_path_is_missed() -> None:
    program = """
import sys, tensorbus, tensorbus.nn, tensorbus.optim
print("tensorbus._base.pytorch_paths" in sys.modules)
from tensorbus.profiler.profiler import schedule
print("tensorbus._base.pytorch_paths" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr
