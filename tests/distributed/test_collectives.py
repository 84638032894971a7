"""Every collective against NumPy: over threads (``local``, ``tcp``) all dtypes, layouts and
groups; over real processes on ``tcp`` once more."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed import ReduceOp

DTYPES = ("bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128").split()
SHAPES = [(), (0,), (1,), (5,), (2, 3), (7, 1, 3)]
UFUNCS = {
    ReduceOp.SUM: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum, ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}  # fmt: skip
JOBS = [("local", 1), ("local", 3), ("tcp", 2), ("tcp", 3), ("tcp", 4)]


def values(rank: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A rank's values: small whole numbers, so that sums are exact in every dtype."""
    rng = np.random.default_rng([rank, len(shape), *shape])
    whole = rng.integers(0, 2 if dtype == "bool" else 5, shape)
    result = np.asarray(whole).astype(dtype)
    return result + 1j * result[::-1] if dtype.startswith("complex") and shape else result


def tensor(rank: int, shape: tuple[int, ...], dtype: str) -> Any:
    return torch.from_numpy(np.array(values(rank, shape, dtype)))


def expected(op: ReduceOp, size: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    parts = [values(r, shape, dtype) for r in range(size)]
    return functools.reduce(UFUNCS[op], parts)


def on_ranks(check: Any, backend: str, size: int, timeout: float = 60) -> list[Any]:
    return dist.local.run(check, size, backend=backend, timeout=timeout)


@pytest.mark.parametrize(("backend", "size"), JOBS)
def test_all_reduce_of_every_dtype_op_and_shape(backend, size):
    def rank() -> None:
        me = dist.get_rank()
        for dtype, shape, op in itertools.product(DTYPES, SHAPES, UFUNCS):
            bitwise = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
            if (bitwise and dtype[0] in "fc") or (dtype[0] == "c" and op is not ReduceOp.SUM):
                continue
            x = tensor(me, shape, dtype)
            before = x._version
            assert dist.all_reduce(x, op) is None
            want = expected(op, size, shape, dtype)
            assert x.numpy().dtype == want.dtype and np.array_equal(x.numpy(), want), (dtype, op)
            assert x._version == before + 1

    on_ranks(rank, backend, size)


@pytest.mark.parametrize(("backend", "size"), JOBS)
def test_large_arrays_of_odd_lengths_take_the_ring(backend, size):
    def rank() -> None:
        me = dist.get_rank()
        for n in (1, 3, 8191, 8193, 70_001, 600_007):
            x = torch.arange(float(n)) * (me + 1)
            dist.all_reduce(x)
            want = np.arange(n, dtype="f4") * (size * (size + 1) / 2)
            np.testing.assert_array_equal(x.numpy(), want)
            y = torch.arange(n) + 7 * me
            dist.broadcast(y, src=size - 1)
            assert (y == torch.arange(n) + 7 * (size - 1)).all()
            whole = torch.empty(size * n)
            dist.all_gather_into_tensor(whole, torch.full((n,), float(me)))
            assert (whole.view(size, n) == torch.arange(float(size))[:, None]).all()
            part = torch.empty(n, dtype=torch.int32)
            full = (torch.arange(size * n, dtype=torch.int32)) * (me + 1)
            dist.reduce_scatter_tensor(part, full, ReduceOp.SUM)
            want = np.arange(size * n).reshape(size, n)[me] * (size * (size + 1) // 2)
            np.testing.assert_array_equal(part.numpy(), want)
            assert full[-1] == (size * n - 1) * (me + 1)

    on_ranks(rank, backend, size)


@pytest.mark.parametrize(("backend", "size"), JOBS)
def test_averages_divide_integers_towards_zero(backend, size):
    def rank() -> None:
        me = dist.get_rank()
        x = torch.tensor([1.0, me])
        dist.all_reduce(x, ReduceOp.AVG)
        assert x.tolist() == [1.0, (size - 1) / 2]
        n = torch.tensor([-me - 1, me + 1])
        dist.all_reduce(n, ReduceOp.AVG)
        whole = size * (size + 1) // 2 // size
        assert n.tolist() == [-whole, whole]
        out = torch.empty(1)
        dist.reduce_scatter(out, [torch.tensor([float(me)])] * size, ReduceOp.AVG)
        assert out.item() == (size - 1) / 2

    on_ranks(rank, backend, size)


@pytest.mark.parametrize(("backend", "size"), JOBS)
def test_strided_tensors_are_packed_and_unpacked(backend, size):
    def rank() -> None:
        me = dist.get_rank()
        base = torch.arange(24.0).reshape(4, 6) * (me + 1)
        want = np.arange(24.0).reshape(4, 6) * (me + 1)
        total = np.arange(24.0).reshape(4, 6) * size * (size + 1) / 2
        dist.all_reduce(base[:, ::2])
        want[:, ::2] = total[:, ::2]
        assert np.array_equal(base.numpy(), want)
        dist.all_reduce(base.t()[3])
        want[:, 3] = total[:, 3]
        assert np.array_equal(base.numpy(), want)
        out = torch.zeros(3, size).t()
        dist.all_gather_into_tensor(out, torch.full((3,), float(me)).as_strided((3,), (1,)))
        assert np.array_equal(out.numpy(), np.arange(size)[:, None] + np.zeros(3))
        lists = [torch.zeros(4)[::2] for _ in range(size)]
        dist.all_gather(lists, torch.tensor([[me, 9.0], [me + 1.0, 9.0]])[:, 0])
        assert [t.tolist() for t in lists] == [[r, r + 1] for r in range(size)]

    on_ranks(rank, backend, size)


@pytest.mark.parametrize(("backend", "size"), JOBS)
def test_rooted_collectives(backend, size):
    def rank() -> None:
        me = dist.get_rank()
        for root, dtype in itertools.product(range(size), ("float32", "int16", "bool")):
            x = tensor(me, (2, 3), dtype)
            dist.reduce(x, root, ReduceOp.MAX)
            want = expected(ReduceOp.MAX, size, (2, 3), dtype)
            assert np.array_equal(x.numpy(), want if me == root else values(me, (2, 3), dtype))
            own = tensor(me, (2,), dtype)
            out = [torch.zeros_like(own) for _ in range(size)] if me == root else None
            dist.gather(own, out, root)
            if me == root:
                for r, t in enumerate(out):
                    assert np.array_equal(t.numpy(), values(r, (2,), dtype))
            parts = [tensor(r + 10, (3,), dtype) for r in range(size)] if me == root else None
            got = torch.zeros(3, dtype=getattr(torch, dtype))
            dist.scatter(got, parts, src=root)
            assert np.array_equal(got.numpy(), values(me + 10, (3,), dtype))

    on_ranks(rank, backend, size)


@pytest.mark.parametrize(("backend", "size"), JOBS)
def test_all_to_all_even_and_uneven(backend, size):
    def rank() -> None:
        me = dist.get_rank()
        out = torch.zeros(size * 2, 3)
        dist.all_to_all_single(out, torch.arange(size * 6.0).reshape(size * 2, 3) + 100 * me)
        want = [np.arange(size * 6).reshape(size, 2, 3)[me] + 100 * r for r in range(size)]
        assert np.array_equal(out.numpy(), np.concatenate(want))
        # Rank r sends r + i rows to rank i: one block is empty.
        sent, got = [me + i for i in range(size)], [r + me for r in range(size)]
        rows = torch.arange(float(sum(sent)))[:, None] + 1000 * me
        into = torch.zeros(sum(got), 1)
        dist.all_to_all_single(into, rows, got, sent)
        starts = [sum(r + i for i in range(me)) for r in range(size)]
        blocks = zip(range(size), starts, got, strict=True)
        want = [1000 * r + start + np.arange(n) for r, start, n in blocks]
        assert np.array_equal(into.numpy()[:, 0], np.concatenate(want))
        outs = [torch.zeros(r + me) for r in range(size)]
        dist.all_to_all(outs, [torch.full((n,), float(me)) for n in sent])
        assert [t.tolist() for t in outs] == [[float(r)] * (r + me) for r in range(size)]

    on_ranks(rank, backend, size)


@pytest.mark.parametrize(("backend", "size"), JOBS)
def test_lists_of_uneven_sizes(backend, size):
    def rank() -> None:
        me = dist.get_rank()
        outs = [torch.zeros(r) for r in range(size)]
        dist.all_gather(outs, torch.full((me,), me + 0.5))
        assert [t.tolist() for t in outs] == [[r + 0.5] * r for r in range(size)]
        out = torch.zeros(me + 1)
        dist.reduce_scatter(out, [torch.full((r + 1,), float(r)) for r in range(size)])
        assert out.tolist() == [float(me * size)] * (me + 1)

    on_ranks(rank, backend, size)


@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_groups_are_independent_and_number_their_own_ranks(backend):
    def rank() -> None:
        me = dist.get_rank()
        odd, even = dist.new_group([3, 1]), dist.new_group([0, 2])
        mine, other = (odd, even) if me % 2 else (even, odd)
        assert other == dist.GroupMember.NON_GROUP_MEMBER
        assert dist.get_rank(mine) == me // 2 and dist.get_rank(other) == -1
        assert dist.get_process_group_ranks(mine) == [me % 2, me % 2 + 2]
        x = torch.tensor([float(me)])
        works = [dist.all_reduce(x, group=mine, async_op=True) for _ in range(3)]
        y = torch.tensor([1.0])
        dist.all_reduce(y)
        assert [w.wait() for w in works] == [True] * 3
        assert x.item() == (2 * (me % 2) + 2) * 4 and y.item() == 4
        dist.broadcast(x, src=me % 2 + 2, group=mine)
        with pytest.raises(ValueError, match=r"Global rank \d is not part of group"):
            dist.broadcast(x, src=1 - me % 2, group=mine)
        if me == 0:
            with pytest.warns(UserWarning, match="does not belong to the given group"):
                assert dist.broadcast(x, src=0, group=other) is None
        dist.barrier()

    if backend == "local":
        on_ranks(rank, backend, 4)


def test_a_split_group():
    def rank() -> Any:
        part = dist.split_group(split_ranks=[[2, 0], [1]])
        if part is None:
            return None
        x = torch.tensor([dist.get_rank() + 1])
        dist.all_reduce(x, group=part)
        return dist.get_rank(part), x.item()

    assert on_ranks(rank, "tcp", 4) == [(0, 4), (0, 2), (1, 4), None]


def test_every_collective_over_processes(run_job):
    run_job(
        """
start()
for n in (1, 5, 40_003):
    x = torch.arange(float(n)) + RANK
    work = dist.all_reduce(x, async_op=True)
    assert work.wait() and work.is_success()
    assert x.tolist() == [SIZE * i + sum(range(SIZE)) for i in range(n)]
    dist.broadcast(x, 1); dist.barrier()
    outs = [torch.zeros(n) for _ in range(SIZE)]
    dist.all_gather(outs, torch.full((n,), float(RANK)))
    assert [t[0].item() for t in outs] == list(range(SIZE))
    own = torch.zeros(n)
    dist.reduce_scatter(own, outs)
    assert (own == SIZE * RANK).all()
    dist.all_to_all(outs, [torch.full((n,), 10.0 * RANK + r) for r in range(SIZE)])
    assert [t[-1].item() for t in outs] == [10.0 * r + RANK for r in range(SIZE)]
    dist.gather(own, outs if RANK == 2 else None, 2)
    dist.scatter(own, outs if RANK == 2 else None, 2)
    assert (own == SIZE * RANK).all()
words = [None] * SIZE
dist.all_gather_object(words, {"rank": RANK, "text": "x" * 10 ** RANK})
assert [w["rank"] for w in words] == list(range(SIZE))
dist.destroy_process_group()
""",
        size=3,
    )
