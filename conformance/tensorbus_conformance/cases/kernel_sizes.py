"""L1 cases of large operands: every primitive beyond the sizes at which kernels change their way.

A kernel may split its work between threads, fall back on a second algorithm, or count in a narrow
type; each is right for small arrays. Values of floats come from all over the range.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import POINTWISE, PRIMITIVE_TABLE, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.copying import cast
from tensorbus_conformance.cases.creation import stream
from tensorbus_conformance.primitives import INDEXED, OF_ARRAYS, WRITING, arity, domain, joins
from tensorbus_conformance.sharp_values import anywhere
from tensorbus_conformance.specimens import CONTRACTION, Specimen, specimen
from tensorbus_conformance.trial import Trial

ELEMENTS = 133_867
TABLE = (263, 509)
"""As many, in two dimensions."""
LINES: dict[str, tuple[tuple[tuple[int, ...], int], ...]] = {
    # shape and dimension: one long line, long lines along either dimension, many short ones
    "reductions": (((200_003,), 0), ((3, 70_001), 1), ((70_001, 3), 0), ((70_001, 3), 1)),
    "scans": (((70_003,), 0), ((2, 9_001), 1), ((9_001, 2), 0)),
    "order": (((20_011,), 0), ((2, 5_003), 1), ((5_003, 2), 0)),
}
INDICES: tuple[tuple[tuple[int, ...], int, int], ...] = (
    ((70_003,), 0, 5_003),
    ((7, 3), 0, 30_011),
    ((2, 9_001), 1, 9_001),
    ((13, 1_031), 0, 11),
)
"""Shape, dimension, and how many indices."""
PRODUCTS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((3, 5), 1_031),
    ((1_031, 5), 3),
    ((3, 4_099), 4),
    ((67, 131), 521),
    ((700, 3, 4), 5),
    ((1, 1_031), 1_033),
    ((1_033, 1_031), 1),
)
"""Shape of the first factor, columns of the second."""
TAILS = (15, 17, 31, 33, 47, 63, 65)
"""Sizes about those of vectors and blocks."""

_SUMMARY = {
    "reduction": "reductions", "scan": "scans", "contraction": "matmul", "creation": "create",
}  # fmt: skip
"""What the summary calls a family of the table, where it has another name."""


def family(op: str) -> str:
    """The family of the summary that a primitive's cases are counted in."""
    own = PRIMITIVE_TABLE[op].family
    return _SUMMARY.get(own, own)


def chief(op: str) -> dtype:
    """The dtype in which a primitive is tried where each is a kernel more for those who compile."""
    return formats.FLOAT32 if formats.FLOAT32 in domain(op) else formats.INT64


def large(op: str, d: dtype) -> Iterator[Specimen]:
    """The calls with many elements."""
    if op == CONTRACTION:
        for shape, columns in PRODUCTS:
            yield specimen(op, d, shape, "large", columns=columns)
        return
    if op not in INDEXED:
        for shape, dim in LINES[family(op)]:
            yield specimen(op, d, shape, "large", dim=dim)
        return
    hows = joins(d) if op in WRITING else (None,)
    for shape, dim, count in INDICES:
        for how in hows:
            # Many factors for each place leave the range of a float.
            if how in ("set", "mul") and count > shape[dim]:
                continue
            more: dict[str, Any] = {} if how is None else {"how": how}
            yield specimen(op, d, shape, "large", dim=dim, indices=count, **more)


def check_large(op: str, d: dtype, t: Trial) -> None:
    """More elements than one launch, one block of threads or a 16-bit counter covers."""
    for made in large(op, d):
        made.check(t)


def check_tails(d: dtype, t: Trial) -> None:
    """Products of each size of a dimension about the blocks that kernels compute in."""
    for n in TAILS:
        for shape, columns in [((n, 3), 5), ((3, n), 5), ((3, 5), n)]:
            specimen(CONTRACTION, d, shape, "tails", columns=columns).check(t)


def check_large_layouts(d: dtype, t: Trial) -> None:
    """Products of large factors, each of which may lie by columns."""
    made = specimen(CONTRACTION, d, (67, 131), "large", columns=521)
    for layout in [("transposed", "contiguous"), ("contiguous", "transposed"),
                   ("transposed", "transposed")]:  # fmt: skip
        made.check(t, layout)


def check_large_broadcast(op: str, d: dtype, t: Trial) -> None:
    """Operands that repeat one row, or one number of each row, many times."""
    whole = specimen(op, d, TABLE, "large", of=anywhere)
    repeated = tuple(
        np.broadcast_to(a[:1] if k % 2 else a[:, :1], TABLE)
        for k, a in enumerate(reversed(whole.arrays))
    )
    made = Specimen(op, d, repeated[::-1])
    placed = made.place(t, "expanded")
    _judged(t, made, made.read(t, made.launch(t, placed), placed), None)


def check_large_table(op: str, d: dtype, t: Trial) -> None:
    """A pointwise op: fresh, with gaps between its operands, into ``out``, and in place."""
    made = specimen(op, d, TABLE, "large", of=anywhere)
    first = None
    for layout in ("contiguous", "strided"):
        placed = made.place(t, layout)
        first = _judged(t, made, made.read(t, made.launch(t, placed), placed), first)
    placed = made.place(t)
    out = t.place(np.zeros(TABLE), made.found)
    t.call(op, d, *placed, out=out)
    _judged(t, made, t.written(out), first)
    if made.found is d:
        t.call(op, d, *placed, out=placed[-1])
        _judged(t, made, t.written(placed[-1]), first)


def check_large_scalar(op: str, d: dtype, t: Trial) -> None:
    """A Python number beside many elements."""
    made = specimen(op, d, TABLE, "large", of=anywhere)
    number: Any = {formats.BOOL: True}.get(d, 3 if d in formats.INTS else 0.3)
    held = formats.round_to(np.asarray(number), d)
    beside = Specimen(op, d, (*made.arrays[:-1], np.full(TABLE, held)))
    rows = zip(beside.arrays[:-1], beside.dtypes(), strict=False)
    placed = [t.place(a, kind) for a, kind in rows]
    got = t.result(t.call(op, d, *placed, t.scalar(number, d)), beside.found, TABLE, placed)
    _judged(t, beside, got, None)


def _judged(t: Trial, made: Specimen, got: np.ndarray, first: np.ndarray | None) -> np.ndarray:
    """Raise unless values are right at both ends, about powers of two, and at every fifth place.

    What has the bits of the *first* result, which was found right, is right as well.
    """
    if first is not None and first.tobytes() == got.tobytes():
        return first
    flat = [a.reshape(-1)[_PLACES] for a in made.arrays]
    part = Specimen(made.op, made.dtype, tuple(flat))
    part.judge(t, got.reshape(-1)[_PLACES])
    return got


def _places(n: int) -> np.ndarray:
    edges = [2**k + i for k in range(6, n.bit_length() - 1) for i in range(-4, 5)]
    return np.unique([*range(0, n, 5), *range(64), *edges, *range(n - 300, n)])


_PLACES = _places(ELEMENTS)


def check_range(d: dtype, t: Trial) -> None:
    """A long ``arange``, also one that wraps around."""
    kernel = t.kernel("arange", d)
    for start, step in [(0, 1), (-5, 3)]:
        whole = start + step * np.arange(ELEMENTS)
        if d in formats.FLOATS:
            n = min(ELEMENTS, int(formats.largest(d) // abs(step)) - 9)
            got = t.result(kernel(n, float(start), float(step), t.token(d)), d, (n,))
            t.exact(got, formats.round_to(whole[:n].astype(np.float64), d), d)
        else:
            got = t.result(kernel(ELEMENTS, start, step, t.token(d)), d, (ELEMENTS,))
            t.exact(got, whole.astype(formats.value_dtype(d)), d)


def check_stream(t: Trial) -> None:
    """Many random words, from an offset within a stream."""
    key, offset, n = (77, 5), 2**32 - 7, ELEMENTS
    got = t.result(t.kernel("random_bits", formats.INT64)(key, offset, n), formats.INT64, (n,))
    t.exact(got, stream(key, offset, n), formats.INT64)


def check_copy(src: dtype, dst: dtype, t: Trial) -> None:
    """A copy of many elements from and to memory with gaps, and a fill."""
    small = values.plain(src, (83, 7), "large copy")
    if src in formats.FLOATS:
        small = np.clip(small, 0 if dst is formats.UINT8 else -100, 100)
    array = np.resize(small, TABLE)
    want = np.resize(cast(small, src, dst), TABLE)
    for layouts in [("contiguous", "contiguous"), ("strided", "contiguous"),
                    ("contiguous", "strided")]:  # fmt: skip
        given, out = t.place(array, src, layouts[0]), t.place(np.zeros(TABLE), dst, layouts[1])
        t.backend.copy_(out.array, dst, given.array, src)
        t.exact(t.written(out), want, dst)
    out = t.place(np.zeros(ELEMENTS), dst)
    t.backend.copy_(out.array, dst, 1, None)
    t.exact(t.written(out), np.ones(ELEMENTS), dst)


_COPIES = (
    (formats.FLOAT32, formats.FLOAT32), (formats.INT64, formats.FLOAT32),
    (formats.FLOAT32, formats.INT64), (formats.BOOL, formats.INT64), (formats.INT64, formats.BOOL),
    (formats.INT64, formats.INT64), (formats.BOOL, formats.BOOL), (formats.BOOL, formats.FLOAT32),
    (formats.UINT8, formats.FLOAT32), (formats.FLOAT64, formats.FLOAT16),
)  # fmt: skip


def cases() -> Iterator[Case]:
    """The cases, in the family of the primitive they try."""
    part = functools.partial
    for op in OF_ARRAYS:
        whole = check_large_table if op in POINTWISE else check_large
        for d in domain(op):
            stem, home = f"L1/{op}/{d.name}", family(op)
            yield Case(f"{stem}/large", home, part(whole, op, d), (d,))
            more: dict[str, Any] = {}
            if op in POINTWISE and d is chief(op):
                more["large-broadcast"] = part(check_large_broadcast, op, d)
            if op in POINTWISE and arity(op) > 1:
                more["large-scalar"] = part(check_large_scalar, op, d)
            if op == CONTRACTION:
                more = {"tails": part(check_tails, d), "layouts": part(check_large_layouts, d)}
                more = {f"large-{name}": check for name, check in more.items()}
            for name, check in more.items():
                yield Case(f"{stem}/{name}", home, check, (d,))
    for d in (*formats.INTS, *formats.FLOATS):
        yield Case(f"L1/arange/{d.name}/large", family("arange"), part(check_range, d), (d,))
    yield Case("L1/random_bits/int64/large", family("random_bits"), check_stream)
    for src, dst in _COPIES:
        name = f"L0/copy_/{src.name}-{dst.name}/large"
        yield Case(name, "copy_", part(check_copy, src, dst), (src, dst))
