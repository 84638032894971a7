"""L1 cases that go across primitives: sizes about a vector's width, shared storage."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tensorbus.plugin import dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import pointwise
from tensorbus_conformance.pointwise_reference import reference
from tensorbus_conformance.primitives import arity, result_dtype
from tensorbus_conformance.trial import Placed, Trial

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 1000)


def _pointwise(t: Trial, op: str, d: dtype, sizes: tuple[int, ...]) -> None:
    for n in sizes:
        arrays = [values.plain(d, (n,), "sizes", k) for k in range(arity(op))]
        given = [t.place(a, d, "offset") for a in arrays]
        want = reference(op, d, arrays)
        found = result_dtype(op, d)
        got = t.result(t.call(op, d, *given), found, (n,), given)
        pointwise.judge(t, op, d, got, want, *arrays)


def check_sizes(op: str, d: dtype, t: Trial) -> None:
    """Every remainder that a vectorised loop or a work group can leave."""
    _pointwise(t, op, d, SIZES)


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
    for d in (formats.FLOAT32, formats.INT32):
        check = part(check_same_storage, "add", d)
        yield Case(f"L1/add/{d.name}/out-same-storage", "pointwise", check, (d,))
