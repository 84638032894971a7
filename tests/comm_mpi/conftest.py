"""Jobs that mpiexec starts, bounded by the test."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

REQUIRED = os.environ.get("TENSORBUS_REQUIRE", "").split(",")

PRELUDE = """
import os, sys, time, signal
import numpy as np
import tensorbus as torch
import tensorbus.distributed as dist
def start(timeout=60):
    dist.init_process_group(timeout=120)
    # On a busy machine meeting takes longer than what an operation may take in some tests.
    dist.group.WORLD.timeout = timeout
    return dist.get_rank(), dist.get_world_size()
"""


@dataclasses.dataclass
class Ended:
    """What became of a job."""

    code: int
    text: str
    seconds: float


def _mpiexec() -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if importlib.util.find_spec("mpi4py") is None:
        reason = "mpi4py is not installed: pip install 'tensorbus[mpi]'"
    elif found is None:
        reason = "there is no mpiexec beside Python or on the path: pip install 'tensorbus[mpi]'"
    else:
        return found
    if "mpi" in REQUIRED:
        pytest.fail(f"TENSORBUS_REQUIRE={','.join(REQUIRED)}: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def mpiexec() -> str:
    """The launcher; skips without one, or fails if ``TENSORBUS_REQUIRE`` has ``mpi``."""
    return _mpiexec()


Mpirun = Callable[..., Ended]


@pytest.fixture
def mpirun(mpiexec: str, tmp_path: Path) -> Mpirun:
    """``mpirun(program, size)``: run a job to its end, however it ends; late ones fail."""

    def run(program: str, size: int = 2, timeout: float = 240, **env: str) -> Ended:
        script = tmp_path / "program.py"
        script.write_text(PRELUDE + program)
        own = re.compile(r"(OMPI|PMI|PMIX|SLURM|MASTER)_|RANK$|WORLD_SIZE$|TENSORBUS_")
        base = {k: v for k, v in os.environ.items() if not own.match(k)}
        # Open MPI refuses root, and more ranks than cores, where it is not told.
        base |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                 "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # fmt: skip
        begun = time.monotonic()
        process = subprocess.Popen(
            [mpiexec, "-n", str(size), sys.executable, str(script)],
            env=base | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            text, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # mpiexec passes this on to its ranks.
            process.terminate()
            text, _ = process.communicate(timeout=120)
            pytest.fail(f"the job did not end within {timeout:g} seconds:\n{text}")
        return Ended(process.returncode, text, time.monotonic() - begun)

    return run


@pytest.fixture
def mpi_job(mpirun: Mpirun) -> Mpirun:
    """``mpi_job(program, size)``: a job whose ranks must all end well and print ``fine``."""

    def run(program: str, size: int = 2, **env: str) -> Ended:
        ended = mpirun(program + "\nprint('fine', flush=True)\n", size, **env)
        assert ended.code == 0, ended.text
        assert ended.text.count("fine") == size, ended.text
        return ended

    return run
