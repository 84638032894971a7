"""The sampler of a data-parallel job: each rank reads its own part of the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sized

import tensorbus
from tensorbus.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The part of *dataset*'s indices that belongs to one rank.

    All ranks shuffle alike, from *seed* and the epoch, and take every *num_replicas*-th index. So
    that all have equally many, the first indices are repeated, or with *drop_last* the last ones
    left out. *num_replicas* and *rank* default to those of the process group.

    Args:
        dataset: what is read; only its length counts.
        num_replicas: how many ranks there are.
        rank: this one's number.
        shuffle: whether the order is random, another one in each epoch: call ``set_epoch``.
        seed: the same on all ranks.
        drop_last: leave indices out instead of repeating some.

    Raises:
        ValueError: the rank is not below *num_replicas*; no process group to take them from.

    >>> from tensorbus.utils.data import DistributedSampler
    >>> [list(DistributedSampler(range(5), 2, r, shuffle=False)) for r in range(2)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        if num_replicas is None or rank is None:
            from tensorbus import distributed as dist

            num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
            rank = dist.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            generator = tensorbus.Generator().manual_seed(self.seed + self.epoch)
            indices = tensorbus.randperm(count, generator=generator, device="cpu").tolist()
        if count and self.total_size > count:
            repeats = -(-self.total_size // count)
            indices *= repeats
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass: call it before each, alike on all ranks.

        >>> from tensorbus.utils.data import DistributedSampler
        >>> sampler = DistributedSampler(range(100), 2, 0)
        >>> first = list(sampler)
        >>> sampler.set_epoch(1)
        >>> first == list(sampler)
        False
        """
        self.epoch = epoch
