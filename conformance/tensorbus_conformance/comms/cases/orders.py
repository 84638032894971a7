"""Through the frontend: several operations under way at a time, waited for in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus.distributed as dist
from tensorbus.distributed import P2POp, Work
from tensorbus_conformance import formats
from tensorbus_conformance.comms import values
from tensorbus_conformance.comms.case import CommCase
from tensorbus_conformance.comms.rank import Rank
from tensorbus_conformance.compare import Mismatch

_D = formats.FLOAT32


def cases() -> Iterator[CommCase]:
    """All of them."""
    for level, name, check, least in (
        ("C0", "messages-waited-in-any-order", _any_order, 2),
        ("C0", "receives-posted-first", _posted_first, 2),
        ("C0", "batch", _batch, 2),
        ("C0", "to-itself", _to_itself, 1),
        ("C0", "from-any", _from_any, 2),
        ("C1", "collectives-waited-backwards", _backwards, 1),
        ("C1", "mixed-collectives", _mixed, 1),
        ("C1", "groups-in-any-order", _groups, 2),
        ("C1", "messages-beside-collectives", _beside, 2),
    ):
        yield CommCase(f"{level}/async/float32/{name}", "async orders", check, (_D,), least)


def _ring(rank: Rank) -> tuple[int, int]:
    return (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size


def _full(rank: Rank, n: int, value: float) -> Any:
    return rank.tensor(np.full(n, value))


def _send(x: Any, to: int, tag: int = 0) -> Work:
    return _begun(dist.isend(x, to, tag=tag))


def _receive(x: Any, src: int, tag: int = 0) -> Work:
    return _begun(dist.irecv(x, src, tag=tag))


def _begun(work: Work | None) -> Work:
    if work is None:
        raise Mismatch("an operation that was to run beside the program gave no Work")
    return work


def _any_order(rank: Rank) -> None:
    after, before = _ring(rank)
    order = values.generator("order", rank.rank).permutation(10)
    sends = [_send(_full(rank, 100 * i, i), after, tag=i) for i in range(10)]
    outs = {int(i): _full(rank, 100 * int(i), -1) for i in order}
    receives = {i: _receive(out, before, tag=i) for i, out in outs.items()}
    for i in sorted(receives, reverse=True):
        receives[i].wait()
        rank.expect_tensor(outs[i], np.full(100 * i, i), f"message {i}")
    for work in reversed(sends):
        work.wait()


def _posted_first(rank: Rank) -> None:
    after, before = _ring(rank)
    outs = [_full(rank, 50_000, -1) for _ in range(4)]
    receives = [_receive(out, before) for out in outs]
    rank.sync()
    for i in range(4):
        dist.send(_full(rank, 50_000, i), after)
    for i, (work, out) in enumerate(zip(receives, outs, strict=True)):
        work.wait()
        rank.expect(work.source_rank() == before, f"it says rank {work.source_rank()}")
        rank.expect_tensor(out, np.full(50_000, i), f"receive {i}")


def _batch(rank: Rank) -> None:
    others = [r for r in range(rank.size) if r != rank.rank]
    outs = {r: _full(rank, 30_000, -1) for r in others}
    ops = [P2POp(dist.isend, _full(rank, 30_000, rank.rank), r) for r in others]
    ops += [P2POp(dist.irecv, outs[r], r) for r in reversed(others)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    for r, out in outs.items():
        rank.expect_tensor(out, np.full(30_000, r), f"from rank {r}")


def _to_itself(rank: Rank) -> None:
    x = _full(rank, 3, 1)
    rank.expect_error(ValueError, lambda: dist.send(x, rank.rank), "a message to itself")
    rank.expect_error(ValueError, lambda: dist.recv(x, rank.rank), "a message from itself")


def _from_any(rank: Rank) -> None:
    if rank.rank:
        dist.send(_full(rank, 4, rank.rank), 0)
        return
    seen = []
    for _ in range(rank.size - 1):
        out = _full(rank, 4, -1)
        sender = dist.recv(out)
        rank.expect_tensor(out, np.full(4, sender), f"said to be from rank {sender}")
        seen.append(sender)
    rank.expect(sorted(seen) == list(range(1, rank.size)), f"messages came from {seen}")


def _backwards(rank: Rank) -> None:
    tensors = [_full(rank, n, i + rank.rank) for i, n in enumerate((1, 60_000, 3, 200_003) * 2)]
    works = [_begun(dist.all_reduce(x, async_op=True)) for x in tensors]
    for i, (x, work) in reversed(list(enumerate(zip(tensors, works, strict=True)))):
        work.wait()
        want = rank.size * i + sum(range(rank.size))
        rank.expect_tensor(x, np.full(x.shape, want), f"all_reduce {i}")


def _mixed(rank: Rank) -> None:
    n, size = 40, rank.size
    total, shared = _full(rank, n, rank.rank), _full(rank, n, rank.rank)
    gathered = [_full(rank, n, -1) for _ in range(size)]
    part, exchanged = _full(rank, n, -1), _full(rank, n * size, -1)
    own, whole = _full(rank, n, rank.rank), _full(rank, n * size, rank.rank)
    works = [
        dist.all_reduce(total, async_op=True),
        dist.all_gather(gathered, own, async_op=True),
        dist.broadcast(shared, size - 1, async_op=True),
        dist.reduce_scatter_tensor(part, whole, async_op=True),
        dist.barrier(async_op=True),
        dist.all_to_all_single(exchanged, whole, async_op=True),
    ]
    for work in works:
        _begun(work).wait()
    everyone = np.arange(size)
    rank.expect_tensor(total, np.full(n, everyone.sum()), "all_reduce")
    rank.expect_tensor(shared, np.full(n, size - 1), "broadcast")
    rank.expect_tensor(part, np.full(n, everyone.sum()), "reduce_scatter")
    rank.expect_tensor(exchanged, np.repeat(everyone, n), "all_to_all")
    for r, t in enumerate(gathered):
        rank.expect_tensor(t, np.full(n, r), f"all_gather from rank {r}")


def _groups(rank: Rank) -> None:
    """Two groups of the same ranks, used in one order by some and in the other by others."""
    groups = [dist.new_group(list(range(rank.size))) for _ in range(2)]
    order = [0, 1] if rank.rank % 2 else [1, 0]
    for _ in range(3):
        tensors = [_full(rank, 20_001, 1), _full(rank, 20_001, 2)]
        works = [dist.all_reduce(tensors[i], group=groups[i], async_op=True) for i in order]
        for work in works:
            _begun(work).wait()
        for i, x in enumerate(tensors):
            rank.expect_tensor(x, np.full(20_001, rank.size * (i + 1)), f"group {i}")
    rank.sync()
    for group in groups:
        dist.destroy_process_group(group)


def _beside(rank: Rank) -> None:
    """Messages begun before collectives and ended after them."""
    after, before = _ring(rank)
    out, total = _full(rank, 200_000, -1), _full(rank, 200_000, 1)
    receive = _receive(out, before, tag=4)
    dist.all_reduce(total)
    send = _send(_full(rank, 200_000, rank.rank), after, tag=4)
    dist.all_reduce(total)
    dist.barrier()
    receive.wait()
    send.wait()
    rank.expect_tensor(out, np.full(200_000, before), "the message")
    rank.expect_tensor(total, np.full(200_000, rank.size**2), "the sum")
