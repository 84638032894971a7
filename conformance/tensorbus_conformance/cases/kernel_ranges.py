"""L1 cases at the ends of ranges: where functions overflow, sums leave narrow types, NaN begins."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import POINTWISE, REDUCTIONS, SCANS, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.kernel_sizes import family
from tensorbus_conformance.primitives import (
    ACCUMULATING,
    DIVIDING,
    UNARY,
    WRITING,
    domain,
    in_family,
    joins,
)
from tensorbus_conformance.sharp_values import ends, neighbours
from tensorbus_conformance.specimens import CONTRACTION, Specimen
from tensorbus_conformance.trial import Trial

_FOLDS = (*REDUCTIONS, *SCANS, *in_family("order"))


def check_unary(op: str, d: dtype, t: Trial) -> None:
    """The numbers about each point where the function overflows, vanishes or changes its way."""
    at = ends(op, d)
    Specimen(op, d, (at,)).check(t)
    Specimen(op, d, (at,)).check(t, "strided")


def sharp(op: str, d: dtype) -> np.ndarray:
    """Values of which each is tried with each."""
    if d is formats.BOOL:
        return np.array([False, True])
    if d in formats.INTS:
        low, high = formats.limits(d)
        near = [s * (1 << k) + e for k in (4, 7, 8, 15, 16, 24, 31, 32, 53, 62) for e in (-1, 0, 1)
                for s in (1, -1)]  # fmt: skip
        inside = sorted({v for v in [0, 1, -1, 2, 3, -3, low, high, *near] if low <= v <= high})
        return np.array(inside, formats.value_dtype(d))
    top, tiny, whole = formats.largest(d), formats.smallest_normal(d), 1 / formats.unit_roundoff(d)
    root = np.sqrt(top)
    points = [1.0, 0.5, 2.0, 3.0, 10.0, 0.1, 1 / 3, np.pi, root, 1 / root, top, top / 2, 4 * tiny,
              whole, whole / 2, whole / 4 + 1, 1e3, 1e-3]  # fmt: skip
    found = neighbours(d, points, 1)
    found = found[np.isfinite(found)]
    return np.concatenate([found, -found, [0.0, -0.0, np.inf, -np.inf, np.nan]]).astype(found.dtype)


def check_pairs(op: str, d: dtype, t: Trial) -> None:
    """Each of the sharp values with each; the second also as a Python number."""
    every = sharp(op, d)
    x, y = (np.array(a) for a in np.broadcast_arrays(every[:, None], every[None]))
    if op in DIVIDING and d in formats.INTS:
        y = np.where(y == 0, y.dtype.type(1), y)
    condition = [np.indices(x.shape).sum(0) % 2 == 0] if op == "where" else []
    made = Specimen(op, d, (*condition, x, y))
    made.check(t)
    made.check(t, ("strided", "strided", "strided"))
    for number in every[:: 5 if d in formats.INTS else 11]:
        if number == 0 and op in DIVIDING and d in formats.INTS:
            continue
        beside = Specimen(op, d, (*[c[0] for c in condition], every, np.full_like(every, number)))
        placed = beside.place(t)[:-1]
        got = t.call(op, d, *placed, t.scalar(number.item(), d))
        beside.judge(t, t.result(got, beside.found, every.shape, placed))


def rows(op: str, d: dtype, n: int) -> np.ndarray:
    """Lines of *n* elements that are all alike, or alike but for the first or the last."""
    if d is formats.BOOL:
        marks: list[Any] = [False, True]
    elif d in formats.INTS:
        marks = [*formats.limits(d), 0, 1, -1 if d.is_signed else 2]
    else:
        top = formats.largest(d)
        marks = [np.inf, -np.inf, np.nan, top, -top, 0.0, 1.0, -1.0]
    kind = formats.value_dtype(d)
    lines = [np.full(n, m, kind) for m in marks]
    for m in marks:
        for other in marks:
            for at in (0, -1):
                line = np.full(n, m, kind)
                line[at] = other
                lines.append(line)
    return np.array(lines)


def check_lines(op: str, d: dtype, t: Trial) -> None:
    """All -inf, all the least, NaN first or last, zero beside infinity; short lines and long."""
    for n in (1, 2, 3, 300):
        lines = rows(op, d, n)
        if op in ACCUMULATING and d in formats.FLOATS and n > 2:
            # Of three and more the largest number may overflow on the way, in one order or another.
            lines = lines[~(np.abs(lines) == formats.largest(d)).any(axis=1)]
        Specimen(op, d, (lines,), 1).check(t)
        Specimen(op, d, (np.array(lines.T),), 0).check(t)


def check_product(d: dtype, t: Trial) -> None:
    """Zero by infinity and by NaN is NaN, wherever they stand in a product."""
    kind = formats.value_dtype(d)
    for m, k, n in ((1, 1, 1), (2, 3, 4), (5, 1, 6), (33, 40, 37)):
        for mark in (np.inf, -np.inf, np.nan):
            a, b = np.ones((m, k), kind), np.zeros((k, n), kind)
            a[m // 2, k // 2] = mark
            for first, second in ((a, b), (b.T, a.T)):
                Specimen(CONTRACTION, d, (np.array(first), np.array(second))).check(t)
    wide = np.zeros((2, 3, 2, 4), kind)
    wide[1, 2, 0, 1] = np.inf
    Specimen(CONTRACTION, d, (wide, np.zeros((2, 3, 4, 2), kind))).check(t)


def check_written(op: str, d: dtype, t: Trial) -> None:
    """Zero by infinity, infinity less infinity, and extrema of infinities, in place."""
    kind = formats.value_dtype(d)
    marks = np.array([0.0, np.inf, -np.inf, np.nan, 1.0], kind)
    out, src = (np.array(a) for a in np.broadcast_arrays(marks[:, None], marks[None]))
    for how in joins(d):
        i = np.arange(5)
        at = i if op == "put" else np.tile(i, (5, 1))
        Specimen(op, d, (out, at, src), 1, how).check(t)


WIDENING = (
    (formats.INT8, formats.INT64), (formats.UINT8, formats.INT64), (formats.INT16, formats.INT64),
    (formats.INT32, formats.INT64), (formats.INT8, formats.INT32), (formats.UINT8, formats.INT32),
    (formats.INT16, formats.INT32), (formats.BOOL, formats.INT64), (formats.INT64, formats.INT64),
    (formats.INT64, formats.INT8), (formats.INT64, formats.INT32),
    (formats.UINT8, formats.FLOAT32), (formats.INT32, formats.FLOAT64),
    (formats.FLOAT16, formats.FLOAT32), (formats.FLOAT32, formats.FLOAT64),
    (formats.FLOAT16, formats.FLOAT64), (formats.BFLOAT16, formats.FLOAT32),
    (formats.BOOL, formats.FLOAT16), (formats.INT64, formats.FLOAT16),
    (formats.INT32, formats.FLOAT32), (formats.INT64, formats.FLOAT64),
)  # fmt: skip


def check_accumulates(op: str, src: dtype, dst: dtype, t: Trial) -> None:
    """Long lines of the largest magnitudes: the sum is kept in the result's dtype, no narrower."""
    n = 4_001
    if src in formats.INTS or src is formats.BOOL:
        low, high = (0, 1) if src is formats.BOOL else formats.limits(src)
        alternating = np.where(np.arange(n) % 2 == 0, high, low + (high - 1 if low < 0 else 0))
        lines = [np.full(n, high), np.full(n, low), alternating, np.full(n, min(high, 3)),
                 values.summands(src, (n,), "widening")]  # fmt: skip
    else:
        top = 2.0**14 if src is formats.FLOAT16 else 2.0**60
        # Each line has sums that the narrower dtype rounds or has no number for.
        lines = [np.full(n, top), np.full(n, 1 + 2 * formats.unit_roundoff(src)),
                 np.where(np.arange(n) == 0, top, 1.0)]  # fmt: skip
    if op in ("prod", "cumprod"):
        few = [line[:9] for line in lines if abs(float(line[0])) < 1e5]
        lines = few if dst in formats.FLOATS else [line[:40] for line in lines]
    array = np.array(lines).astype(formats.value_dtype(src))
    if op == CONTRACTION:
        ones = np.ones((n, 2), array.dtype)
        Specimen(op, src, (array, ones), to=dst).check(t)
        Specimen(op, src, (array[:, :300], np.array(array[:, :300].T)), to=dst).check(t)
        return
    Specimen(op, src, (array,), 1, to=dst).check(t)
    Specimen(op, src, (np.array(array.T),), 0, to=dst).check(t)


def check_added(op: str, d: dtype, t: Trial) -> None:
    """Many additions to few elements, each exact: 2,000 ones in a half, all that an int8 holds."""
    times = {formats.FLOAT16: 2_000, formats.BFLOAT16: 250, formats.INT8: 120, formats.UINT8: 250}
    n = 3 * times.get(d, 5_000)
    i = np.arange(n) % 3
    Specimen(op, d, (np.zeros(3, formats.value_dtype(d)), i,
                     np.ones(n, formats.value_dtype(d))), 0, "add").check(t)  # fmt: skip


def cases() -> Iterator[Case]:
    """The cases, in the family of the primitive they try."""
    part = functools.partial
    for op in POINTWISE:
        for d in domain(op):
            if op not in UNARY:
                yield Case(f"L1/{op}/{d.name}/ends", family(op), part(check_pairs, op, d), (d,))
            elif d in formats.FLOATS:
                yield Case(f"L1/{op}/{d.name}/ends", family(op), part(check_unary, op, d), (d,))
    for op in _FOLDS:
        for d in domain(op):
            yield Case(f"L1/{op}/{d.name}/ends", family(op), part(check_lines, op, d), (d,))
    for d in formats.FLOATS:
        yield Case(f"L1/matmul/{d.name}/ends", family("matmul"), part(check_product, d), (d,))
    for op in WRITING:
        for d in (*formats.INTS, *formats.FLOATS):
            name = f"L1/{op}/{d.name}"
            yield Case(f"{name}/accumulates", family(op), part(check_added, op, d), (d,))
            if d in formats.FLOATS:
                yield Case(f"{name}/ends", family(op), part(check_written, op, d), (d,))
    for op in (*ACCUMULATING, CONTRACTION):
        for src, dst in WIDENING:
            if op == CONTRACTION and src is formats.BOOL:
                continue
            run = part(check_accumulates, op, src, dst)
            name = f"L1/{op}/{src.name}-{dst.name}/accumulates"
            yield Case(name, family(op), run, (src, dst))
