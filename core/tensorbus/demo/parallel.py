"""The demo on several ranks: each takes its part of every batch, and gradients are averaged.

The ranks draw the same random numbers, so they train the network that one process would train, to
rounding.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tensorbus as torch
import tensorbus.distributed as dist
import tensorbus.nn.functional as F
from tensorbus import discovery, nn
from tensorbus.cli import UsageError
from tensorbus.demo.training import DROPOUT, Trainer
from tensorbus.distributed import choice
from tensorbus.distributed.run import Agent, Plan
from tensorbus.nn.parallel import DistributedDataParallel
from tensorbus.plugin import CommSpec

TIMEOUT = 300.0


def started_as_rank() -> bool:
    """Whether a launcher, ours or one such as mpiexec, started this process among others."""
    if os.environ.get("RANK") and os.environ.get("WORLD_SIZE"):
        return True
    launched = choice.launched()
    return launched is not None and launched[1].size > 1


def launch(args: argparse.Namespace) -> int:
    """Start the demo again as ``args.nproc`` ranks; the exit status."""
    command = [
        sys.executable, "-u", "-m", "tensorbus", "demo", "--device", args.device,
        "--epochs", str(args.epochs), "--seed", str(args.seed), "--out", str(args.out),
    ]  # fmt: skip
    if args.comm is not None:
        command += ["--comm", args.comm]
        if not _usable(args.comm).needs_store:
            return _by_own_launcher(args, command)
    # Rank 0 alone has something to say, and a progress bar: it gets the terminal as it is.
    return Agent(Plan(tuple(command), nproc=args.nproc, attached=0)).run()


def _usable(comm: str) -> CommSpec:
    if comm == "local":
        raise UsageError("--comm local connects threads of one process: give another, or none")
    try:
        spec = discovery.comm_spec(comm)
        spec.probe()
    except RuntimeError as e:
        raise UsageError(f"--comm {comm} can't be used: {e}") from e
    return spec


def _by_own_launcher(args: argparse.Namespace, command: list[str]) -> int:
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise UsageError(f"--comm {args.comm} needs mpiexec, which is not on the path")
    command = [found, "-n", str(args.nproc), *command]
    if os.name == "posix":
        sys.stdout.flush()
        os.execv(found, command)
    return subprocess.call(command)


@contextmanager
def joined(comm: str | None) -> Iterator[int]:
    """Be a rank of the job, and know which."""
    try:
        dist.init_process_group(comm, timeout=TIMEOUT)
    except (RuntimeError, ValueError) as e:
        raise UsageError(f"the ranks did not come together: {e}") from e
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def own_device(name: str) -> str:
    """A device type without a number is this rank's own: they are dealt out on each machine."""
    kind, colon, _ = name.partition(":")
    if colon or kind == "cpu":
        return name
    try:
        count = discovery.backend(kind).device_count()
    except RuntimeError:
        return name
    return f"{kind}:{dist.get_node_local_rank(0) % count}" if count else name


class SharedDropout(nn.Module):
    """Dropout of a part of a batch, with the mask that the whole batch would get."""

    def __init__(self) -> None:
        super().__init__()
        self.batch, self.part = 0, slice(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x
        mask = F.dropout(torch.ones(self.batch, x.shape[1], device=x.device), DROPOUT)
        return x * mask[self.part]


class ParallelTrainer(Trainer):
    """Trains with the other ranks of the job; *net* is the same on all of them afterwards."""

    def __init__(self, net: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int):
        super().__init__(net, images, labels, epochs)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        net.dropout = self.dropout = SharedDropout()
        self.together = f", {self.size} processes over {dist.get_backend()}"
        self.parallel = DistributedDataParallel(net)

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> float:
        """One step of gradient descent; returns the loss of the whole batch."""
        count = len(labels)
        part = slice(self.rank * count // self.size, (self.rank + 1) * count // self.size)
        self.dropout.batch, self.dropout.part = count, part
        # Parts may differ by one image, so their sums are averaged and not their means.
        found = self.parallel(images[part])
        loss = F.cross_entropy(found, labels[part], reduction="sum") * (self.size / count)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        total = loss.detach()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        return total.item()
