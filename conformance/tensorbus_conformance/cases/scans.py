"""L1 cases of the scans: cumulative sums and products, running extrema."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import SCANS, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.reductions import CONVERSIONS, factors
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.primitives import ACCUMULATING, whole_domain
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "scans"
SHAPE = (5, 7, 6)
_LAYOUTS = ("contiguous", "transposed", "permuted", "strided", "reversed", "expanded", "offset")


def expected(op: str, array: np.ndarray, dim: int, dst: dtype) -> tuple[np.ndarray, Any]:
    """(expected, tolerance): exact where the tolerance is None."""
    if op in ("cummax", "cummin"):
        extreme = np.maximum if op == "cummax" else np.minimum
        return extreme.accumulate(array, axis=dim), None
    function = np.add if op == "cumsum" else np.multiply
    if dst in formats.INTS:
        whole = np.array([int(v) for v in array.ravel().tolist()], object).reshape(array.shape)
        found = function.accumulate(whole, axis=dim)
        flat = [formats.wrap(int(v), dst) for v in found.ravel()]
        return np.array(flat, formats.value_dtype(dst)).reshape(array.shape), None
    wide = np.clongdouble if dst in formats.COMPLEX else formats.WIDE
    with np.errstate(all="ignore"):
        found = function.accumulate(array.astype(wide), axis=dim)
        unit = float(np.finfo(formats.compute_dtype(dst)).eps) / 2
        steps = np.arange(1, array.shape[dim] + 1).reshape(-1, *[1] * (array.ndim - 1 - dim))
        if op == "cumsum":
            size = np.add.accumulate(np.abs(array).astype(formats.WIDE), axis=dim)
            return found, unit * steps * size
        return found, unit * 2 * steps * np.abs(found)


def _arguments(t: Trial, op: str, dim: int, dst: dtype) -> tuple[Any, ...]:
    return (dim, t.token(dst)) if op in ACCUMULATING else (dim,)


def _judge(t: Trial, got: np.ndarray, want: np.ndarray, tolerance: Any, dst: dtype) -> None:
    if tolerance is None:
        t.exact(got, want, dst, zeros=False)
    else:
        t.near(got, want, np.where(np.isfinite(tolerance), tolerance, 0), dst)


def _operand(op: str, d: dtype, shape: tuple[int, ...]) -> np.ndarray:
    return values.summands(d, shape, op) if op in ACCUMULATING else values.plain(d, shape, op)


def check(op: str, src: dtype, dst: dtype, layout: str, t: Trial) -> None:
    """A scan over each dim."""
    array = factors(src) if op == "cumprod" and src is not dst else _operand(op, src, SHAPE)
    if layout == "expanded":
        array = np.broadcast_to(array[:, :1], SHAPE)
    given = t.place(array, src, layout)
    for dim in range(3):
        want, tolerance = expected(op, array, dim, dst)
        got = t.call(op, src, given, *_arguments(t, op, dim, dst))
        _judge(t, t.result(got, dst, SHAPE, [given]), want, tolerance, dst)
    t.untouched(given)


def check_out(op: str, d: dtype, layout: str, t: Trial) -> None:
    """``out=`` of a scan."""
    array = _operand(op, d, SHAPE)
    given = t.place(array, d)
    for dim in (1, 2):
        want, tolerance = expected(op, array, dim, d)
        out = t.place(values.plain(d, SHAPE, "out"), d, layout)
        t.call(op, d, given, *_arguments(t, op, dim, d), out=out)
        _judge(t, t.written(out), want, tolerance, d)
    t.untouched(given)


def check_edges(op: str, d: dtype, t: Trial) -> None:
    """NaN sticks from where it stands; infinities and the limits of integers take part."""
    if d in formats.FLOATS:
        rows = np.array([
            [1, np.nan, 2, np.inf, 0], [np.nan, 1, 2, 3, 4], [3, 1, 2, 0.5, np.nan],
            [np.inf, 1, -np.inf, 2, 3], [-np.inf, 0.5, 0, 2, np.inf], [2, 2, 1, 3, 3],
        ], formats.value_dtype(d))  # fmt: skip
    elif d is formats.BOOL:
        rows = np.array([[False, True, False], [True, False, True], [False] * 3])
    else:
        low, high = formats.limits(d)
        rows = np.array([[high, 1, high, 2], [low, low, 5, high], [0, 3, 3, 1]])
        rows = rows.astype(formats.value_dtype(d))
    want, tolerance = expected(op, rows, 1, d)
    got = t.result(t.call(op, d, t.place(rows, d), *_arguments(t, op, 1, d)), d, rows.shape)
    _judge(t, got, want, tolerance, d)


def check_lengths(op: str, d: dtype, t: Trial) -> None:
    """Rows of one element, and rows long enough to be shared by several workers."""
    for shape in [(1,), (4, 1), (3001,), (2, 1025)]:
        array = (
            values.summands(d, shape, op) if d not in formats.INTS else values.plain(d, shape, op)
        )
        dim = len(shape) - 1
        want, tolerance = expected(op, array, dim, d)
        got = t.call(op, d, t.place(array, d), *_arguments(t, op, dim, d))
        if op == "cumprod" and d in formats.FLOATS:
            # A product of thousands of factors leaves the range in which its error is relative.
            inside = np.abs(want) > 2 * formats.smallest_normal(d)
            inside = np.logical_and.accumulate(inside, axis=dim)
            found = t.result(got, d, shape)
            _judge(t, found[inside], want[inside], tolerance[inside], d)
        else:
            _judge(t, t.result(got, d, shape), want, tolerance, d)


def check_half(t: Trial) -> None:
    """float16 accumulates in float32: 4,096 ones add up to 4,096."""
    d = formats.FLOAT16
    got = t.read(t.call("cumsum", d, t.place(np.ones((4096,)), d), 0, t.token(d)), d, (4096,))
    t.exact(got, np.arange(1, 4097), d)


def check_repeat(op: str, d: dtype, t: Trial) -> None:
    """The same call gives the same bits."""
    given = t.place(_operand(op, d, (40, 65)), d, "transposed")
    runs = [t.read(t.call(op, d, given, *_arguments(t, op, 1, d)), d) for _ in range(3)]
    if len({r.tobytes() for r in runs}) != 1:
        raise Mismatch("runs with the same operand gave different bits")


def check_empty(op: str, d: dtype, t: Trial) -> None:
    """A scan of nothing is empty."""
    if not t.traits.takes_empty:
        raise Unsupported("trait takes_empty is False: the frontend returns the empty result")
    got = t.call(op, d, t.place(np.zeros((2, 0)), d), *_arguments(t, op, 1, d))
    t.read(got, d, (2, 0))


def cases() -> Iterator[Case]:
    """Every case of a scan."""
    part = functools.partial
    for op in SCANS:
        for d in whole_domain(op):
            name = f"L1/{op}/{d.name}"
            for layout in _LAYOUTS:
                yield Case(f"{name}/{layout}", FAMILY, part(check, op, d, d, layout), (d,))
            for layout in ("contiguous", "strided", "transposed"):
                yield Case(f"{name}/out-{layout}", FAMILY, part(check_out, op, d, layout), (d,))
            if d not in formats.COMPLEX:
                yield Case(f"{name}/edges", FAMILY, part(check_edges, op, d), (d,))
                yield Case(f"{name}/lengths", FAMILY, part(check_lengths, op, d), (d,))
            yield Case(f"{name}/repeat", FAMILY, part(check_repeat, op, d), (d,))
            yield Case(f"{name}/empty", FAMILY, part(check_empty, op, d), (d,))
        for src, dst in CONVERSIONS if op in ACCUMULATING else ():
            run = part(check, op, src, dst, "contiguous")
            yield Case(f"L1/{op}/{src.name}-{dst.name}/converts", FAMILY, run, (src, dst))
    yield Case("L1/cumsum/float16/accumulates-in-float32", FAMILY, check_half, (formats.FLOAT16,))
