"""L1 cases of the reductions: dims, dtypes, precision, NaN and the first of equals."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import REDUCTIONS, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.primitives import (
    ACCUMULATING,
    TO_INDICES,
    result_dtype,
    whole_domain,
)
from tensorbus_conformance.trial import Placed, Trial, Unsupported

FAMILY = "reductions"
SHAPE = (5, 7, 6)
EVERY_DIMS = [d for n in (1, 2, 3) for d in itertools.combinations(range(3), n)]
_LAYOUTS = ("transposed", "permuted", "strided", "reversed", "expanded", "offset")

CONVERSIONS = (
    (formats.BOOL, formats.INT64), (formats.UINT8, formats.INT64), (formats.INT8, formats.INT32),
    (formats.INT32, formats.INT64), (formats.INT64, formats.INT8), (formats.INT32, formats.FLOAT32),
    (formats.FLOAT32, formats.FLOAT64), (formats.FLOAT16, formats.FLOAT32),
    (formats.FLOAT32, formats.INT64), (formats.BOOL, formats.FLOAT32),
)  # fmt: skip
"""From the operand's dtype to the result's: the kernel converts each element as it loads it."""


def accumulate(
    op: str, array: np.ndarray, dims: tuple[int, ...], src: dtype, dst: dtype
) -> tuple[np.ndarray, Any]:
    """(expected, tolerance): exact integers, or wide floats with the error a sum may have."""
    name = {"sum": np.add, "prod": np.multiply}[op]
    if dst in formats.INTS:
        whole = np.array([int(v) for v in array.ravel().tolist()], object).reshape(array.shape)
        found = np.asarray(name.reduce(whole, axis=dims), object)
        flat = [formats.wrap(int(v), dst) for v in found.ravel()]
        return np.array(flat, formats.value_dtype(dst)).reshape(found.shape), None
    wide = np.clongdouble if dst in formats.COMPLEX else formats.WIDE
    with np.errstate(all="ignore"):
        found = np.asarray(name.reduce(array.astype(wide), axis=dims))
        n = int(np.prod([array.shape[d] for d in dims]))
        unit = float(np.finfo(formats.compute_dtype(dst)).eps) / 2
        if op == "sum":
            # The error of a pairwise sum: one rounding for each level of the tree.
            size = np.add.reduce(np.abs(array).astype(formats.WIDE), axis=dims)
            return found, unit * (np.ceil(np.log2(max(n, 2))) + 1) * size
        return found, unit * 2 * n * np.abs(found)


def factors(d: dtype) -> np.ndarray:
    """Ones and a few twos, whose products no dtype's range is too small for."""
    return (1 + (values.rng("factors").random(SHAPE) < 0.02)).astype(formats.value_dtype(d))


def judge(t: Trial, got: np.ndarray, want: np.ndarray, tolerance: Any, dst: dtype) -> None:
    if tolerance is None:
        t.exact(got, want, dst)
    else:
        t.near(got, want, tolerance, dst)


def check_sum(op: str, src: dtype, dst: dtype, layout: str, every: list[Any], t: Trial) -> None:
    """Sums and products over several choices of dims."""
    array = factors(src) if op == "prod" and src is not dst else values.summands(src, SHAPE, op)
    if layout == "expanded":
        array = np.broadcast_to(array[:, :1], SHAPE)
    given = t.place(array, src, layout)
    for dims in every:
        want, tolerance = accumulate(op, array, dims, src, dst)
        got = t.call(op, src, given, dims, t.token(dst))
        judge(t, t.result(got, dst, want.shape, [given]), want, tolerance, dst)
    t.untouched(given)


def check_sum_out(op: str, d: dtype, layout: str, t: Trial) -> None:
    """``out=`` of a sum or product."""
    array = values.summands(d, SHAPE, op)
    given = t.place(array, d)
    for dims in [(1,), (0, 2)]:
        want, tolerance = accumulate(op, array, dims, d, d)
        out = t.place(values.plain(d, want.shape, "out"), d, layout)
        t.call(op, d, given, dims, t.token(d), out=out)
        judge(t, t.written(out), want, tolerance, d)
    t.untouched(given)


def check_rank_one(op: str, d: dtype, t: Trial) -> None:
    """A reduction to 0-dim, of many elements, of one, and with ``out=``."""
    for n in (1, 2, 1000):
        array = values.summands(d, (n,), op) if op in ACCUMULATING else values.ranks(d, (n,), op)
        given = t.place(array, d, "offset")
        more = arguments(t, op, d, (0,))
        found = result_dtype(op, d)
        want, tolerance = expected(op, array, (0,), d)
        judge(
            t,
            t.result(t.call(op, d, given, *more), found, (), [given]),
            want,
            tolerance,
            found,
        )
        out = t.place(np.zeros(()), found, "offset")
        t.call(op, d, given, *more, out=out)
        judge(t, t.written(out), want, tolerance, found)


def arguments(t: Trial, op: str, d: dtype, dims: tuple[int, ...]) -> tuple[Any, ...]:
    if op in ACCUMULATING:
        return dims, t.token(d)
    return (dims[0],) if op in TO_INDICES else (dims,)


def expected(op: str, array: np.ndarray, dims: tuple[int, ...], d: dtype) -> tuple[np.ndarray, Any]:
    if op in ACCUMULATING:
        return accumulate(op, array, dims, d, d)
    if op in TO_INDICES:
        return first_extreme(op, array, dims[0]), None
    return extreme(op, array, dims), None


def extreme(op: str, array: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """The extremum over *dims*; NaN where there is one."""
    return np.asarray((np.maximum if op == "amax" else np.minimum).reduce(array, axis=dims))


def first_extreme(op: str, array: np.ndarray, dim: int) -> np.ndarray:
    """The first index of the extremum, or of the first NaN."""
    lines = np.moveaxis(array, dim, -1)
    found = np.empty(lines.shape[:-1], np.int64)
    for at in np.ndindex(found.shape):
        line = lines[at].tolist()
        best = 0
        for i, value in enumerate(line):
            if value != value:
                best = i
                break
            if value > line[best] if op == "argmax" else value < line[best]:
                best = i
        found[at] = best
    return found


def check_extreme(op: str, d: dtype, layout: str, every: list[Any], t: Trial) -> None:
    """Extrema over several choices of dims; argmax and argmin over each dim."""
    array = values.ranks(d, SHAPE, op) if op in TO_INDICES else values.plain(d, SHAPE, op)
    if layout == "expanded":
        array = np.broadcast_to(array[:, :1], SHAPE)
    given = t.place(array, d, layout)
    found = result_dtype(op, d)
    for dims in every:
        if op in TO_INDICES and len(dims) > 1:
            continue
        want, _ = expected(op, array, dims, d)
        got = t.call(op, d, given, *arguments(t, op, d, dims))
        t.exact(t.result(got, found, want.shape, [given]), want, found, zeros=False)
    t.untouched(given)


def check_extreme_out(op: str, d: dtype, layout: str, t: Trial) -> None:
    """``out=`` of an extremum."""
    array = values.ranks(d, SHAPE, op)
    given = t.place(array, d)
    found = result_dtype(op, d)
    for dims in [(1,), (2,)]:
        want, _ = expected(op, array, dims, d)
        out = t.place(values.plain(found, want.shape, "out"), found, layout)
        t.call(op, d, given, *arguments(t, op, d, dims), out=out)
        t.exact(t.written(out), want, found, zeros=False)


def check_extreme_edges(op: str, d: dtype, t: Trial) -> None:
    """NaN wins wherever it stands, infinities and the limits of integers take part."""
    rows = np.tile(values.edges(d), (6, 1))
    if d in formats.FLOATS:
        rows = np.where(np.isnan(rows), 0, rows)
        rows[1, 7] = rows[2, 0] = rows[3, -1] = rows[4, 3] = rows[4, 9] = np.nan
        rows[5] = np.nan
    given = t.place(rows, d)
    found = result_dtype(op, d)
    want, _ = expected(op, rows, (1,), d)
    got = t.result(t.call(op, d, given, *arguments(t, op, d, (1,))), found, want.shape)
    t.exact(got, want, found, rows[:, 0], zeros=False)


def check_ties(op: str, d: dtype, t: Trial) -> None:
    """The first of equals, in rows long enough that several workers share one."""
    for n in (3, 300, 4099):
        rows = np.zeros((3, n), formats.value_dtype(d))
        best = 1 if op == "argmax" or not d.is_signed else -1
        if d is formats.BOOL or d is formats.UINT8:
            rows[...] = 0 if op == "argmax" else 1
            best = 1 if op == "argmax" else 0
        rows[1, n // 2] = rows[1, n - 1] = best
        rows[2, 1:] = best
        want = first_extreme(op, rows, 1)
        got = t.call(op, d, t.place(rows, d), 1)
        t.exact(t.result(got, formats.INT64, (3,)), want, formats.INT64)


def check_sum_edges(op: str, d: dtype, t: Trial) -> None:
    """NaN and infinities go where IEEE sends them."""
    top = formats.largest(d)
    rows = np.array([
        [1, np.nan, 2, 3], [np.inf, 1, 2, 3], [np.inf, -np.inf, 1, 1], [-np.inf, 2, 1, 1],
        [0.0, np.inf, 1, 1], [-1, 0.5, 3, 2], [0, 0, 5, 1], [top, 1, 1, 1],
    ], formats.value_dtype(d))  # fmt: skip
    want, tolerance = accumulate(op, rows, (1,), d, d)
    got = t.result(t.call(op, d, t.place(rows, d), (1,), t.token(d)), d, (8,))
    t.near(got, want, np.where(np.isfinite(tolerance), tolerance, 0), d)


def check_half_range(t: Trial) -> None:
    """float16 accumulates in float32: only the end may overflow or stagnate."""
    d = formats.FLOAT16
    rows = np.array([[60000, 60000, -60000, -60000]] * 3, np.float16)
    t.exact(t.read(t.call("sum", d, t.place(rows, d), (1,), t.token(d)), d), np.zeros(3), d)
    t.exact(t.read(t.call("sum", d, t.place(rows.T, d), (0,), t.token(d)), d), np.zeros(3), d)
    ones = t.place(np.ones((4096, 2)), d)
    t.exact(t.read(t.call("sum", d, ones, (0,), t.token(d)), d), np.full(2, 4096), d)
    products = t.place(np.array([[1000, 1000, 1e-3, 1e-3]], np.float16), d)
    want = np.prod(products.values.astype(np.float64), axis=1)
    got = t.read(t.call("prod", d, products, (1,), t.token(d)), d)
    t.near(got, want, 4 * 2.0**-24 * np.abs(want), d)


def check_precision(d: dtype, dims: tuple[int, ...], t: Trial) -> None:
    """A long sum errs no more than a pairwise one, whichever dim it runs over."""
    shape = (60_000, 3) if dims == (0,) else (3, 60_000)
    array = formats.round_to(values.rng("long").random(shape) * 0.1 + 0.1, d)
    want, tolerance = accumulate("sum", array, dims, d, d)
    got = t.result(t.call("sum", d, t.place(array, d), dims, t.token(d)), d, want.shape)
    t.near(got, want, tolerance, d)
    error = np.abs(got.astype(formats.WIDE) - want) / np.abs(want)
    t.ulp = float(np.max(error) / (2 * formats.unit_roundoff(d)))


def check_repeat(op: str, d: dtype, t: Trial) -> None:
    """The same call gives the same bits."""
    given = t.place(values.plain(d, (64, 129), op), d, "transposed")
    for dims in [(0,), (1,), (0, 1)]:
        if op in TO_INDICES and len(dims) > 1:
            continue
        runs = [
            t.read(t.call(op, d, given, *arguments(t, op, d, dims)), _found(op, d))
            for _ in range(3)
        ]
        if len({r.tobytes() for r in runs}) != 1:
            raise Mismatch(f"runs with the same operand and dims {dims} gave different bits")


def _found(op: str, d: dtype) -> dtype:
    return formats.INT64 if op in TO_INDICES else d


def check_empty(op: str, d: dtype, t: Trial) -> None:
    """Over nothing: the identity, for a backend that takes empty arrays; nothing over some."""
    if not t.traits.takes_empty:
        raise Unsupported("trait takes_empty is False: the frontend fills the identity")
    given: Placed = t.place(np.zeros((0, 3)), d)
    if op in ACCUMULATING:
        got = t.read(t.call(op, d, given, (0,), t.token(d)), d, (3,))
        t.exact(got, np.full(3, 0 if op == "sum" else 1), d)
    t.read(t.call(op, d, given, *arguments(t, op, d, (1,))), _found(op, d), (0,))


def cases() -> Iterator[Case]:
    """Every case of a reduction."""
    part = functools.partial
    for op in (op for op in REDUCTIONS if op in ACCUMULATING):
        for d in whole_domain(op):
            name = f"L1/{op}/{d.name}"
            yield Case(
                f"{name}/contiguous",
                FAMILY,
                part(check_sum, op, d, d, "contiguous", EVERY_DIMS),
                (d,),
            )
            for layout in _LAYOUTS:
                check = part(check_sum, op, d, d, layout, [(1,), (0, 2), (0, 1, 2)])
                yield Case(f"{name}/{layout}", FAMILY, check, (d,))
            for layout in ("contiguous", "strided"):
                yield Case(f"{name}/out-{layout}", FAMILY, part(check_sum_out, op, d, layout), (d,))
            if d in formats.FLOATS:
                yield Case(f"{name}/edges", FAMILY, part(check_sum_edges, op, d), (d,))
            yield from _common(op, d)
        for src, dst in CONVERSIONS:
            check = part(check_sum, op, src, dst, "contiguous", [(1,), (0, 1, 2)])
            yield Case(f"L1/{op}/{src.name}-{dst.name}/converts", FAMILY, check, (src, dst))
    for op in (op for op in REDUCTIONS if op not in ACCUMULATING):
        for d in whole_domain(op):
            name = f"L1/{op}/{d.name}"
            yield Case(
                f"{name}/contiguous",
                FAMILY,
                part(check_extreme, op, d, "contiguous", EVERY_DIMS),
                (d,),
            )
            for layout in _LAYOUTS:
                check = part(check_extreme, op, d, layout, [(1,), (0, 2), (0, 1, 2)])
                yield Case(f"{name}/{layout}", FAMILY, check, (d,))
            for layout in ("contiguous", "strided"):
                yield Case(
                    f"{name}/out-{layout}", FAMILY, part(check_extreme_out, op, d, layout), (d,)
                )
            yield Case(f"{name}/edges", FAMILY, part(check_extreme_edges, op, d), (d,))
            if op in TO_INDICES:
                yield Case(f"{name}/first-of-equals", FAMILY, part(check_ties, op, d), (d,))
            yield from _common(op, d)
    for d in (formats.FLOAT32, formats.FLOAT64):
        for dims in [(0,), (1,), (0, 1)]:
            label = "".join(map(str, dims))
            yield Case(
                f"L1/sum/{d.name}/precision-dim{label}",
                FAMILY,
                part(check_precision, d, dims),
                (d,),
            )
    yield Case(
        "L1/sum/float16/accumulates-in-float32", FAMILY, check_half_range, (formats.FLOAT16,)
    )


def _common(op: str, d: dtype) -> Iterator[Case]:
    part = functools.partial
    yield Case(f"L1/{op}/{d.name}/0-dim-result", FAMILY, part(check_rank_one, op, d), (d,))
    yield Case(f"L1/{op}/{d.name}/repeat", FAMILY, part(check_repeat, op, d), (d,))
    yield Case(f"L1/{op}/{d.name}/empty", FAMILY, part(check_empty, op, d), (d,))
