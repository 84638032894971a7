"""L1 cases of ``take`` and ``gather``: dims, layouts, repeated and wrapped indices, faults."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.faults import expect_fault, expect_fault_at_read
from tensorbus_conformance.primitives import whole_domain
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "index"
SHAPE = (4, 5, 6)
_LAYOUTS = ("contiguous", "transposed", "permuted", "strided", "reversed", "expanded", "offset")


def samples(d: dtype, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Values with edges among them: what is moved must arrive as it was."""
    found = values.plain(d, shape, "moved").copy()
    if d in formats.FLOATS:
        found.flat[1::7] = np.nan
        found.flat[2::7] = -0.0
        found.flat[3::7] = -np.inf
    return found


def indices(n: int, count: int, *, wrap: bool = False) -> np.ndarray:
    """*count* indices with repeats into a dimension of *n*, its first and last among them."""
    random = values.rng("indices", n, count, wrap)
    found = random.integers(-n if wrap else 0, n, count)
    found[:2] = (-n, -1) if wrap else (n - 1, 0)
    return found[:count]


def check_take(d: dtype, layout: str, index_layout: str, t: Trial) -> None:
    """Slices of each dim, more of them and fewer than there were."""
    array = samples(d)
    if layout == "expanded":
        array = np.broadcast_to(array[:, :1], SHAPE)
    given = t.place(array, d, layout)
    for dim in range(3):
        for count in (2, 3, 9):
            chosen = indices(SHAPE[dim], count)
            if index_layout == "expanded":
                chosen = np.broadcast_to(chosen[:1], (count,))
            i = t.place(chosen, formats.INT64, index_layout)
            want = np.take(array, chosen, axis=dim)
            got = t.result(t.call("take", d, given, dim, i, False), d, want.shape, [given, i])
            t.exact(got, want, d)
    t.untouched(given)


def check_take_wrap(d: dtype, t: Trial) -> None:
    """With ``wrap``, -n..-1 count from the end."""
    array = samples(d)
    given = t.place(array, d, "transposed")
    for dim in range(3):
        chosen = indices(SHAPE[dim], 11, wrap=True)
        want = np.take(array, chosen % SHAPE[dim], axis=dim)
        got = t.call("take", d, given, dim, t.place(chosen, formats.INT64), True)
        t.exact(t.result(got, d, want.shape, [given]), want, d)


def check_take_one(d: dtype, t: Trial) -> None:
    """One element of a row, and a row of one element, many times."""
    array = samples(d, (7,))
    given = t.place(array, d)
    got = t.call("take", d, given, 0, t.place([6], formats.INT64), False)
    t.exact(t.result(got, d, (1,), [given]), array[6:], d)
    many, given = t.place(np.zeros(1000), formats.INT64), t.place(array[1:2], d, "offset")
    got = t.call("take", d, given, 0, many, False)
    t.exact(t.result(got, d, (1000,), [given]), np.full(1000, array[1]), d)


def check_gather(d: dtype, layout: str, index_layout: str, t: Trial) -> None:
    """One element for each index, along each dim; more indices and fewer than elements."""
    array = samples(d)
    if layout == "expanded":
        array = np.broadcast_to(array[:, :1], SHAPE)
    given = t.place(array, d, layout)
    for dim in range(3):
        for count in (2, 9):
            shape = tuple(count if k == dim else n for k, n in enumerate(SHAPE))
            chosen = indices(SHAPE[dim], int(np.prod(shape))).reshape(shape)
            if index_layout == "expanded":
                first = tuple(slice(0, 1) if k == (dim + 1) % 3 else slice(None) for k in range(3))
                chosen = np.broadcast_to(chosen[first], shape)
            i = t.place(chosen, formats.INT64, index_layout)
            want = np.take_along_axis(array, chosen, dim)
            got = t.result(t.call("gather", d, given, dim, i), d, shape, [given, i])
            t.exact(got, want, d)
    t.untouched(given)


def check_gather_rank_one(d: dtype, t: Trial) -> None:
    """One row, and an index of one element."""
    array = samples(d, (7,))
    for chosen in (indices(7, 20), np.array([3])):
        given = t.place(array, d)
        got = t.call("gather", d, given, 0, t.place(chosen, formats.INT64))
        t.exact(t.result(got, d, chosen.shape, [given]), array[chosen], d)


def check_fault(op: str, value: int, wrap: bool, t: Trial) -> None:
    """An index outside faults, also beside good ones; the device can be used again."""
    d, n, dim = formats.FLOAT32, 5, 1
    array = values.plain(d, (4, n), "fault")
    given = t.place(array, d)
    good = indices(n, 12)
    chosen = good.copy()
    chosen[7] = value
    if op == "gather":
        chosen = np.broadcast_to(chosen, (4, 12))
    i = t.place(chosen, formats.INT64)
    arguments = (given, dim, i, wrap) if op == "take" else (given, dim, i)
    expect_fault(t, lambda: t.call(op, d, *arguments), {value}, dim, n)
    expect_fault_at_read(t, lambda: t.call(op, d, *arguments), lambda r: t.backend.to_host(r, d))
    t.untouched(given)
    i = t.place(good, formats.INT64)
    t.exact(t.read(t.call("take", d, given, dim, i, False), d), array[:, good], d)


def check_repeat(op: str, t: Trial) -> None:
    """The same call gives the same bits."""
    d = formats.FLOAT32
    array = samples(d, (40, 30))
    given = t.place(array, d, "transposed")
    i = t.place(indices(40, 30 * 50).reshape(50, 30) if op == "gather" else indices(40, 50),
                formats.INT64)  # fmt: skip
    more = () if op == "gather" else (False,)
    runs = [t.read(t.call(op, d, given, 0, i, *more), d) for _ in range(3)]
    if len({r.tobytes() for r in runs}) != 1:
        raise Mismatch("runs with the same operands gave different bits")


def check_empty(op: str, t: Trial) -> None:
    """No indices give no elements, for a backend that takes empty arrays."""
    if not t.traits.takes_empty:
        raise Unsupported("trait takes_empty is False: the frontend returns the empty result")
    d = formats.FLOAT32
    given = t.place(np.zeros((4, 5)), d)
    if op == "take":
        got = t.call(op, d, given, 1, t.place(np.zeros(0), formats.INT64), False)
        t.read(got, d, (4, 0))
    else:
        t.read(t.call(op, d, given, 1, t.place(np.zeros((4, 0)), formats.INT64)), d, (4, 0))


FAULTS = ((5, False), (-1, False), (2**40, False), (-(2**63), False), (5, True), (-6, True))


def cases() -> Iterator[Case]:
    """Every case of ``take`` and ``gather``."""
    part = functools.partial
    for d in whole_domain("take"):
        for op, check in (("take", check_take), ("gather", check_gather)):
            for layout in _LAYOUTS:
                run = part(check, d, layout, "contiguous")
                yield Case(f"L1/{op}/{d.name}/{layout}", FAMILY, run, (d,))
            for layout in ("expanded", "strided", "reversed"):
                run = part(check, d, "contiguous", layout)
                yield Case(f"L1/{op}/{d.name}/index-{layout}", FAMILY, run, (d,))
        yield Case(f"L1/take/{d.name}/wrap", FAMILY, part(check_take_wrap, d), (d,))
        yield Case(f"L1/take/{d.name}/one", FAMILY, part(check_take_one, d), (d,))
        yield Case(f"L1/gather/{d.name}/rank1", FAMILY, part(check_gather_rank_one, d), (d,))
    for op in ("take", "gather"):
        for value, wrap in FAULTS:
            if op == "take" or not wrap:
                label = f"fault{value}{'-wrap' if wrap else ''}"
                yield Case(f"L1/{op}/float32/{label}", FAMILY, part(check_fault, op, value, wrap))
        yield Case(f"L1/{op}/float32/repeat", FAMILY, part(check_repeat, op))
        yield Case(f"L1/{op}/float32/empty", FAMILY, part(check_empty, op))
