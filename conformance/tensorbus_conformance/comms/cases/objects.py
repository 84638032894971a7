"""Through the frontend: Python objects, small and large, of different size on each rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorbus.distributed as dist
from tensorbus_conformance import formats
from tensorbus_conformance.comms.case import CommCase
from tensorbus_conformance.comms.rank import Rank


def cases() -> Iterator[CommCase]:
    """All of them."""
    for op, check, least in (
        ("all_gather_object", _all_gather, 1),
        ("gather_object", _gather, 1),
        ("broadcast_object_list", _broadcast, 1),
        ("scatter_object_list", _scatter, 1),
        ("send_object_list", _send, 2),
    ):
        dtypes = formats.UINT8, formats.INT64
        yield CommCase(f"C1/{op}/any/objects", "objects", check, dtypes, least)


def _thing(r: int) -> dict[str, Any]:
    return {"rank": r, "words": ["é"] * r, "bytes": b"x" * (r * 70_001), "none": None}


def _all_gather(rank: Rank) -> None:
    rank.needs_host_memory("objects")
    out: list[Any] = [None] * rank.size
    dist.all_gather_object(out, _thing(rank.rank))
    rank.expect(out == [_thing(r) for r in range(rank.size)], "other objects came")


def _gather(rank: Rank) -> None:
    rank.needs_host_memory("objects")
    for dst in range(rank.size):
        out: list[Any] | None = [None] * rank.size if rank.rank == dst else None
        dist.gather_object(_thing(rank.rank), out, dst)
        good = out is None or out == [_thing(r) for r in range(rank.size)]
        rank.expect(good, f"other objects came to rank {dst}")


def _broadcast(rank: Rank) -> None:
    rank.needs_host_memory("objects")
    for src in range(rank.size):
        sent = [_thing(src), "text", src]
        objects = list(sent) if rank.rank == src else [None] * 3
        dist.broadcast_object_list(objects, src)
        rank.expect(objects == sent, f"other objects came from rank {src}")


def _scatter(rank: Rank) -> None:
    rank.needs_host_memory("objects")
    for src in range(rank.size):
        given = [_thing(r) for r in range(rank.size)] if rank.rank == src else None
        out: list[Any] = [None]
        dist.scatter_object_list(out, given, src)
        rank.expect(out == [_thing(rank.rank)], f"another object came from rank {src}")


def _send(rank: Rank) -> None:
    rank.needs_host_memory("objects")
    out: list[Any] = [None, None]
    if rank.rank % 2 == 0:
        if rank.rank + 1 < rank.size:
            dist.send_object_list([_thing(rank.rank), "end"], rank.rank + 1)
    else:
        sender = dist.recv_object_list(out, rank.rank - 1)
        rank.expect(sender == rank.rank - 1, f"said to be from rank {sender}")
        rank.expect(out == [_thing(rank.rank - 1), "end"], "other objects came")
