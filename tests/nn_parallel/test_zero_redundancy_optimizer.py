"""A sharded optimizer steps as the plain one does, with a part of the state on each rank."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn, optim
from tensorbus.distributed.algorithms import Join
from tensorbus.distributed.optim import ZeroRedundancyOptimizer as Zero
from tensorbus.nn.parallel import DistributedDataParallel as DDP


def steps(net: Any, optimizer: Any, case: Any, x: Any, y: Any, scheduler: Any = None) -> None:
    for _ in range(3):
        optimizer.zero_grad()
        case.loss(net(x), y).backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()


def groups(net: Any) -> list[dict[str, Any]]:
    own = list(net.parameters())
    return [{"params": own[:2], "lr": 0.02}, {"params": own[2:]}]


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_equals_the_plain_optimizer(case: Any, tools: Any, size: int, kind: str) -> None:
    cls: Any = {"adam": optim.Adam, "sgd": optim.SGD}[kind]
    options = {"adam": {"lr": 0.01}, "sgd": {"lr": 0.05, "momentum": 0.9}}[kind]
    plain = case.net()
    reference = cls(groups(plain), **options)
    schedule = optim.lr_scheduler.StepLR(reference, 1, 0.5)
    steps(plain, reference, case, case.x, case.y, schedule)
    want = reference.state_dict()

    def rank() -> Any:
        ddp = DDP(case.net(), find_unused_parameters=True)
        zero = Zero(groups(ddp), cls, **options)
        schedule = optim.lr_scheduler.StepLR(zero, 1, 0.5)
        steps(ddp, zero, case, *case.part(dist.get_rank(), size), schedule)
        zero.consolidate_state_dict(to=size - 1)
        if dist.get_rank() < size - 1:
            with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
                zero.state_dict()
            return tools.parameters(ddp), len(zero.optim.state), None
        return tools.parameters(ddp), len(zero.optim.state), zero.state_dict()

    results = dist.local.run(rank, size, timeout=60)
    for values, _, _ in results:
        tools.same(values, tools.parameters(plain))
    assert sum(n for _, n, _ in results) == len(want["state"])
    assert max(n for _, n, _ in results) <= max(len(want["state"]) - size + 1, 1)
    got = results[-1][2]
    assert [g["lr"] for g in got["param_groups"]] == [g["lr"] for g in want["param_groups"]]
    assert [g["params"] for g in got["param_groups"]] == [g["params"] for g in want["param_groups"]]
    assert list(got["state"]) == sorted(want["state"])
    for i, state in want["state"].items():
        for name, value in state.items():
            tools.same([np.asarray(got["state"][i][name])], [np.asarray(value)])


def test_checkpoints_go_to_and_from_the_plain_optimizer(mlp_case: Any, tools: Any) -> None:
    case = mlp_case
    plain = case.net()
    adam = optim.Adam(plain.parameters(), lr=0.01)
    steps(plain, adam, case, case.x, case.y)
    middle, state = tools.parameters(plain), copy.deepcopy(adam.state_dict())
    weights = {k: v.clone() for k, v in plain.state_dict().items()}
    steps(plain, adam, case, case.x, case.y)

    def rank() -> Any:
        net = case.net()
        net.load_state_dict(weights)
        tools.same(tools.parameters(net), middle)
        ddp = DDP(net)
        zero = Zero(ddp.named_parameters(), optim.Adam, lr=77.0)
        zero.load_state_dict(copy.deepcopy(state))
        assert zero.param_groups[0]["lr"] == zero.optim.param_groups[0]["lr"] == 0.01
        steps(ddp, zero, case, *case.part(dist.get_rank(), 2))
        zero.consolidate_state_dict()
        return tools.parameters(ddp), zero.state_dict() if dist.get_rank() == 0 else None

    (first, saved), (second, _) = dist.local.run(rank, 2, timeout=60)
    tools.same(first, tools.parameters(plain))
    tools.same(second, tools.parameters(plain))
    again = optim.Adam(plain.parameters())
    again.load_state_dict(saved)
    assert int(again.state[next(plain.parameters())]["step"]) == 6


def test_groups_added_later_and_fewer_parameters_than_ranks(tools: Any) -> None:
    def rank() -> Any:
        a, b = (tb.ones(2, requires_grad=True) for _ in range(2))
        zero = Zero([a], optim.SGD, lr=1.0)
        zero.add_param_group({"params": [b], "lr": 0.5})
        for p in (a, b):
            p.grad = tb.ones(2)
        assert zero.step(lambda: 3.0) == 3.0
        return a.tolist(), b.tolist(), [len(g["params"]) for g in zero.optim.param_groups]

    got = dist.local.run(rank, 3, timeout=60)
    assert got == [([0.0] * 2, [0.5] * 2, n) for n in ([1, 0], [0, 1], [0, 0])]


def test_uneven_inputs_with_ddp(tools: Any) -> None:
    """Ranks that are through go on stepping the parameters that are theirs."""
    counts = (1, 4, 2)

    def inputs(rank: int, step: int) -> Any:
        return tools.numbers(2, 3, seed=10 * rank + step)

    def net() -> Any:
        made = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
        with tb.no_grad():
            for i, p in enumerate(made.parameters()):
                p.copy_(tools.numbers(*p.shape, seed=100 + i))
        return made

    plain = net()
    adam = optim.Adam(plain.parameters(), lr=0.05)
    for step in range(max(counts)):
        adam.zero_grad()
        for r in range(3):
            if step < counts[r]:
                ((plain(inputs(r, step)) ** 2).mean() / 3).backward()
        adam.step()
    want = tools.parameters(plain)

    def rank() -> Any:
        me = dist.get_rank()
        ddp = DDP(net())
        zero = Zero(ddp.parameters(), optim.Adam, lr=0.05)
        with Join([ddp, zero]):
            for step in range(counts[me]):
                zero.zero_grad()
                (ddp(inputs(me, step)) ** 2).mean().backward()
                zero.step()
        return tools.parameters(ddp)

    for got in dist.local.run(rank, 3, timeout=60):
        tools.same(got, want)
