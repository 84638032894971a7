"""The ``mpi`` comm of tensorbus: an MPI library through mpi4py, for clusters.

This module is what discovery imports, so it imports nothing but the hook.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from tensorbus.plugin import Comm, CommContext, CommSpec, hookimpl
from tensorbus_comm_mpi.launch import launched_by

__all__ = ["tensorbus_comm"]

INSTALL = "pip install 'tensorbus[mpi]'"


def _probe() -> None:
    if importlib.util.find_spec("mpi4py") is None:
        raise RuntimeError(f"the comm mpi needs mpi4py, which is not installed: {INSTALL}")


def _load() -> Callable[[CommContext], Comm]:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as e:
        raise RuntimeError(
            f"mpi4py is installed but finds no MPI library ({str(e).splitlines()[0]}): {INSTALL} "
            f"brings MPICH; a cluster's own must be on the loader's path, often through "
            f"'module load'"
        ) from e
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise RuntimeError(
            "MPI was started for one thread only, but operations of tensorbus come from several: "
            "leave mpi4py.rc.thread_level at 'multiple', or start a library that grants at least "
            "MPI_THREAD_SERIALIZED"
        )
    from tensorbus_comm_mpi.comm import MpiComm

    return MpiComm


def _launcher(ranks: int) -> list[str]:
    """The MPI library's mpiexec: the one beside this Python, or that of the path."""
    beside = Path(sys.executable).with_name("mpiexec")
    return [str(beside) if beside.exists() else "mpiexec", "-n", str(ranks)]


@hookimpl
def tensorbus_comm() -> CommSpec:
    """The comm ``mpi``: the choice where mpiexec started the process, else only where named."""
    return CommSpec(
        name="mpi",
        load=_load,
        priority=-1,
        launched_by=launched_by,
        needs_store=False,
        launcher=_launcher,
        probe=_probe,
        api=2,
        requires=("mpi4py",),
        install=INSTALL,
    )
