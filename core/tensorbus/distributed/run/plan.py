"""What a launcher is to do, and what each rank finds in its environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tensorbus.distributed.secret import VARIABLE as SECRET

OUT, ERR = 1, 2
"""The streams of a rank, by their file numbers."""

LOOPBACK = "127.0.0.1"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Plan:
    """One launcher's part of a job: the ranks of one node.

    >>> from tensorbus.distributed.run import Plan
    >>> Plan(("python", "train.py"), nproc=4).world_size
    4
    """

    command: tuple[str, ...]
    """What each rank runs."""
    nproc: int = 1
    nnodes: int = 1
    node_rank: int = 0
    master_addr: str = LOOPBACK
    master_port: int = 0
    """0: a free one, chosen anew for every attempt."""
    max_restarts: int = 0
    run_id: str = "none"
    role: str = "default"
    grace: float = 5.0
    """Seconds between asking ranks to end and ending them."""
    interval: float = 0.1
    """Seconds between two looks at things that send no event."""
    log_dir: Path | None = None
    logged: dict[int, int] = field(default_factory=dict)
    """By local rank, which streams are written to files: OUT, ERR or both added."""
    silent: dict[int, int] = field(default_factory=dict)
    """By local rank, which streams are not shown."""
    attached: int | None = None
    """The local rank that has the launcher's own streams, unprefixed."""

    @property
    def world_size(self) -> int:
        """The ranks of a job of one node."""
        return self.nproc * self.nnodes


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt, as all its nodes know it."""

    attempt: int
    first_rank: int
    world_size: int
    port: int
    secret: str


def environment(plan: Plan, job: Job, local: int) -> dict[str, str]:
    """The environment of one rank: ours, and who it is."""
    values = {
        "RANK": job.first_rank + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": job.world_size,
        "LOCAL_WORLD_SIZE": plan.nproc,
        "GROUP_RANK": plan.node_rank,
        "GROUP_WORLD_SIZE": plan.nnodes,
        "ROLE_RANK": job.first_rank + local,
        "ROLE_WORLD_SIZE": job.world_size,
        "ROLE_NAME": plan.role,
        "MASTER_ADDR": plan.master_addr,
        "MASTER_PORT": job.port,
        "TENSORBUS_RESTART_COUNT": job.attempt,
        "TORCHELASTIC_RESTART_COUNT": job.attempt,
        "TORCHELASTIC_MAX_RESTARTS": plan.max_restarts,
        "TORCHELASTIC_RUN_ID": plan.run_id,
        SECRET: job.secret,
    }
    threads = {}
    if plan.nproc > 1 and not os.environ.get(THREADS[0]):
        # A choice of the user's for the one holds for the other as well, as BLAS libraries have it.
        share = str(max(1, cores() // plan.nproc))
        threads = {name: share for name in THREADS if not os.environ.get(name)}
    return {**os.environ, **threads, **{name: str(value) for name, value in values.items()}}


def cores() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
