"""Through the frontend: operations with one root or with lists, whoever composes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
import tensorbus.distributed as dist
from tensorbus.distributed import ReduceOp
from tensorbus.plugin import dtype
from tensorbus_conformance import formats
from tensorbus_conformance.comms.case import Check, CommCase
from tensorbus_conformance.comms.rank import Rank

_DTYPES = (formats.FLOAT32, formats.INT64, formats.BOOL, formats.COMPLEX64)
_D = formats.FLOAT32
_SIZES = (0, 1, 1009, 150_001)


def cases() -> Iterator[CommCase]:
    """All of them."""
    made: tuple[tuple[str, Callable[[dtype, int], Check]], ...] = (
        ("reduce", _reduce),
        ("gather", _gather),
        ("scatter", _scatter),
        ("all_to_all", _all_to_all),
    )
    for op, make in made:
        for d in _DTYPES:
            for n in _SIZES if d is _D else (1009,):
                yield CommCase(f"C1/{op}/{d.name}/{n}", "rooted and lists", make(d, n), (d,))
    for op, name, check in (
        ("all_to_all", "uneven", _uneven),
        ("all_to_all", "rows", _rows),
        ("all_to_all", "lists-of-shapes", _lists_of_shapes),
        ("all_gather", "list-uneven", _gather_uneven),
        ("reduce_scatter", "list-uneven", _scatter_uneven),
        ("all_reduce", "average", _average),
        ("barrier", "monitored", _monitored),
    ):
        yield CommCase(f"C1/{op}/float32/{name}", "rooted and lists", check, (_D,))


def _values(d: dtype, n: int, *seed: int) -> np.ndarray:
    base = np.arange(n) % 97 + sum((i + 1) * 7 * s for i, s in enumerate(seed))
    if d is formats.BOOL:
        return base % 3 == 0
    if d in formats.COMPLEX:
        return (base + 1j * (base % 5)).astype(d.name)
    return base.astype(d.name)


def _tensor(rank: Rank, host: np.ndarray) -> Any:
    return tensorbus.from_numpy(host.copy()).to(rank.device)


def _reduce(d: dtype, n: int) -> Check:
    def check(rank: Rank) -> None:
        rows = np.stack([_values(d, n, r) for r in range(rank.size)])
        sums = rows.any(axis=0) if d is formats.BOOL else rows.sum(axis=0)
        for dst in range(rank.size):
            x = _tensor(rank, rows[rank.rank])
            dist.reduce(x, dst)
            want = sums if rank.rank == dst else rows[rank.rank]
            rank.expect_tensor(x, want, f"to rank {dst}")
            if d not in formats.COMPLEX:
                x = _tensor(rank, rows[rank.rank])
                dist.reduce(x, dst, ReduceOp.MAX)
                want = rows.max(axis=0) if rank.rank == dst else rows[rank.rank]
                rank.expect_tensor(x, want, f"the greatest to rank {dst}")

    return check


def _gather(d: dtype, n: int) -> Check:
    def check(rank: Rank) -> None:
        for dst in range(rank.size):
            here = rank.rank == dst
            out = [_tensor(rank, _values(d, n, 50)) for _ in range(rank.size)] if here else None
            mine = _values(d, n, rank.rank)
            x = _tensor(rank, mine)
            dist.gather(x, out, dst)
            for r, t in enumerate(out or ()):
                rank.expect_tensor(t, _values(d, n, r), f"from rank {r} at {dst}")
            rank.expect_tensor(x, mine, "the tensor given")

    return check


def _scatter(d: dtype, n: int) -> Check:
    def check(rank: Rank) -> None:
        for src in range(rank.size):
            parts = None
            if rank.rank == src:
                parts = [_tensor(rank, _values(d, n, src, r)) for r in range(rank.size)]
            x = _tensor(rank, _values(d, n, 50))
            dist.scatter(x, parts, src)
            rank.expect_tensor(x, _values(d, n, src, rank.rank), f"from rank {src}")

    return check


def _all_to_all(d: dtype, n: int) -> Check:
    def check(rank: Rank) -> None:
        mine = np.concatenate([_values(d, n, rank.rank, r) for r in range(rank.size)])
        want = np.concatenate([_values(d, n, r, rank.rank) for r in range(rank.size)])
        x, out = _tensor(rank, mine), _tensor(rank, np.zeros_like(mine))
        dist.all_to_all_single(out, x)
        rank.expect_tensor(out, want)
        rank.expect_tensor(x, mine, "the tensor given")

    return check


def _count(sender: int, receiver: int) -> int:
    """How much one rank sends another: also nothing, and much more to some."""
    return (sender * 3 + receiver * 5) % 7 * (4000 if (sender, receiver) == (0, 1) else 1)


def _uneven(rank: Rank) -> None:
    everyone, me = range(rank.size), rank.rank
    counts, out_counts = [_count(me, r) for r in everyone], [_count(r, me) for r in everyone]
    mine = np.concatenate([_values(_D, n, me, r) for r, n in enumerate(counts)])
    want = np.concatenate([_values(_D, n, r, me) for r, n in enumerate(out_counts)])
    out = _tensor(rank, np.zeros_like(want))
    dist.all_to_all_single(out, _tensor(rank, mine), out_counts, counts)
    rank.expect_tensor(out, want)


def _rows(rank: Rank) -> None:
    """Uneven parts of a matrix, counted in rows."""
    everyone, me = range(rank.size), rank.rank
    counts, out_counts = (
        [_count(me, r) % 5 for r in everyone],
        [_count(r, me) % 5 for r in everyone],
    )
    mine = np.concatenate([_values(_D, 3 * n, me, r) for r, n in enumerate(counts)])
    want = np.concatenate([_values(_D, 3 * n, r, me) for r, n in enumerate(out_counts)])
    out = _tensor(rank, np.zeros((want.size // 3, 3), np.float32))
    dist.all_to_all_single(out, _tensor(rank, mine.reshape(-1, 3)), out_counts, counts)
    rank.expect_tensor(out, want.reshape(-1, 3))


def _lists_of_shapes(rank: Rank) -> None:
    everyone, me = range(rank.size), rank.rank
    given = [_tensor(rank, _values(_D, 2 * (me + r), me, r).reshape(2, -1)) for r in everyone]
    out = [_tensor(rank, np.zeros((2, me + r), np.float32)) for r in everyone]
    dist.all_to_all(out, given)
    for r in everyone:
        rank.expect_tensor(out[r], _values(_D, 2 * (me + r), r, me).reshape(2, -1), f"from {r}")


def _gather_uneven(rank: Rank) -> None:
    sizes = [(3 * r + 1) % 5 for r in range(rank.size)]
    out = [_tensor(rank, np.zeros(n, np.float32)) for n in sizes]
    dist.all_gather(out, _tensor(rank, _values(_D, sizes[rank.rank], rank.rank)))
    for r, n in enumerate(sizes):
        rank.expect_tensor(out[r], _values(_D, n, r), f"from rank {r}")


def _scatter_uneven(rank: Rank) -> None:
    sizes = [(3 * r + 1) % 5 for r in range(rank.size)]
    given = [_tensor(rank, _values(_D, n, rank.rank, r)) for r, n in enumerate(sizes)]
    out = _tensor(rank, np.zeros(sizes[rank.rank], np.float32))
    dist.reduce_scatter(out, given)
    want = sum(_values(_D, sizes[rank.rank], r, rank.rank) for r in range(rank.size))
    rank.expect_tensor(out, want)


def _average(rank: Rank) -> None:
    x = _tensor(rank, np.full(7, rank.rank * 4, np.float32))
    dist.all_reduce(x, ReduceOp.AVG)
    rank.expect_tensor(x, np.full(7, 2.0 * (rank.size - 1)))
    part = _tensor(rank, np.zeros(2, np.float32))
    whole = _tensor(rank, np.arange(2 * rank.size, dtype=np.float32) * (rank.rank + 1))
    dist.reduce_scatter_tensor(part, whole, ReduceOp.AVG)
    indices = np.arange(2) + 2 * rank.rank
    rank.expect_tensor(part, indices * (rank.size + 1) / 2, "of parts")


def _monitored(rank: Rank) -> None:
    rank.needs_host_memory("monitored barriers")
    for _ in range(3):
        dist.monitored_barrier(timeout=rank.timeout)
