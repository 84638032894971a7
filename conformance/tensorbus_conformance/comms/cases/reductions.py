"""``all_reduce`` and ``reduce_scatter`` by the contract: every dtype, operation and size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats
from tensorbus_conformance.comms import values
from tensorbus_conformance.comms.case import Check, CommCase
from tensorbus_conformance.comms.rank import Rank

_CHUNKY = (formats.FLOAT32, formats.FLOAT64, formats.INT8, formats.BFLOAT16, formats.COMPLEX128)
"""The dtypes of large arrays: each size of element once."""


def cases() -> Iterator[CommCase]:
    """All of them."""
    for d in formats.ALL:
        chief = d in values.CHIEF
        for op in values.ops_of(d):
            sizes = list(values.SIZES) if op == "sum" else [1009]
            if op == "sum" and d in _CHUNKY:
                sizes.append(values.large(d))
            for n in sizes:
                id = f"C1/all_reduce/{d.name}/{op}-{n}"
                yield CommCase(id, "reductions", _all_reduce(d, op, n), (d,), chief=chief)
                if op in ("sum", "max"):
                    id = f"C1/reduce_scatter/{d.name}/{op}-{n}"
                    yield CommCase(id, "reductions", _reduce_scatter(d, op, n), (d,), chief=chief)
        if d in formats.FLOATS:
            for op in ("min", "max", "sum"):
                id = f"C1/all_reduce/{d.name}/{op}-nan"
                yield CommCase(id, "reductions", _nan(d, op), (d,), chief=chief)
            id = f"C1/all_reduce/{d.name}/sum-rounded"
            yield CommCase(id, "reductions", _rounded(d), (d,), chief=chief)
            id = f"C1/all_reduce/{d.name}/sum-repeated"
            yield CommCase(id, "reductions", _repeated(d), (d,), chief=chief)


def _all_reduce(d: dtype, op: str, n: int) -> Check:
    def check(rank: Rank) -> None:
        rows = values.operands(d, op, n, rank.size)
        array = rank.encoded(rows[rank.rank], d)
        rank.comm.all_reduce(array, d, op, rank.timeout)
        rank.expect_values(array, values.combined(rows, op), d)
        rank.same(array, d)

    return check


def _reduce_scatter(d: dtype, op: str, most: int) -> Check:
    def check(rank: Rank) -> None:
        n = most // rank.size if most > 100_000 else most
        rows = values.operands(d, op, n * rank.size, rank.size)
        given = formats.encode(rows[rank.rank], d)
        array, out = rank.array(given, d), rank.blank(n, d)
        rank.comm.reduce_scatter(out, array, d, op, rank.timeout)
        mine = values.combined(rows, op)[n * rank.rank : n * (rank.rank + 1)]
        rank.expect_values(out, mine, d, "its part")
        rank.expect_bits(array, given, d, "the array given, which must stay as it was")

    return check


def _nan(d: dtype, op: str) -> Check:
    def check(rank: Rank) -> None:
        rows = values.with_nan(values.operands(d, op, 1009, rank.size, "nan"))
        array = rank.encoded(rows[rank.rank], d)
        rank.comm.all_reduce(array, d, op, rank.timeout)
        rank.expect_values(array, values.combined(rows, op), d)

    return check


def _any_numbers(rank: Rank, d: dtype) -> np.ndarray:
    """Numbers whose sum depends on the order it is taken in."""
    random = values.generator("rounded", d.name)
    return formats.round_to(random.normal(size=(rank.size, 40_009)), d)


def _rounded(d: dtype) -> Check:
    """A sum may be rounded at every step, and must be so in the same way on all ranks."""

    def check(rank: Rank) -> None:
        rows = _any_numbers(rank, d)
        array = rank.encoded(rows[rank.rank], d)
        rank.comm.all_reduce(array, d, "sum", rank.timeout)
        wide = rows.astype(formats.WIDE)
        got = formats.decode(rank.host(array, d), d).astype(formats.WIDE)
        bound = rank.size * formats.unit_roundoff(d) * np.abs(wide).sum(axis=0)
        error = np.abs(got - wide.sum(axis=0))
        bad = int((error > bound).sum())
        rank.expect(not bad, f"{bad:,} of {error.size:,} sums are further off than rounding allows")
        rank.same(array, d)

    return check


def _repeated(d: dtype) -> Check:
    def check(rank: Rank) -> None:
        rows = _any_numbers(rank, d)
        first = None
        for _ in range(3):
            array = rank.encoded(rows[rank.rank], d)
            rank.comm.all_reduce(array, d, "sum", rank.timeout)
            found = rank.host(array, d).copy()
            if first is None:
                first = found
            rank.expect_bits(array, first, d, "the same sum again")

    return check
