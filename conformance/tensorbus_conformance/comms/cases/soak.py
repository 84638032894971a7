"""Rounds of random collectives, the same on all ranks, each compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats
from tensorbus_conformance.comms import values
from tensorbus_conformance.comms.case import CommCase
from tensorbus_conformance.comms.rank import Rank

_STEPS = 8
"""Collectives in a round."""
_SIZES = (0, 1, 2, 7, 64, 1009, 8191, 20_000, 131_072, 300_007)

Step = Callable[[Rank, Any, dtype, int], None]


def case(seed: int, number: int) -> CommCase:
    """One round."""
    return CommCase(
        f"C1/soak/any/seed-{seed}-round-{number}", "soak", partial(_round, seed, number)
    )


def _round(seed: int, number: int, rank: Rank) -> None:
    random = values.generator("soak", seed, number)
    claimed = rank.claims()
    known = [d for d in formats.ALL if d in claimed]
    for step in range(_STEPS):
        d = known[random.integers(len(known))]
        n = int(random.choice(_SIZES))
        kind = _KINDS[random.integers(len(_KINDS))]
        before = len(rank.wrong)
        kind(rank, random, d, n)
        rank.wrong[before:] = [
            f"step {step}, {kind.__name__.strip('_')} of {n} {d.name}: {text}"
            for text in rank.wrong[before:]
        ]


def _op(random: Any, d: dtype) -> str:
    ops = values.ops_of(d)
    return ops[random.integers(len(ops))]


def _all_reduce(rank: Rank, random: Any, d: dtype, n: int) -> None:
    op = _op(random, d)
    rows = values.operands(d, op, n, rank.size, int(random.integers(1 << 30)))
    array = rank.encoded(rows[rank.rank], d)
    rank.comm.all_reduce(array, d, op, rank.timeout)
    rank.expect_values(array, values.combined(rows, op), d, op)
    rank.same(array, d)


def _reduce_scatter(rank: Rank, random: Any, d: dtype, n: int) -> None:
    op, each = _op(random, d), n // rank.size
    rows = values.operands(d, op, each * rank.size, rank.size, int(random.integers(1 << 30)))
    array, out = rank.encoded(rows[rank.rank], d), rank.blank(each, d)
    rank.comm.reduce_scatter(out, array, d, op, rank.timeout)
    mine = slice(each * rank.rank, each * (rank.rank + 1))
    rank.expect_values(out, values.combined(rows, op)[mine], d, op)


def _all_gather(rank: Rank, random: Any, d: dtype, n: int) -> None:
    seed, each = int(random.integers(1 << 30)), n // rank.size
    rows = [values.any_bits(d, each, seed, r) for r in range(rank.size)]
    out = rank.blank(each * rank.size, d)
    rank.comm.all_gather(out, rank.array(rows[rank.rank], d), d, rank.timeout)
    rank.expect_bits(out, np.concatenate(rows), d)


def _broadcast(rank: Rank, random: Any, d: dtype, n: int) -> None:
    src, seed = int(random.integers(rank.size)), int(random.integers(1 << 30))
    sent = values.any_bits(d, n, seed)
    array = rank.array(sent, d) if rank.rank == src else rank.blank(n, d)
    rank.comm.broadcast(array, d, src, rank.timeout)
    rank.expect_bits(array, sent, d, f"of rank {src}")


def _exchange(rank: Rank, random: Any, d: dtype, n: int) -> None:
    """Messages along a random permutation."""
    order = random.permutation(rank.size).tolist()
    seed, tag = int(random.integers(1 << 30)), int(random.integers(100))
    position = order.index(rank.rank)
    to, src = order[(position + 1) % rank.size], order[position - 1]
    if to == rank.rank:
        return
    mine = rank.array(values.any_bits(d, n, seed, rank.rank), d)
    rank.comm.send(mine, d, to, tag, rank.timeout)
    out = rank.blank(n, d)
    rank.comm.recv(out, d, src, tag, rank.timeout)
    rank.expect_bits(out, values.any_bits(d, n, seed, src), d, f"from rank {src}")


def _barrier(rank: Rank, random: Any, d: dtype, n: int) -> None:
    rank.comm.barrier(rank.timeout)


_KINDS: tuple[Any, ...] = (
    _all_reduce, _all_reduce, _reduce_scatter, _all_gather, _broadcast, _exchange, _barrier,
)  # fmt: skip
