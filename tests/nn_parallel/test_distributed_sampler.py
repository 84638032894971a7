"""Each rank reads its own part of a dataset."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tensorbus
import tensorbus.distributed as dist
from tensorbus.utils.data import DataLoader, DistributedSampler


@pytest.mark.parametrize("count", [1, 2, 7, 12, 13])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("drop_last", [False, True])
def test_parts_without_shuffling_are_pytorchs(
    count: int, size: int, drop_last: bool, oracle: Any
) -> None:
    def program(m: Any) -> Any:
        kind = m.utils.data.DistributedSampler
        options = {"num_replicas": size, "shuffle": False, "drop_last": drop_last}
        samplers = [kind(range(count), rank=rank, **options) for rank in range(size)]
        return [(list(sampler), len(sampler)) for sampler in samplers]

    assert program(tensorbus) == oracle(program)


@pytest.mark.parametrize("drop_last", [False, True])
def test_shuffled_parts_cover_the_dataset_evenly(drop_last: bool) -> None:
    samplers = [DistributedSampler(range(50), 4, r, drop_last=drop_last) for r in range(4)]
    orders = []
    for epoch in range(3):
        for s in samplers:
            s.set_epoch(epoch)
        parts = [list(s) for s in samplers]
        assert [len(p) for p in parts] == [12 if drop_last else 13] * 4
        seen = Counter(i for p in parts for i in p)
        assert set(seen) <= set(range(50))
        assert len(seen) == (48 if drop_last else 50)
        assert sum(seen.values()) == (48 if drop_last else 52)
        orders.append(parts)
    assert orders[0] != orders[1] != orders[2]
    samplers[0].set_epoch(0)
    assert list(samplers[0]) == orders[0][0]


def test_the_seed_counts_and_the_group_gives_the_ranks() -> None:
    assert list(DistributedSampler(range(99), 1, 0)) != list(
        DistributedSampler(range(99), 1, 0, seed=7)
    )

    def rank() -> list[list[int]]:
        sampler = DistributedSampler(list(range(8)), shuffle=False)
        loader = DataLoader(list(range(8)), batch_size=2, sampler=sampler)
        return [batch.tolist() for batch in loader]

    assert dist.local.run(rank, 2) == [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1"):
        DistributedSampler(range(4), 2, 2)
    with pytest.raises(ValueError, match="process group has not been initialized"):
        DistributedSampler(range(4))
