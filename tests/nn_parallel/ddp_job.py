"""What one process of ``test_ddp_processes.py`` runs."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn, optim
from tensorbus.nn.parallel import DistributedDataParallel as DDP

LIMIT = 120.0
"""Seconds that an operation may take: a busy machine starts the processes slowly."""

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda params: optim.SGD(params, lr=0.05, momentum=0.9),
    "adam": lambda params: optim.Adam(params, lr=0.01),
}


def nets() -> Any:
    """The nets that the tests of this folder share."""
    sys.path.append(str(Path(__file__).parents[1] / "support"))  # as pytest does for them
    spec: Any = importlib.util.spec_from_file_location(
        "nn_parallel_nets", Path(__file__).with_name("conftest.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train() -> None:
    shared = nets()
    rank, size = dist.get_rank(), dist.get_world_size()
    for name, make_case in shared.CASES.items():
        case = make_case()
        for kind, make in OPTIMIZERS.items():
            alone, ddp = case.net(), DDP(case.net(), bucket_cap_mb=1e-4, static_graph=True)
            x, y = case.part(rank, size)
            for net, given, wanted in ((alone, case.x, case.y), (ddp, x, y)):
                optimizer = make(net.parameters())
                for _ in range(3):
                    optimizer.zero_grad()
                    case.loss(net(given), wanted).backward()
                    optimizer.step()
            shared.assert_same(shared.parameters_of(ddp), shared.parameters_of(alone))
            print("same", name, kind)


def bfloat16() -> None:
    """What DDP makes of the ranks' gradients, which each computes here without it, too."""
    shared = nets()
    rank, size = dist.get_rank(), dist.get_world_size()
    for name in ("mlp", "conv"):
        case = shared.CASES[name]()
        parts = [case.part(r, size) for r in range(size)]
        for kind, lowered in ((tb.bfloat16, False), (tb.float32, True)):
            net, ddp = case.net().to(kind), DDP(case.net().to(kind), bucket_cap_mb=1e-4)
            found = []
            for module, (x, y) in [*((net, part) for part in parts), (ddp, parts[rank])]:
                module.zero_grad()
                with tb.autocast("cpu", dtype=tb.bfloat16, enabled=lowered):
                    out = module(x.to(kind))
                case.loss(out, y.to(kind)).backward()
                found.append([p.grad for p in module.parameters()])
            for *alone, together in zip(*found, strict=True):
                mean = sum(g.double() for g in alone) / size
                assert together.dtype is kind and together.any(), (name, kind)
                assert tb.equal(together, mean.to(kind)), (name, kind)
            print("same", name, kind)


def killed() -> None:
    """Rank 1 is killed by a hook in the middle of its second backward pass."""
    net = nn.Sequential(nn.Linear(50, 50), nn.Linear(50, 50), nn.Linear(50, 50))
    ddp = DDP(net, bucket_cap_mb=1e-3)
    ddp(tb.ones(2, 50)).sum().backward()
    out = ddp(tb.ones(2, 50))
    if dist.get_rank() == 1:
        net[1].weight.register_hook(lambda g: os.kill(os.getpid(), signal.SIGKILL))
    began = time.monotonic()
    try:
        out.sum().backward()
    except dist.DistBackendError as e:
        assert time.monotonic() - began < LIMIT / 2
        assert e.ranks == (1,)
        print("raised", e)


dist.init_process_group("tcp", timeout=LIMIT)
{"train": train, "bfloat16": bfloat16, "killed": killed}[sys.argv[1]]()
dist.destroy_process_group()
