"""What a launcher is to do, and what each rank finds in its environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tensorbus.distributed.elastic.multiprocessing.errors import VARIABLE as ERROR_FILE
from tensorbus.distributed.rendezvous import INTERFACE
from tensorbus.distributed.secret import VARIABLE as SECRET

OUT, ERR = 1, 2
"""The streams of a rank, by their file numbers."""

LOCAL_RANK_WORD = "--local-rank=${local_rank}"
"""A word of a command in whose place each rank finds its own number."""
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")
"""What the launcher handles, unless the user names others."""

LOOPBACK = "127.0.0.1"
JOIN_TIMEOUT = 900.0
"""Seconds for all launchers to come: people start them by hand, queues start them late."""
LAST_CALL = 30.0
"""Seconds for more launchers to come where there are enough."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
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
    fewest_nodes: int = 0
    """Where it is below ``nnodes``, the number is open until so many launchers have met."""
    node_rank: int | None = 0
    """None: the launchers agree on that when they meet."""
    master_addr: str = LOOPBACK
    master_port: int = 0
    """0: a free one, chosen anew for every attempt."""
    local_addr: str | None = None
    """This machine's address, as the others reach it."""
    join_timeout: float = JOIN_TIMEOUT
    last_call: float = LAST_CALL
    max_restarts: int = 0
    run_id: str = "none"
    role: str = "default"
    grace: float = 5.0
    """Seconds between asking ranks to end and ending them."""
    signals: tuple[str, ...] = SIGNALS
    """The names of those that the launcher handles."""
    interval: float = 0.1
    """Seconds between two looks at things that send no event."""
    log_dir: Path | None = None
    logged: dict[int, int] = field(default_factory=dict)
    """By local rank, which streams are written to files: OUT, ERR or both added."""
    silent: dict[int, int] = field(default_factory=dict)
    """By local rank, which streams are not shown."""
    filters: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    """By stream, the texts whose lines are written to one more file."""
    virtual_local_rank: bool = False
    """Whether each rank sees one CUDA device alone, and is local rank 0 to itself."""
    processors: tuple[frozenset[int], ...] = ()
    """By local rank, the processors it is bound to; empty: those of the launcher."""
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


def words(plan: Plan, local: int) -> list[str]:
    """The command of one rank."""
    own = LOCAL_RANK_WORD.replace("${local_rank}", str(local))
    return [own if word == LOCAL_RANK_WORD else word for word in plan.command]


def environment(plan: Plan, job: Job, local: int) -> dict[str, str]:
    """The environment of one rank: ours, and who it is."""
    values: dict[str, object] = {
        "RANK": job.first_rank + local,
        "LOCAL_RANK": 0 if plan.virtual_local_rank else local,
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
    if plan.virtual_local_rank:
        values[VISIBLE] = _visible(local)
    if plan.local_addr is not None:
        values[INTERFACE] = plan.local_addr
    if plan.log_dir is not None:
        values[ERROR_FILE] = rank_folder(plan, job, local) / "error.json"
    threads = {}
    if plan.nproc > 1 and not os.environ.get(THREADS[0]):
        # A choice of the user's for the one holds for the other as well, as BLAS libraries have it.
        share = str(max(1, cores() // plan.nproc))
        threads = {name: share for name in THREADS if not os.environ.get(name)}
    return {**os.environ, **threads, **{name: str(value) for name, value in values.items()}}


def _visible(local: int) -> str:
    """The one device of a rank, among those that this process may see."""
    given = os.environ.get(VISIBLE)
    if given is None:
        return str(local)
    found = given.split(",")
    if local >= len(found):
        raise RuntimeError(f"{VISIBLE}={given} has no device for it (--virtual-local-rank)")
    return found[local]


def attempt_folder(plan: Plan, job: Job) -> Path:
    """Where the files of an attempt are, under ``--log-dir``."""
    if plan.log_dir is None:
        raise ValueError("this plan has no log_dir")
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in plan.run_id)
    return plan.log_dir / name / f"attempt_{job.attempt}"


def rank_folder(plan: Plan, job: Job, local: int) -> Path:
    """Where the files of a rank are."""
    return attempt_folder(plan, job) / str(job.first_rank + local)


def cores() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
