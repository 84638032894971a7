"""Ranks with different numbers of inputs train together to the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn
from tensorbus.distributed.algorithms import Join, Joinable, JoinHook
from tensorbus.nn.parallel import DistributedDataParallel as DDP

COUNTS = (2, 4, 1, 3)


def inputs(rank: int, step: int) -> np.ndarray:
    return np.random.default_rng([rank, step]).standard_normal((2, 3))


def alone(divide_by_all: bool, norm: bool = False) -> np.ndarray:
    """What one process makes of the inputs of all ranks, step by step."""
    weight = np.ones((1, 3))
    for step in range(max(COUNTS)):
        active = [r for r in range(4) if step < COUNTS[r]]
        grads = []
        for r in active:
            x = inputs(r, step)
            y = x @ weight.T
            grads.append((2 * y).T @ x / len(x))
        weight = weight - 0.05 * sum(grads) / (4 if divide_by_all else len(active))
    return weight


@pytest.mark.parametrize("divide_by_all", [True, False])
@pytest.mark.parametrize("find_unused", [True, False])
def test_weights_are_those_of_all_inputs(divide_by_all: bool, find_unused: bool) -> None:
    def rank() -> Any:
        me = dist.get_rank()
        net = nn.Linear(3, 1, bias=False).double()
        with tb.no_grad():
            net.weight.fill_(1.0)
        ddp = DDP(net, find_unused_parameters=find_unused)
        optimizer = tb.optim.SGD(ddp.parameters(), lr=0.05)
        with ddp.join(divide_by_initial_world_size=divide_by_all):
            for step in range(COUNTS[me]):
                optimizer.zero_grad()
                (ddp(tb.from_numpy(inputs(me, step))) ** 2).mean().backward()
                optimizer.step()
        with ddp.join():  # the wrapper is as good as new
            ddp(tb.ones(1, 3).double()).sum().backward()
        return net.weight.detach().numpy().copy()

    for got in dist.local.run(rank, 4, timeout=60):
        np.testing.assert_allclose(got, alone(divide_by_all), rtol=1e-12)


@pytest.mark.parametrize("counts", [(3, 1), (1, 3), (0, 2), (2, 2), (0, 0)])
def test_buffers_buckets_no_sync_and_static_graphs_are_mirrored(counts: tuple[int, int]) -> None:
    def rank() -> Any:
        me = dist.get_rank()
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        ddp = DDP(net, bucket_cap_mb=1e-6, static_graph=True)
        assert len(ddp.reducer.buckets) > 3
        with ddp.join():
            for step in range(counts[me]):
                with ddp.no_sync():
                    ddp(tb.ones(2, 3) * step).sum().backward()
                ddp(tb.ones(2, 3)).sum().backward()
                with tb.no_grad():
                    ddp(tb.ones(2, 3))
        return [t.tolist() for t in net.state_dict().values()]

    a, b = dist.local.run(rank, 2, timeout=60)
    assert a == b


def test_throwing_on_early_termination() -> None:
    def rank() -> int:
        ddp = DDP(nn.Linear(1, 1))
        done = 0
        with (
            pytest.raises(RuntimeError, match="at least one rank that exhausted inputs"),
            ddp.join(throw_on_early_termination=True),
        ):
            for _ in range(2 + dist.get_rank()):
                ddp(tb.ones(1, 1)).sum().backward()
                done += 1
        return done

    assert dist.local.run(rank, 3, timeout=60) == [2, 2, 2]


def test_disabled_or_failing_blocks_go_along_with_nobody() -> None:
    def rank() -> None:
        ddp = DDP(nn.Linear(1, 1))
        with ddp.join(enable=False):
            ddp(tb.ones(1, 1)).sum().backward()
        with pytest.raises(KeyError), ddp.join():
            raise KeyError("the user's own")
        ddp(tb.ones(1, 1)).sum().backward()

    dist.local.run(rank, 2, timeout=60)


def test_several_joinables_and_the_last_joiner() -> None:
    log: dict[int, list[Any]] = {}

    class Hook(JoinHook):
        def __init__(self, name: str):
            self.name = name

        def main_hook(self) -> None:
            log[dist.get_rank()].append(self.name)
            dist.all_reduce(tb.zeros(1))

        def post_hook(self, is_last_joiner: bool) -> None:
            log[dist.get_rank()].append((self.name, is_last_joiner))

    class Part(Joinable):
        join_device = tb.device("cpu")
        join_process_group = None

        def __init__(self, name: str):
            self.name = name

        def join_hook(self, **kwargs: Any) -> JoinHook:
            assert kwargs == {"more": 1}
            return Hook(self.name)

        def step(self) -> None:
            Join.notify_join_context(self)
            dist.all_reduce(tb.ones(1))

    def rank() -> None:
        me = dist.get_rank()
        log[me] = []
        parts = [Part("a"), Part("b")]
        with Join(parts, more=1):
            for _ in range(1 + me):
                for part in parts:
                    part.step()

    dist.local.run(rank, 2, timeout=60)
    assert log[0] == ["a", "b", ("a", False), ("b", False)]
    assert log[1] == [("a", True), ("b", True)]
    with pytest.raises(ValueError, match="requires at least one joinable"):
        Join([])
