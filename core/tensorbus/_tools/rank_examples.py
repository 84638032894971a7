"""Runs the examples that need several processes: each rank is this module as a program.

All examples of a call have the same processes and the same group, for starting them takes longest.
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS = 2
PATIENCE = 240.0
"""Seconds; only a fault takes so long."""


def run(examples: list[list[str]], library: str = "tensorbus") -> list[list[str]]:
    """What the last rank prints in each example, where *library* is imported as ``torch``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").write_text(json.dumps(examples), "utf-8")
        left = ("TORCH_DISTRIBUTED_DEBUG", "TENSORBUS_DISTRIBUTED_DEBUG")
        environment = {k: v for k, v in os.environ.items() if k not in left}
        ranks = [
            subprocess.Popen(
                [sys.executable, "-m", __name__, library, str(rank), name],
                env={**environment, "LOCAL_RANK": str(rank)},
            )
            for rank in range(RANKS)
        ]
        try:
            ends = [rank.wait(PATIENCE) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        if any(ends):
            raise RuntimeError(f"the ranks of the examples ended with {ends}")
        printed: list[list[str]] = json.loads((folder / "printed").read_text("utf-8"))
        return printed


def _main(library: str, rank: int, folder: Path) -> None:
    from tensorbus._tools import examples

    torch = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/group",
        rank=rank,
        world_size=RANKS,
        timeout=datetime.timedelta(seconds=PATIENCE),
    )
    given = json.loads((folder / "examples").read_text("utf-8"))
    printed = [examples.run(statements, torch, dist=dist) for statements in given]
    dist.barrier()
    dist.destroy_process_group()
    if rank == RANKS - 1:
        (folder / "printed").write_text(json.dumps(printed), "utf-8")


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
