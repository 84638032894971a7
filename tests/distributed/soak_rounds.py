"""Random collectives in random groups; every rank works out with NumPy what it must get."""

import numpy as np

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed import ReduceOp

CALLS = (
    "all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "uneven", "ring",
    "reduce", "gather", "scatter",
)  # fmt: skip
DTYPES = ("float32", "int64", "float64", "uint8", "int16", "float16")
OPS = {ReduceOp.SUM: np.add, ReduceOp.MAX: np.maximum, ReduceOp.MIN: np.minimum}
IN_FLIGHT = 4
"""Rounds that may be running before the results of the first are looked at."""


def part(seed, rank, shape, dtype):
    """What a rank brings to a round: every rank can work out every other's."""
    return np.random.default_rng([*seed, rank]).integers(0, 50, shape).astype(dtype)


class Round:
    """One operation: all ranks draw the same numbers. ``check()`` waits and compares."""

    def __init__(self, seed, rng, groups):
        self.call = CALLS[rng.integers(len(CALLS))]
        self.group = groups[rng.integers(len(groups))]
        self.me, self.size = dist.get_rank(self.group), dist.get_world_size(self.group)
        small = tuple(rng.integers(0, 7, rng.integers(0, 3)))
        self.shape = (*small, int(10 ** rng.uniform(0, 4.5))) if rng.integers(8) else small
        self.dtype = DTYPES[rng.integers(len(DTYPES))]
        self.root = int(rng.integers(self.size))
        self.op = list(OPS)[rng.integers(len(OPS))]
        self.strided, self.background = rng.integers(2), bool(rng.integers(2))
        self.counts = rng.integers(0, 300, (4, 4))
        self.parts = [part(seed, r, self.shape, self.dtype) for r in range(self.size)]
        self.works = []
        self.got, self.want = getattr(self, f"_{self.call}")(self._tensor(self.parts[self.me]))

    def _tensor(self, array):
        if self.strided and array.ndim > 1:
            transposed = torch.from_numpy(np.array(array.T, order="C"))  # a copy in any case
            return transposed.permute(*range(array.ndim)[::-1])
        return torch.from_numpy(np.array(array))  # a sum of 0-dim arrays is none

    def _blank(self, shape=None):
        return torch.zeros(self.shape if shape is None else shape, dtype=getattr(torch, self.dtype))

    def _blanks(self):
        return [self._blank() for _ in range(self.size)]

    def _run(self, call, *arguments, **more):
        self.works.append(call(*arguments, group=self.group, async_op=self.background, **more))

    def _total(self):
        return OPS[self.op].reduce(self.parts, dtype=self.dtype)

    def _all_reduce(self, x):
        self._run(dist.all_reduce, x, self.op)
        return [x], [self._total()]

    def _reduce(self, x):
        self._run(dist.reduce, x, op=self.op, group_dst=self.root)
        return ([x], [self._total()]) if self.me == self.root else ([], [])

    def _broadcast(self, x):
        self._run(dist.broadcast, x, group_src=self.root)
        return [x], [self.parts[self.root]]

    def _all_gather(self, x):
        got = self._blanks()
        self._run(dist.all_gather, got, x)
        return got, self.parts

    def _gather(self, x):
        got = self._blanks() if self.me == self.root else None
        self._run(dist.gather, x, got, group_dst=self.root)
        return (got, self.parts) if got else ([], [])

    def _scatter(self, x):
        got, here = self._blank(), self.me == self.root
        given = [self._tensor(p + self.parts[self.root]) for p in self.parts] if here else None
        self._run(dist.scatter, got, given, group_src=self.root)
        return [got], [self.parts[self.me] + self.parts[self.root]]

    def _reduce_scatter(self, x):
        got = self._blank()
        self._run(dist.reduce_scatter, got, [x] * self.size, self.op)
        return [got], [self._total()]

    def _all_to_all(self, x):
        got = self._blanks()
        self._run(dist.all_to_all, got, [x + r for r in range(self.size)])
        return got, [p + np.array(self.me, p.dtype) for p in self.parts]

    def _uneven(self, x):
        counts = self.counts[: self.size, : self.size]
        out, into = counts[self.me].tolist(), counts[:, self.me].tolist()
        got = self._blank((sum(into),))
        sent = torch.arange(sum(out)).remainder(100).to(got.dtype)
        self._run(dist.all_to_all_single, got, sent, into, out)
        starts = [counts[r, : self.me].sum() for r in range(self.size)]
        want = [np.arange(s, s + n) % 100 for s, n in zip(starts, into, strict=True)]
        return [got], [np.concatenate(want)]

    def _ring(self, x):
        if self.size == 1:
            return [x], self.parts
        got = self._blank()
        after, before = (self.me + 1) % self.size, (self.me - 1) % self.size
        self.works.append(dist.isend(x, group=self.group, group_dst=after))
        self.works.append(dist.irecv(got, group=self.group, group_src=before))
        return [got], [self.parts[self.me - 1]]

    def check(self):
        """Wait, and compare with what NumPy says."""
        for work in self.works:
            assert work is None or work.wait()
        for t, array in zip(self.got, self.want, strict=True):
            about = f"{self.call} {self.shape} {self.dtype} in a group of {self.size}"
            np.testing.assert_array_equal(t.numpy(), array.astype(self.dtype), about)


def rounds(seed, count):
    """As one of four ranks, *count* rounds; ``AssertionError`` at the first difference."""
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    groups = [None, pairs[dist.get_rank() // 2], dist.new_group()]
    rng = np.random.default_rng(seed)
    running = []
    for number in range(count):
        running.append(Round([seed, number], rng, groups))
        if len(running) == IN_FLIGHT:
            running.pop(0).check()
    for one in running:
        one.check()
