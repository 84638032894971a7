"""Ranks that call different things: every one is told so, with both sides, before the time-out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tensorbus.distributed as dist
from tensorbus.plugin import dtype
from tensorbus_conformance import formats
from tensorbus_conformance.comms.case import Accounts, CommCase
from tensorbus_conformance.comms.rank import Rank
from tensorbus_conformance.compare import Mismatch

_FLOAT, _INT = formats.FLOAT32, formats.INT64
SIZES = (10, 100_000)
"""Elements: few go another way than many."""

Call = Callable[[Rank, bool, int], Any]
"""Gets the rank, whether it is the odd one, and a number of elements."""


def cases() -> Iterator[CommCase]:
    """All of them. The last rank is the odd one."""
    for name, call, words, dtypes in _TABLE:
        for n in SIZES:
            yield CommCase(
                f"C2/disagree/any/{name}-{n}", "disagreements", partial(_check, call, n), dtypes, 2,
                partial(_judge, [w.replace("N+8", str(8 * n + 8)) for w in words]), ends=True,
            )  # fmt: skip


def _check(call: Call, n: int, rank: Rank) -> None:
    group = dist.new_group(timeout=rank.timeout)
    dist.all_reduce(rank.tensor([1.0]), group=group)
    rank.sync()
    odd = rank.rank == rank.size - 1
    if rank.attempt(lambda: call(rank, odd, n)(group=group)):
        # Some are through without those that differ: they are told in their next call.
        rank.attempt(lambda: dist.barrier(group))
    rank.sync()
    dist.destroy_process_group()


def _judge(words: list[str], accounts: Accounts) -> None:
    for rank, account in enumerate(accounts):
        raised = account.get("raised")
        if raised is None:
            raise Mismatch(f"rank {rank} raised nothing, though the ranks call different things")
        if raised["type"] != "DistBackendError":
            raise Mismatch(f"rank {rank} raised {raised['type']}: {raised['text']}")
        missing = [word for word in words if word not in raised["text"]]
        if missing:
            raise Mismatch(f"rank {rank} is not told of {missing}: {raised['text']}")


def _x(rank: Rank, n: int, of: dtype = _FLOAT) -> Any:
    return rank.tensor([1] * n, of.name)


def _dtypes(rank: Rank, odd: bool, n: int) -> Any:
    # As many bytes: what comes would be taken for other numbers.
    x = _x(rank, n, _INT) if odd else _x(rank, 2 * n)
    return partial(dist.all_reduce, x)


def _operations(rank: Rank, odd: bool, n: int) -> Any:
    return partial(dist.all_reduce, _x(rank, n), dist.ReduceOp.MAX if odd else dist.ReduceOp.SUM)


def _sizes(rank: Rank, odd: bool, n: int) -> Any:
    return partial(dist.all_reduce, _x(rank, n + odd, _INT))


def _broadcast(rank: Rank, odd: bool, n: int) -> Any:
    x = _x(rank, n, _INT) if odd else _x(rank, 2 * n)
    return partial(dist.broadcast, x, 0)


def _calls(rank: Rank, odd: bool, n: int) -> Any:
    x = _x(rank, n)
    if odd:
        return partial(dist.all_gather, [x.clone() for _ in range(rank.size)], x)
    return partial(dist.all_reduce, x)


_TABLE: tuple[tuple[str, Call, list[str], tuple[dtype, ...]], ...] = (
    ("all_reduce-dtype", _dtypes, ["float32", "int64"], (_FLOAT, _INT)),
    ("all_reduce-operation", _operations, ["sum", "max"], (_FLOAT,)),
    ("all_reduce-size", _sizes, ["N+8"], (_INT,)),
    ("broadcast-dtype", _broadcast, ["float32", "int64"], (_FLOAT, _INT)),
    ("calls", _calls, ["all_reduce", "all_gather"], (_FLOAT,)),
)
