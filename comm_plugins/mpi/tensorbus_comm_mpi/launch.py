"""What mpiexec left in the environment, read without starting MPI."""

from __future__ import annotations

import os

from tensorbus.plugin import Launch

_LAUNCHERS = (
    # Open MPI
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",), ("OMPI_COMM_WORLD_LOCAL_RANK",)),
    # MPICH, Intel MPI, MVAPICH, Cray MPICH; Slurm's srun with PMI-1 or PMI-2
    ("PMI_RANK", ("PMI_SIZE",), ("MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "SLURM_LOCALID")),
    # srun with PMIx, whose ranks do not learn the size from it
    ("PMIX_RANK", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), ("SLURM_LOCALID",)),
)


def launched_by() -> Launch | None:
    """The rank and size that an MPI launcher gave this process; None without one.

    Where ``RANK`` and ``WORLD_SIZE`` are set a launcher in PyTorch's manner was started in between,
    as on clusters whose batch system starts one per machine: its word counts.
    """
    if os.environ.get("RANK") and os.environ.get("WORLD_SIZE"):
        return None
    for rank_name, size_names, local_names in _LAUNCHERS:
        rank, size = _number((rank_name,)), _number(size_names)
        if rank is not None and size is not None and 0 <= rank < size:
            return Launch(rank, size, _number(local_names) or 0)
    return None


def _number(names: tuple[str, ...]) -> int | None:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return None
