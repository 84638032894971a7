"""L1 cases of ``argsort``: stability, NaN, signed zeros, every dtype and dim."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.primitives import whole_domain
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "order"
OP = "argsort"
SHAPE = (4, 9, 7)
_LAYOUTS = ("contiguous", "transposed", "permuted", "strided", "reversed", "expanded", "offset")


def expected(array: np.ndarray, dim: int) -> np.ndarray:
    """Python's own stable sort: numbers first, NaN after them in the order they stood."""
    lines = np.moveaxis(array, dim, -1)
    found = np.empty(lines.shape, np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        line = lines[at].tolist()
        # x != x is True for NaN alone, and False sorts before True.
        keys = [(x != x, 0 if x != x else x) for x in line]
        found[at] = sorted(range(len(line)), key=keys.__getitem__)
    return np.moveaxis(found, -1, dim)


def _check(t: Trial, d: dtype, array: np.ndarray, layout: str, dims: range) -> None:
    given = t.place(array, d, layout)
    for dim in dims:
        got = t.result(t.call(OP, d, given, dim), formats.INT64, array.shape, [given])
        t.exact(got, expected(array, dim), formats.INT64, array)
    t.untouched(given)


def check(d: dtype, layout: str, t: Trial) -> None:
    """Rows with many equals along each dim: equals keep their order."""
    array = values.ranks(d, SHAPE, OP)
    if layout == "expanded":
        array = np.broadcast_to(array[:, :1], SHAPE)
    _check(t, d, array, layout, range(3))


def check_edges(d: dtype, t: Trial) -> None:
    """NaN last in their order, -0 beside 0, infinities and limits at the ends."""
    random = values.rng("order edges")
    every = values.edges(d)
    rows = np.array([random.permutation(np.concatenate([every, every])) for _ in range(6)])
    if d in formats.FLOATS:
        rows[1, ::5] = np.nan
        rows[2] = np.nan
        rows[3, ::2] = np.copysign(0, random.choice([-1, 1], rows[3, ::2].shape))
        negative = -np.abs(np.array(np.nan))
        rows[4, 1::4] = negative
        rows[4, 2::4] = np.inf
    _check(t, d, rows, "contiguous", range(1, 2))


def check_lengths(d: dtype, t: Trial) -> None:
    """Rows of 1, 2, 3, 1,000 and 1,024 elements, sorted, reversed and all equal."""
    for n in (1, 2, 3, 1000, 1024):
        array = values.plain(d, (2, n), OP)
        _check(t, d, array, "contiguous", range(1, 2))
    rising = np.sort(values.plain(d, (257,), "sorted"))
    for line in (rising, rising[::-1].copy(), np.zeros(257, rising.dtype)):
        _check(t, d, line, "contiguous", range(1))


def check_many_rows(d: dtype, t: Trial) -> None:
    """Many short rows."""
    _check(t, d, values.plain(d, (500, 5), "many"), "contiguous", range(1, 2))


def check_repeat(d: dtype, t: Trial) -> None:
    """The same call gives the same order."""
    given = t.place(values.ranks(d, (5, 200), OP), d, "transposed")
    runs = [t.read(t.call(OP, d, given, 1), formats.INT64) for _ in range(3)]
    if len({r.tobytes() for r in runs}) != 1:
        raise Mismatch("runs with the same operand gave different orders")


def check_empty(t: Trial) -> None:
    """Nothing sorts to nothing."""
    if not t.traits.takes_empty:
        raise Unsupported("trait takes_empty is False: the frontend returns the empty result")
    given = t.place(np.zeros((3, 0)), formats.FLOAT32)
    t.read(t.call(OP, formats.FLOAT32, given, 1), formats.INT64, (3, 0))


def cases() -> Iterator[Case]:
    """Every case of ``argsort``."""
    part = functools.partial
    for d in whole_domain(OP):
        name = f"L1/{OP}/{d.name}"
        for layout in _LAYOUTS:
            yield Case(f"{name}/{layout}", FAMILY, part(check, d, layout), (d,))
        yield Case(f"{name}/edges", FAMILY, part(check_edges, d), (d,))
        yield Case(f"{name}/lengths", FAMILY, part(check_lengths, d), (d,))
        yield Case(f"{name}/many-rows", FAMILY, part(check_many_rows, d), (d,))
        yield Case(f"{name}/repeat", FAMILY, part(check_repeat, d), (d,))
    yield Case(f"L1/{OP}/float32/empty", FAMILY, check_empty)
