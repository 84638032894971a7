"""L1 cases that go across primitives: sizes about a vector's width, windows, shared storage."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import matmul, ordering, pointwise, reductions, scans
from tensorbus_conformance.pointwise_reference import reference, result_dtype
from tensorbus_conformance.trial import Placed, Trial

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 1000)
LARGE = 300_007


def _pointwise(t: Trial, op: str, d: dtype, sizes: tuple[int, ...]) -> None:
    for n in sizes:
        arrays = [values.plain(d, (n,), "sizes", k) for k in range(pointwise.arity(op))]
        given = [t.place(a, d, "offset") for a in arrays]
        want = reference(op, d, arrays)
        found = result_dtype(op, d)
        got = t.result(t.call(op, d, *given), found, (n,), given)
        pointwise.judge(t, op, d, got, want, *arrays)


def check_sizes(op: str, d: dtype, t: Trial) -> None:
    """Every remainder that a vectorised loop or a work group can leave."""
    _pointwise(t, op, d, SIZES)


def check_large(op: str, d: dtype, t: Trial) -> None:
    """More elements than one launch of small groups covers."""
    _pointwise(t, op, d, (LARGE,))


def window(t: Trial, d: dtype, rows: int, width: int, step: int) -> Placed:
    """A self-overlapping (rows, width) view of one row, as a convolution makes."""
    base = values.summands(d, (step * (rows - 1) + width,), "window")
    shown = np.lib.stride_tricks.sliding_window_view(base, width)[::step]
    flat = t.place(base, d)
    array = t.backend.as_strided(flat.array, (rows, width), (step, 1), 0, d, d)
    return Placed(array, shown, d, flat.buffer, (step, 1), 0)


def check_window(op: str, d: dtype, t: Trial) -> None:
    """An input that overlaps itself."""
    given = window(t, d, 9, 4, 2)
    array = np.array(given.values)
    arguments: tuple[Any, ...]
    if op == "matmul":
        other = values.summands(d, (4, 3), "taps")
        want, tolerance = matmul.expected(array, other, d)
        arguments = (given, t.place(other, d), t.token(d))
    elif op in ("sum", "amax"):
        want, tolerance = reductions.expected(op, array, (1,), d)
        arguments = (given, *reductions.arguments(t, op, d, (1,)))
    elif op == "cumsum":
        want, tolerance = scans.expected(op, array, 1, d)
        arguments = (given, 1, t.token(d))
    elif op == "argsort":
        want, tolerance = ordering.expected(array, 1), None
        arguments = (given, 1)
    elif op == "take":
        chosen = np.array([3, 0, 0, 2])
        want, tolerance = array[:, chosen], None
        arguments = (given, 1, t.place(chosen, formats.INT64), False)
    else:
        want, tolerance = reference(op, d, [array, array]), None
        arguments = (given, given)
    found = formats.INT64 if op == "argsort" else d
    got = t.result(t.call(op, d, *arguments), found, want.shape, [given])
    reductions.judge(t, got, want, tolerance, found)
    t.untouched(given)


def check_same_storage(op: str, d: dtype, t: Trial) -> None:
    """``out`` in another part of the storage that an input lies in."""
    base = t.place(values.plain(d, (40,), "one storage"), d)
    parts = []
    for start, step in [(0, 2), (1, 2)]:
        array = t.backend.as_strided(base.array, (12,), (step,), start, d, d)
        parts.append(
            Placed(array, base.values[start : start + 24 : step], d, base.buffer, (2,), start)
        )
    source, out = parts
    other = t.place(values.plain(d, (12,), "other"), d)
    t.call(op, d, source, other, out=out)
    want = reference(op, d, [source.values, other.values])
    pointwise.judge(t, op, d, t.written(out), want, source.values, other.values)


def cases() -> Iterator[Case]:
    """The cases, in the family of the primitive they try."""
    part = functools.partial
    for op in ("add", "mul", "exp", "lt"):
        kinds = (
            (formats.FLOAT32,) if op == "exp" else (formats.FLOAT32, formats.INT32, formats.UINT8)
        )
        for d in kinds:
            yield Case(f"L1/{op}/{d.name}/sizes", "pointwise", part(check_sizes, op, d), (d,))
    # Libraries of vector functions round some square roots and quotients wrongly: not many.
    for op in ("add", "sqrt", "div"):
        yield Case(f"L1/{op}/float32/large", "pointwise", part(check_large, op, formats.FLOAT32))
    homes = {"add": "pointwise", "sum": "reductions", "amax": "reductions", "cumsum": "scans",
             "matmul": "matmul", "take": "index", "argsort": "order"}  # fmt: skip
    for op, family in homes.items():
        for d in (formats.FLOAT32, formats.INT32):
            yield Case(f"L1/{op}/{d.name}/window", family, part(check_window, op, d), (d,))
    for d in (formats.FLOAT32, formats.INT32):
        check = part(check_same_storage, "add", d)
        yield Case(f"L1/add/{d.name}/out-same-storage", "pointwise", check, (d,))
