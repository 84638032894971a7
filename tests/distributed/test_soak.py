"""Rounds of random collectives on several ranks at once, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed import ReduceOp

CALLS = ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "ring")


def part(seed, rank, shape, dtype):
    """What a rank brings to a round: every rank can work out every other's."""
    return np.random.default_rng([seed, rank]).integers(0, 50, shape).astype(dtype)


def one_round(seed, rng, groups):
    """One random operation in one random group; all ranks draw the same numbers."""
    call = CALLS[rng.integers(len(CALLS))]
    group = groups[rng.integers(len(groups))]
    shape = tuple(rng.integers(0, 7, rng.integers(0, 3))) + ((int(10 ** rng.uniform(0, 5)),) * 1)
    dtype = ("float32", "int64", "float64", "uint8", "int16")[rng.integers(5)]
    root, op = (
        rng.integers(dist.get_world_size(group)),
        (ReduceOp.SUM, ReduceOp.MAX)[rng.integers(2)],
    )
    strided, background = rng.integers(2), bool(rng.integers(2))
    me, size = dist.get_rank(group), dist.get_world_size(group)
    parts = [part(seed, r, shape, dtype) for r in range(size)]

    def tensor(array):
        if strided and array.ndim > 1:
            return torch.from_numpy(np.ascontiguousarray(array.T)).permute(*range(array.ndim)[::-1])
        return torch.from_numpy(array.copy())

    def blanks():
        return [torch.zeros(shape, dtype=getattr(torch, dtype)) for _ in range(size)]

    x, works = tensor(parts[me]), []
    total = np.add.reduce(parts, dtype=dtype) if op is ReduceOp.SUM else np.maximum.reduce(parts)
    if call == "all_reduce":
        works.append(dist.all_reduce(x, op, group, background))
        got, want = [x], [total]
    elif call == "broadcast":
        works.append(dist.broadcast(x, group=group, group_src=int(root), async_op=background))
        got, want = [x], [parts[root]]
    elif call == "all_gather":
        got, want = blanks(), parts
        works.append(dist.all_gather(got, x, group, background))
    elif call == "reduce_scatter":
        got, want = blanks()[:1], [total]
        works.append(dist.reduce_scatter(got[0], [x] * size, op, group, background))
    elif call == "all_to_all":
        got, want = blanks(), [p + me for p in parts]
        works.append(dist.all_to_all(got, [x + r for r in range(size)], group, background))
    else:
        got, want = blanks()[:1], [parts[me - 1]]
        if size > 1:
            works.append(dist.isend(x, group=group, group_dst=(me + 1) % size))
            works.append(dist.irecv(got[0], group=group, group_src=(me - 1) % size))
        else:
            got = [x]
    for work in works:
        assert work is None or work.wait()
    for t, array in zip(got, want, strict=True):
        np.testing.assert_array_equal(t.numpy(), array.astype(dtype), f"{call} {shape} {dtype}")


@pytest.mark.parametrize(("backend", "seed"), [("local", 1), ("tcp", 2), ("tcp", 3)])
def test_random_rounds(backend, seed):
    def rank():
        me = dist.get_rank()
        pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        groups = [None, pairs[me // 2], dist.new_group()]
        rng = np.random.default_rng(seed)
        for number in range(50):
            one_round([seed, number], rng, groups)

    dist.local.run(rank, 4, backend=backend, timeout=30)
