"""What the comm ``mpi`` is before MPI is there: launchers, absence, choice."""

from __future__ import annotations

import builtins
import importlib.util
import os
import subprocess
import sys
import types

import pytest

import tensorbus_comm_mpi
from tensorbus import discovery
from tensorbus.plugin import Launch

SPEC = tensorbus_comm_mpi.tensorbus_comm()


@pytest.fixture
def bare(monkeypatch):
    """An environment that no launcher has written into."""
    for name in list(os.environ):
        if name.startswith(("OMPI_", "PMI", "PALS", "SLURM", "MPI_")) or name in (
            "RANK",
            "WORLD_SIZE",
        ):
            monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize(
    ("said", "launch"),
    [
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"}, Launch(3, 4, 1)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, Launch(0, 1, 0)),
        (
            {
                "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "8",
                "OMPI_COMM_WORLD_LOCAL_RANK": "2", "PMIX_RANK": "2",
            },
            Launch(2, 8, 2),
        ),
        ({"PMI_RANK": "5", "PMI_SIZE": "6", "SLURM_LOCALID": "1"}, Launch(5, 6, 1)),
        ({"PMIX_RANK": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1"}, Launch(1, 2, 1)),
        # In an allocation, but not started by srun; half of what is needed; nonsense.
        ({"SLURM_NTASKS": "2", "SLURM_PROCID": "0"}, None),
        ({"PMI_RANK": "1"}, None),
        ({"PMI_RANK": "4", "PMI_SIZE": "4"}, None),
        ({"PMI_RANK": "x", "PMI_SIZE": "4"}, None),
        # A launcher of another kind was started by srun, and started this process.
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "RANK": "5", "WORLD_SIZE": "8"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_launchers_are_told_from_the_environment(bare, said, launch):
    for name, value in said.items():
        bare.setenv(name, value)
    assert SPEC.launched_by() == launch


def test_nothing_is_imported_to_ask_for_launchers():
    program = (
        "import sys; from tensorbus import discovery; discovery.comm_spec('mpi').launched_by();"
        "print('mpi4py' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.stdout == "False\n", out.stderr


def test_it_is_no_choice_where_nobody_named_it():
    assert SPEC.priority < 0 and SPEC.needs_store is False


def test_a_missing_mpi4py_is_told_with_the_way_to_get_it(fresh_discovery, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "mpi4py" else find(name, *a)
    )
    with pytest.raises(RuntimeError, match=r"needs mpi4py.*pip install 'tensorbus\[mpi\]'"):
        discovery.comm("mpi")


def _stand_in(monkeypatch, **names):
    package, module = types.ModuleType("mpi4py"), types.ModuleType("mpi4py.MPI")
    module.__dict__.update(names)
    package.MPI = module
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)


def test_a_missing_mpi_library_is_told_apart(monkeypatch):
    def broken(name, globals=None, locals=None, fromlist=(), level=0):
        if name == "mpi4py" and fromlist:
            raise RuntimeError("cannot load MPI library\nlibmpi.so.12: no such file")
        return original(name, globals, locals, fromlist, level)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(
        RuntimeError, match=r"finds no MPI library \(cannot load MPI library\): pip"
    ):
        SPEC.load()


def test_a_library_for_one_thread_is_refused(monkeypatch):
    _stand_in(monkeypatch, Query_thread=lambda: 1, THREAD_SERIALIZED=2)
    with pytest.raises(RuntimeError, match=r"one thread only.*MPI_THREAD_SERIALIZED"):
        SPEC.load()


def test_the_launcher_of_another_library_is_told(mpiexec):
    mine = "OMPI_COMM_WORLD" if "mpich" in mpi_vendor() else "PMI"
    env = {k: v for k, v in os.environ.items() if not k.endswith(("RANK", "WORLD_SIZE"))}
    env |= {f"{mine}_RANK": "0", f"{mine}_SIZE": "2"}
    program = "import tensorbus.distributed as dist; dist.init_process_group(timeout=20)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode != 0
    assert "rank 0 of 2 is rank 0 of 1 for" in done.stderr, done.stderr
    assert "mpiexec -n 2 python script.py" in done.stderr


def mpi_vendor() -> str:
    program = "from mpi4py import MPI; print(MPI.get_vendor()[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.stdout.strip().lower()
