"""``broadcast``, ``all_gather`` and ``barrier`` by the contract; results that are one's own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import numpy as np

import tensorbus.distributed as dist
from tensorbus.plugin import dtype
from tensorbus_conformance import formats
from tensorbus_conformance.comms import values
from tensorbus_conformance.comms.case import Accounts, Check, CommCase
from tensorbus_conformance.comms.rank import Rank, beside
from tensorbus_conformance.compare import Mismatch

_D = formats.FLOAT32


def cases() -> Iterator[CommCase]:
    """All of them."""
    for d in formats.ALL:
        chief = d in values.CHIEF
        for n in (*values.SIZES, values.large(d)) if chief else values.SIZES:
            for op, check in (("broadcast", _broadcast), ("all_gather", _all_gather)):
                id = f"C1/{op}/{d.name}/{n}"
                yield CommCase(id, "collectives", check(d, n), (d,), chief=chief)
    yield CommCase("C1/barrier/any/nobody-early", "collectives", _barrier, judge=_nobody_early)
    yield CommCase("C1/barrier/any/often", "collectives", _barriers)
    for name, plain in (
        ("own-results", _own_results),
        ("one-after-the-other", _sequence),
        ("late-ranks", _late),
    ):
        yield CommCase(f"C1/sequence/float32/{name}", "collectives", plain, (_D,))
    yield CommCase("C1/sequence/float32/with-messages", "collectives", _messages, (_D,), 2)


def _broadcast(d: dtype, n: int) -> Check:
    def check(rank: Rank) -> None:
        for src in range(rank.size):
            sent = values.any_bits(d, n, src)
            array = rank.array(sent, d) if rank.rank == src else rank.blank(n, d)
            rank.comm.broadcast(array, d, src, rank.timeout)
            rank.expect_bits(array, sent, d, f"of rank {src}")

    return check


def _all_gather(d: dtype, n: int) -> Check:
    def check(rank: Rank) -> None:
        each = n // rank.size if n > 100_000 else n
        rows = [values.any_bits(d, each, r) for r in range(rank.size)]
        array, out = rank.array(rows[rank.rank], d), rank.blank(each * rank.size, d)
        rank.comm.all_gather(out, array, d, rank.timeout)
        rank.expect_bits(out, np.concatenate(rows), d)
        rank.expect_bits(array, rows[rank.rank], d, "the array given, which must stay as it was")

    return check


_TURNS = 3


def _barrier(rank: Rank) -> None:
    """One rank in turn comes when all others are there, and waits whether one of them goes on."""
    label = f"{rank.setting.label}/{rank.case}"
    rank.sync()
    for turn in range(_TURNS):
        here, gone = f"{label}/here/{turn}", f"{label}/gone/{turn}"
        late = turn % rank.size == rank.rank
        if not late:
            if rank.store.add(here, 1) == rank.size - 1:
                rank.store.set(f"{here}/all", "1")
        elif rank.size > 1:
            rank.store.wait([f"{here}/all"], rank.timeout)
            with contextlib.suppress(dist.DistStoreError):
                rank.store.wait([gone], 0.3)
        rank.reported.setdefault("came", []).append(time.monotonic())
        rank.comm.barrier(rank.timeout)
        rank.reported.setdefault("left", []).append(time.monotonic())
        if not late:
            rank.store.set(gone, "1")


def _nobody_early(accounts: Accounts) -> None:
    for turn in range(_TURNS):
        came = [a["came"][turn] for a in accounts]
        left = [a["left"][turn] for a in accounts]
        if min(left) < max(came):
            early, late = left.index(min(left)), came.index(max(came))
            raise Mismatch(
                f"rank {early} left a barrier {max(came) - min(left):.3f} seconds before rank "
                f"{late} came to it"
            )


def _barriers(rank: Rank) -> None:
    for _ in range(50):
        rank.comm.barrier(rank.timeout)


def _own_results(rank: Rank) -> None:
    """What a rank writes after a call into its arrays is seen by no other."""
    n, size = 5000, rank.size
    given = rank.array(np.full(n, rank.rank, np.float32), _D)
    gathered, whole = rank.blank(n * size, _D), rank.array(np.ones(n, np.float32), _D)
    sent = rank.array(np.full(n, 5, np.float32), _D)
    rank.comm.all_gather(gathered, given, _D, rank.timeout)
    rank.comm.all_reduce(whole, _D, "sum", rank.timeout)
    rank.comm.broadcast(sent, _D, 0, rank.timeout)
    rank.sync()
    arrays = {"all_gather's input": given, "all_gather's result": gathered,
              "all_reduce's": whole, "broadcast's": sent}  # fmt: skip
    for array in arrays.values():
        rank.fill(array, _D, -1.0 - rank.rank)
    rank.sync()
    for name, array in arrays.items():
        host = rank.host(array, _D)
        rank.expect(bool((host == -1 - rank.rank).all()), f"another rank wrote into {name} array")


def _sequence(rank: Rank) -> None:
    """Different collectives without a pause, each on what the last one gave."""
    size, n = rank.size, 120 * rank.size
    for turn in range(10):
        array = rank.array(np.full(n, rank.rank + turn, np.float32), _D)
        rank.comm.all_reduce(array, _D, "max", rank.timeout)
        part = rank.blank(n // size, _D)
        rank.comm.reduce_scatter(part, array, _D, "sum", rank.timeout)
        out = rank.blank(n, _D)
        rank.comm.all_gather(out, part, _D, rank.timeout)
        rank.comm.broadcast(out, _D, turn % size, rank.timeout)
        want = size * (size - 1 + turn)
        rank.expect_values(out, np.full(n, want), _D, f"turn {turn}")


def _late(rank: Rank) -> None:
    """Ranks come at different times, and a fast one may be a call ahead."""
    random = values.generator("late", rank.rank)
    for turn in range(12):
        if random.random() < 0.3:
            time.sleep(0.015)
        n = (3, 20_001)[turn % 2]
        array = rank.array(np.full(n, rank.rank * turn, np.float32), _D)
        if turn % 3:
            rank.comm.all_reduce(array, _D, "sum", rank.timeout)
            want = turn * rank.size * (rank.size - 1) // 2
        else:
            rank.comm.broadcast(array, _D, turn % rank.size, rank.timeout)
            want = turn * (turn % rank.size)
        rank.expect_values(array, np.full(n, want), _D, f"turn {turn}")


def _messages(rank: Rank) -> None:
    """Messages from another thread, large and small, while collectives run."""
    after, before = (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size
    sizes = (1, 300_000, 7, 40_000) * 2

    def exchange() -> None:
        for i, n in enumerate(sizes):
            sent = rank.array(np.full(n, rank.rank + i, np.float32), _D)
            rank.comm.send(sent, _D, after, 9, rank.timeout)
            out = rank.blank(n, _D)
            rank.comm.recv(out, _D, before, 9, rank.timeout)
            rank.expect_values(out, np.full(n, before + i), _D, f"message {i}")

    with beside(exchange) as errors:
        for turn in range(8):
            n = (5, 100_001)[turn % 2]
            array = rank.array(np.full(n, 1 + turn, np.float32), _D)
            rank.comm.all_reduce(array, _D, "sum", rank.timeout)
            rank.expect_values(array, np.full(n, rank.size * (1 + turn)), _D, f"turn {turn}")
    if errors:
        raise errors[0]
