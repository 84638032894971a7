"""Groups: of some ranks, in any order, of other groups, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tensorbus.distributed as dist
from tensorbus.plugin import Comm
from tensorbus_conformance import formats
from tensorbus_conformance.comms.case import CommCase
from tensorbus_conformance.comms.rank import Rank

_D = formats.INT64


def cases() -> Iterator[CommCase]:
    """All of them."""
    for name, check, least in (
        ("of-one-rank", _of_one, 1),
        ("some-ranks", _some, 2),
        ("reversed", _reversed, 2),
        ("shuffled-some", _shuffled, 3),
        ("several-at-once", _several, 3),
        ("messages-apart", _apart, 2),
        ("split", _split, 2),
        ("split-of-split", _split_twice, 4),
        ("parent-closed", _parent_closed, 2),
        ("made-and-left-often", _often, 2),
    ):
        yield CommCase(f"C0/group/int64/{name}", "groups", check, (_D,), least)


def _gathered(rank: Rank, comm: Comm, members: Sequence[int], what: str) -> None:
    """All calls count ranks within the group, in the order of its members."""
    n, own = len(members), comm.context.rank
    out = rank.blank(2 * n, _D)
    mine = rank.array(np.array([rank.rank, 10 * rank.rank]), _D)
    comm.all_gather(out, mine, _D, rank.timeout)
    want = [x for r in members for x in (r, 10 * r)]
    rank.expect_values(out, np.array(want), _D, f"{what}: all_gather")
    array = rank.array(np.array([rank.rank]), _D)
    comm.broadcast(array, _D, n - 1, rank.timeout)
    rank.expect_values(array, np.array([members[-1]]), _D, f"{what}: broadcast of the last")
    comm.all_reduce(mine, _D, "sum", rank.timeout)
    rank.expect_values(mine, np.array([sum(members), 10 * sum(members)]), _D, f"{what}: all_reduce")
    parts = rank.array(np.arange(n) + rank.rank, _D)
    part = rank.blank(1, _D)
    comm.reduce_scatter(part, parts, _D, "sum", rank.timeout)
    rank.expect_values(part, np.array([sum(members) + n * own]), _D, f"{what}: reduce_scatter")
    comm.barrier(rank.timeout)
    if n > 1:
        array = rank.array(np.array([rank.rank]), _D)
        comm.send(array, _D, (own + 1) % n, 0, rank.timeout)
        sender = comm.recv(array, _D, (own - 1) % n, 0, rank.timeout)
        rank.expect(sender == (own - 1) % n, f"{what}: recv says {sender}, which is no group rank")
        rank.expect_values(array, np.array([members[own - 1]]), _D, f"{what}: recv")


def _of_one(rank: Rank) -> None:
    _gathered(rank, rank.open(f"one-{rank.rank}", [rank.rank]), [rank.rank], "a group of one")


def _some(rank: Rank) -> None:
    members = list(range(0, rank.size, 2))
    group = dist.new_group(members)
    if rank.rank in members:
        _gathered(rank, group.comm(rank.name), members, "every second rank")
        dist.destroy_process_group(group)
    else:
        rank.expect(group == dist.GroupMember.NON_GROUP_MEMBER, f"a rank outside got {group}")
        rank.expect(dist.get_rank(group) == -1, f"its rank is {dist.get_rank(group)}")


def _reversed(rank: Rank) -> None:
    members = list(reversed(range(rank.size)))
    _gathered(rank, rank.open("reversed", members), members, "ranks in reverse")
    rank.sync()


def _shuffled(rank: Rank) -> None:
    members = [rank.size - 1, 0, 1]
    if rank.rank in members:
        _gathered(rank, rank.open("shuffled", members), members, "some ranks in disorder")
    rank.sync()


def _several(rank: Rank) -> None:
    """Overlapping groups, used in turn."""
    lists = [[0, 1], [1, 2], [0, 2], list(range(rank.size))]
    groups = [(m, dist.new_group(m)) for m in lists]
    for _ in range(3):
        for members, group in groups:
            if rank.rank in members:
                _gathered(rank, group.comm(rank.name), members, f"group {members}")
    _leave(rank, [group for _, group in groups])


def _leave(rank: Rank, groups: Sequence[Any]) -> None:
    rank.sync()
    for group in groups:
        dist.destroy_process_group(group)


def _apart(rank: Rank) -> None:
    """Messages of one group are not received in another, nor by another's tags."""
    one, two = rank.open("one"), rank.open("two")
    after, before = (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size
    for comm, value in ((two, 2), (one, 1)):
        comm.send(rank.array(np.array([value]), _D), _D, after, 0, rank.timeout)
    for comm, value in ((one, 1), (two, 2)):
        out = rank.blank(1, _D)
        comm.recv(out, _D, before, 0, rank.timeout)
        rank.expect_values(out, np.array([value]), _D, f"group {value}")
    for comm, value in ((one, 1), (two, 2)):
        out = rank.blank(1, _D)
        comm.send(rank.array(np.array([value]), _D), _D, after, 0, rank.timeout)
        comm.recv(out, _D, None, 0, rank.timeout)
        rank.expect_values(out, np.array([value]), _D, f"group {value}, from any")
    rank.sync()


def _halves(size: int) -> list[list[int]]:
    return [list(range(size // 2)), list(range(size // 2, size))]


def _split(rank: Rank) -> None:
    halves = _halves(rank.size)
    mine = next(h for h in halves if rank.rank in h)
    group = dist.split_group(None, halves)
    rank.expect(group is not None, "split_group gave a member None")
    if group is not None:
        _gathered(rank, group.comm(rank.name), mine, "a half")
        _leave(rank, [group])


def _split_twice(rank: Rank) -> None:
    half = next(h for h in _halves(rank.size) if rank.rank in h)
    group = dist.split_group(None, _halves(rank.size))
    quarters = _halves(len(half))
    mine = next([half[i] for i in q] for q in quarters if half.index(rank.rank) in q)
    small = dist.split_group(group, quarters)
    assert group is not None and small is not None
    _gathered(rank, small.comm(rank.name), mine, "a quarter")
    _gathered(rank, group.comm(rank.name), half, "the half it comes from")
    _leave(rank, [small, group])


def _parent_closed(rank: Rank) -> None:
    """A group goes on when the one that it was made of is left."""
    everyone = list(range(rank.size))
    parent = dist.new_group(everyone)
    child = dist.split_group(parent, [everyone])
    assert child is not None
    _gathered(rank, parent.comm(rank.name), everyone, "the parent")
    rank.sync()
    dist.destroy_process_group(parent)
    _gathered(rank, child.comm(rank.name), everyone, "a group whose parent was left")
    _leave(rank, [child])


def _often(rank: Rank) -> None:
    everyone = list(range(rank.size))
    for i in range(10):
        group = dist.new_group(everyone)
        _gathered(rank, group.comm(rank.name), everyone, f"group number {i}")
        dist.destroy_process_group(group)
