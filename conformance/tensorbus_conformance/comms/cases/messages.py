"""``send`` and ``recv`` by the contract."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from tensorbus.plugin import CommError, CommTimeout, dtype
from tensorbus_conformance import formats
from tensorbus_conformance.comms import values
from tensorbus_conformance.comms.case import Check, CommCase
from tensorbus_conformance.comms.rank import Rank, beside

_CROSSING = 16 << 20
"""Bytes: more than a system keeps for a connection."""
_NUMBER, _BYTE = formats.INT64, formats.UINT8


def cases() -> Iterator[CommCase]:
    """All of them."""
    for d in formats.ALL:
        for n in (*values.SIZES, values.large(d)) if d in values.CHIEF else (values.SIZES[-1],):
            id = f"C0/send/{d.name}/ring-{n}"
            yield CommCase(id, "messages", _ring(d, n), (d,), 2, chief=d in values.CHIEF)
    for op, name, check in (
        ("send", "crossing", _crossing),
        ("send", "in-order", _in_order),
        ("send", "many-small", _many_small),
        ("send", "sender-away", _sender_away),
        ("send", "array-is-free-after", _free_after),
        ("recv", "tags-apart", _tags_apart),
        ("recv", "tags-of-64-bits", _wide_tags),
        ("recv", "from-any", _from_any),
        ("recv", "from-any-by-tag", _from_any_by_tag),
        ("recv", "sources-apart", _sources_apart),
        ("recv", "wrong-size", _wrong_size),
        ("recv", "late", _late),
        ("recv", "several-wait", _several_wait),
    ):
        yield CommCase(f"C0/{op}/int64/{name}", "messages", check, (_NUMBER, _BYTE), 2)


def _send(rank: Rank, numbers: object, to: int, tag: int = 0) -> None:
    array = rank.array(np.atleast_1d(np.asarray(numbers, np.int64)), _NUMBER)
    rank.comm.send(array, _NUMBER, to % rank.size, tag, rank.timeout)


def _recv(
    rank: Rank, count: int, src: int | None, tag: int = 0, timeout: float | None = None
) -> tuple[list[int], int]:
    array = rank.blank(count, _NUMBER)
    peer = None if src is None else src % rank.size
    sender = rank.comm.recv(array, _NUMBER, peer, tag, timeout or rank.timeout)
    return rank.host(array, _NUMBER).tolist(), sender


def _ring(d: dtype, n: int) -> Check:
    def check(rank: Rank) -> None:
        mine = values.any_bits(d, n, rank.rank)
        before = (rank.rank - 1) % rank.size
        out = rank.blank(n, d)
        rank.comm.send(rank.array(mine, d), d, (rank.rank + 1) % rank.size, 3, rank.timeout)
        sender = rank.comm.recv(out, d, before, 3, rank.timeout)
        rank.expect(sender == before, f"recv said rank {sender} sent, it was {before}")
        rank.expect_bits(out, values.any_bits(d, n, before), d)

    return check


def _crossing(rank: Rank) -> None:
    """Both of a pair send much before either receives."""
    partner = rank.rank ^ 1
    if partner >= rank.size:
        return
    mine = values.any_bits(_BYTE, _CROSSING, rank.rank)
    rank.comm.send(rank.array(mine, _BYTE), _BYTE, partner, 0, rank.timeout)
    out = rank.blank(_CROSSING, _BYTE)
    rank.comm.recv(out, _BYTE, partner, 0, rank.timeout)
    rank.expect_bits(out, values.any_bits(_BYTE, _CROSSING, partner), _BYTE)


def _in_order(rank: Rank) -> None:
    """Messages of one tag between two ranks, small and large, come in their order."""
    sizes = [1, 5000, 2, 0, 70_000, 3] * 8
    for i, n in enumerate(sizes):
        _send(rank, np.full(n, i), rank.rank + 1)
    for i, n in enumerate(sizes):
        got, _ = _recv(rank, n, rank.rank - 1)
        rank.expect(got == [i] * n, f"message {i} holds {got[:3]}")


def _many_small(rank: Rank) -> None:
    for i in range(300):
        _send(rank, [rank.rank, i], rank.rank + 1, i % 3)
    got = [_recv(rank, 2, rank.rank - 1, i % 3)[0] for i in range(300)]
    before = (rank.rank - 1) % rank.size
    rank.expect(got == [[before, i] for i in range(300)], f"got {got[:4]} and so on")


def _sender_away(rank: Rank) -> None:
    """What was sent arrives while its sender computes, and makes no call of the comm."""
    label = f"{rank.setting.label}/{rank.case}"
    if rank.rank == 0:
        for i in range(300):
            _send(rank, [i], 1)
        rank.store.set(f"{label}/sent", "1")
        rank.store.wait([f"{label}/got"], 2 * rank.timeout)
    elif rank.rank == 1:
        rank.store.wait([f"{label}/sent"], rank.timeout)
        got = [_recv(rank, 1, 0)[0] for _ in range(300)]
        rank.store.set(f"{label}/got", "1")
        rank.expect(got == [[i] for i in range(300)], f"got {got[:4]} and so on")


def _free_after(rank: Rank) -> None:
    """When ``send`` returns, the array may be written again."""
    for n in (1, 40_000):
        array = rank.array(np.full(n, 7, np.int64), _NUMBER)
        rank.comm.send(array, _NUMBER, (rank.rank + 1) % rank.size, n, rank.timeout)
        rank.fill(array, _NUMBER, -1)
        time.sleep(0.02)
        got, _ = _recv(rank, n, rank.rank - 1, n)
        rank.expect(got == [7] * n, f"of {n} elements: got {got[:3]}, sent 7 and written after it")


def _tags_apart(rank: Rank) -> None:
    for tag in range(8):
        _send(rank, [tag], rank.rank + 1, tag)
    for tag in reversed(range(8)):
        got, _ = _recv(rank, 1, rank.rank - 1, tag)
        rank.expect(got == [tag], f"a receive with tag {tag} got the message of tag {got[0]}")


def _wide_tags(rank: Rank) -> None:
    tags = [0, -1, 2**31 - 1, -(2**40), 2**62]
    for i, tag in enumerate(tags):
        _send(rank, [i], rank.rank + 1, tag)
    for i, tag in reversed(list(enumerate(tags))):
        got, _ = _recv(rank, 1, rank.rank - 1, tag)
        rank.expect(got == [i], f"a receive with tag {tag} got the message of tag {tags[got[0]]}")


def _from_any(rank: Rank) -> None:
    """A receive from any takes each message once, says whose it is, and keeps each one's order."""
    each = 10
    if rank.rank:
        for i in range(each):
            _send(rank, [rank.rank, i], 0, 5)
        return
    seen: dict[int, list[int]] = {}
    for _ in range(each * (rank.size - 1)):
        (who, i), sender = _recv(rank, 2, None, 5)
        rank.expect(who == sender, f"recv said rank {sender} sent what rank {who} did")
        seen.setdefault(who, []).append(i)
    want = {r: list(range(each)) for r in range(1, rank.size)}
    rank.expect(seen == want, f"by sender: {seen}")


def _from_any_by_tag(rank: Rank) -> None:
    _send(rank, [1], rank.rank + 1, 1)
    _send(rank, [2], rank.rank + 1, 2)
    for tag in (2, 1):
        got, sender = _recv(rank, 1, None, tag)
        rank.expect(got == [tag], f"a receive with tag {tag} got the message of tag {got[0]}")
        rank.expect(sender == (rank.rank - 1) % rank.size, f"said to be from rank {sender}")


def _sources_apart(rank: Rank) -> None:
    """Each rank hears all others, the last first."""
    others = [r for r in range(rank.size) if r != rank.rank]
    for r in others:
        _send(rank, [rank.rank], r)
    for r in reversed(others):
        got, sender = _recv(rank, 1, r)
        rank.expect((got, sender) == ([r], r), f"from rank {r}: got {got}, said from {sender}")


def _wrong_size(rank: Rank) -> None:
    comm = rank.open("wrong")
    after, before = (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size
    for sent, wanted in ((5, 6), (6, 5), (0, 1), (1, 0)):
        array = rank.array(np.zeros(sent, np.int64), _NUMBER)
        comm.send(array, _NUMBER, after, 0, rank.timeout)
        out = rank.blank(wanted, _NUMBER)
        rank.expect_error(
            CommError, partial(comm.recv, out, _NUMBER, before, 0, rank.timeout),
            f"receiving {sent} elements into {wanted}",
        )  # fmt: skip
    rank.sync()


def _late(rank: Rank) -> None:
    """A receive that waits in vain says so in time; the message may still come."""
    comm, before = rank.open("late"), (rank.rank - 1) % rank.size
    out = rank.blank(1, _NUMBER)
    for src in (before, None):
        begun = time.monotonic()
        error = rank.expect_error(
            CommTimeout, partial(comm.recv, out, _NUMBER, src, 4, 0.3), "a receive in vain"
        )
        seconds = time.monotonic() - begun
        rank.expect(
            0.2 < seconds < rank.timeout, f"a time-out of 0.3 seconds came after {seconds:.2f}"
        )
        if isinstance(error, CommTimeout) and src is not None:
            rank.expect(error.ranks == (before,), f"it names the ranks {error.ranks}")
    rank.sync()
    array = rank.array(np.array([rank.rank]), _NUMBER)
    comm.send(array, _NUMBER, (rank.rank + 1) % rank.size, 4, rank.timeout)
    comm.recv(out, _NUMBER, before, 4, rank.timeout)
    rank.expect(rank.host(out, _NUMBER).tolist() == [before], "the message after it was lost")
    rank.sync()


def _several_wait(rank: Rank) -> None:
    """Two threads wait for different tags; each gets its own."""
    before, got = rank.rank - 1, {}

    def wait(tag: int) -> None:
        got[tag] = _recv(rank, 1, before, tag)[0]

    with beside(lambda: wait(1)) as first, beside(lambda: wait(2)) as second:
        time.sleep(0.05)
        _send(rank, [2], rank.rank + 1, 2)
        _send(rank, [1], rank.rank + 1, 1)
    for errors in (first, second):
        if errors:
            raise errors[0]
    rank.expect(got == {1: [1], 2: [2]}, f"by tag: {got}")
