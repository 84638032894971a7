"""L1 cases of ``matmul``: batches, layouts, dtypes, exactness of integers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.primitives import whole_domain
from tensorbus_conformance.trial import Placed, Trial, Unsupported

FAMILY = "matmul"
OP = "matmul"

SIZES = {
    "square": ((5, 5), (5, 5)),
    "tall": ((19, 3), (3, 2)),
    "wide": ((2, 7), (7, 33)),
    "vector": ((1, 9), (9, 1)),
    "outer": ((6, 1), (1, 7)),
    "one": ((1, 1), (1, 1)),
    "tiles": ((35, 70), (70, 67)),
    "batch": ((3, 4, 5), (3, 5, 2)),
    "batch2": ((2, 3, 4, 5), (2, 3, 5, 2)),
}
CONVERSIONS = (
    (formats.INT8, formats.INT32), (formats.UINT8, formats.INT32), (formats.INT8, formats.INT8),
    (formats.FLOAT16, formats.FLOAT32), (formats.FLOAT32, formats.FLOAT64),
    (formats.INT32, formats.FLOAT32), (formats.INT32, formats.INT64),
)  # fmt: skip


def expected(a: np.ndarray, b: np.ndarray, dst: dtype) -> tuple[np.ndarray, Any]:
    """(product, tolerance): exact integers, or wide floats with one rounding for each term."""
    if dst in formats.INTS:
        whole = [np.array([int(v) for v in x.ravel()], object).reshape(x.shape) for x in (a, b)]
        found = np.matmul(*whole)
        flat = [formats.wrap(int(v), dst) for v in found.ravel()]
        return np.array(flat, formats.value_dtype(dst)).reshape(found.shape), None
    wide = np.clongdouble if dst in formats.COMPLEX else formats.WIDE
    with np.errstate(all="ignore"):
        found = np.matmul(a.astype(wide), b.astype(wide))
        size = np.matmul(np.abs(a).astype(formats.WIDE), np.abs(b).astype(formats.WIDE))
    unit = float(np.finfo(formats.compute_dtype(dst)).eps) / 2
    steps = a.shape[-1] + 1
    return found, unit * (2 * steps if dst in formats.COMPLEX else steps) * size


def _judge(t: Trial, got: np.ndarray, want: np.ndarray, tolerance: Any, dst: dtype) -> None:
    if tolerance is None:
        t.exact(got, want, dst)
    else:
        t.near(got, want, np.where(np.isfinite(tolerance), tolerance, 0), dst)


def _operands(src: dtype, size: str) -> tuple[np.ndarray, np.ndarray]:
    a, b = SIZES[size]
    return values.summands(src, a, "a"), values.summands(src, b, "b")


def check(src: dtype, dst: dtype, size: str, where: tuple[str, str], t: Trial) -> None:
    """A fresh product of operands in the given layouts."""
    a, b = _operands(src, size)
    if "expanded" in where and a.ndim > 2:
        a, b = np.broadcast_to(a[:1], a.shape), np.broadcast_to(b[:1], b.shape)
    given = [t.place(a, src, where[0]), t.place(b, src, where[1])]
    want, tolerance = expected(a, b, dst)
    got = t.call(OP, src, *given, t.token(dst))
    _judge(t, t.result(got, dst, want.shape, given), want, tolerance, dst)
    t.untouched(*given)


def check_out(d: dtype, size: str, layout: str, t: Trial) -> None:
    """``out=`` of a product."""
    a, b = _operands(d, size)
    given = [t.place(a, d), t.place(b, d)]
    want, tolerance = expected(a, b, d)
    out = t.place(values.plain(d, want.shape, "out"), d, layout)
    t.call(OP, d, *given, t.token(d), out=out)
    _judge(t, t.written(out), want, tolerance, d)
    t.untouched(*given)


def check_broadcast(d: dtype, t: Trial) -> None:
    """Unexpanded batches, for a backend whose kernels broadcast."""
    if not t.traits.broadcasts:
        raise Unsupported("trait broadcasts is False: the frontend expands")
    for shapes in [((3, 2, 4), (4, 5)), ((2, 1, 2, 4), (3, 4, 5)), ((2, 4), (3, 4, 5))]:
        a, b = (values.summands(d, shape, "broadcast") for shape in shapes)
        given = [t.place(a, d), t.place(b, d)]
        want, tolerance = expected(a, b, d)
        got = t.call(OP, d, *given, t.token(d))
        _judge(t, t.result(got, d, want.shape, given), want, tolerance, d)


def check_extremes(src: dtype, dst: dtype, t: Trial) -> None:
    """int8 products of the largest magnitude, over 1,100 terms, are exact in int32."""
    low, high = formats.limits(src)
    for a_value, b_value in [(low, low), (low, high), (high, high)]:
        a = np.full((3, 1100), a_value, formats.value_dtype(src))
        b = np.full((1100, 2), b_value, formats.value_dtype(src))
        a[1, ::2] = high - 1
        given = [t.place(a, src), t.place(b, src)]
        want, _ = expected(a, b, dst)
        t.exact(t.result(t.call(OP, src, *given, t.token(dst)), dst, (3, 2)), want, dst)


def check_nonfinite(d: dtype, t: Trial) -> None:
    """NaN and infinities reach exactly the rows and columns they belong to."""
    a, b = _operands(d, "tiles")
    a, b = a.copy(), b.copy()
    a[3, 5], a[30, 69], a[7, 0], b[0, 66], b[20, 2] = np.nan, np.inf, -np.inf, np.nan, 0
    given = [t.place(a, d), t.place(b, d)]
    want, tolerance = expected(a, b, d)
    _judge(t, t.result(t.call(OP, d, *given, t.token(d)), d, want.shape), want, tolerance, d)


def check_half(t: Trial) -> None:
    """float16 accumulates in float32."""
    d = formats.FLOAT16
    a: Placed = t.place(np.ones((2, 4096)), d)
    b = t.place(np.ones((4096, 3)), d)
    t.exact(t.read(t.call(OP, d, a, b, t.token(d)), d, (2, 3)), np.full((2, 3), 4096), d)


def check_repeat(d: dtype, t: Trial) -> None:
    """The same call gives the same bits."""
    a, b = (t.place(x, d) for x in _operands(d, "tiles"))
    runs = [t.read(t.call(OP, d, a, b, t.token(d)), d) for _ in range(3)]
    if len({r.tobytes() for r in runs}) != 1:
        raise Mismatch("runs with the same operands gave different bits")


def check_shared(d: dtype, t: Trial) -> None:
    """A matrix and its transpose over one storage, as in a Gram matrix."""
    array = values.summands(d, (6, 4), "gram")
    a = t.place(array, d)
    turned = t.backend.as_strided(a.array, (4, 6), (1, 4), 0, d, d)
    b = Placed(turned, array.T, d, a.buffer, (1, 4), 0)
    want, tolerance = expected(array, array.T, d)
    got = t.result(t.call(OP, d, a, b, t.token(d)), d, (6, 6), [a, b])
    _judge(t, got, want, tolerance, d)


def cases() -> Iterator[Case]:
    """Every case of ``matmul``."""
    part = functools.partial
    plain = ("contiguous", "contiguous")
    pairs = [("transposed", "contiguous"), ("contiguous", "transposed"), ("strided", "offset"),
             ("reversed", "reversed"), ("permuted", "strided")]  # fmt: skip
    for d in whole_domain(OP):
        name = f"L1/{OP}/{d.name}"
        for size in SIZES:
            yield Case(f"{name}/{size}", FAMILY, part(check, d, d, size, plain), (d,))
        for where in pairs:
            for size in ("batch", "wide"):
                variant = f"{size}-{where[0]}-{where[1]}"
                yield Case(f"{name}/{variant}", FAMILY, part(check, d, d, size, where), (d,))
        expanded = part(check, d, d, "batch", ("expanded", "expanded"))
        yield Case(f"{name}/batch-expanded", FAMILY, expanded, (d,))
        for layout in ("contiguous", "strided", "transposed"):
            yield Case(f"{name}/out-{layout}", FAMILY, part(check_out, d, "batch", layout), (d,))
        yield Case(f"{name}/broadcast", FAMILY, part(check_broadcast, d), (d,))
        yield Case(f"{name}/repeat", FAMILY, part(check_repeat, d), (d,))
        yield Case(f"{name}/shared-storage", FAMILY, part(check_shared, d), (d,))
        if d in formats.FLOATS:
            yield Case(f"{name}/nonfinite", FAMILY, part(check_nonfinite, d), (d,))
    for src, dst in CONVERSIONS:
        run = part(check, src, dst, "batch", plain)
        yield Case(f"L1/{OP}/{src.name}-{dst.name}/converts", FAMILY, run, (src, dst))
    for src in (formats.INT8, formats.UINT8):
        run = part(check_extremes, src, formats.INT32)
        yield Case(f"L1/{OP}/{src.name}-int32/exact", FAMILY, run, (src, formats.INT32))
    for d in (formats.INT32, formats.INT64):
        yield Case(f"L1/{OP}/{d.name}/extremes", FAMILY, part(check_extremes, d, d), (d,))
    yield Case(f"L1/{OP}/float16/accumulates-in-float32", FAMILY, check_half, (formats.FLOAT16,))
