"""L1 cases of odd operands: windows that overlap, nine dimensions, one element."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import POINTWISE, dtype
from tensorbus_conformance import formats, layouts
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.kernel_sizes import chief, family
from tensorbus_conformance.primitives import DIVIDING, INDEXED, OF_ARRAYS, WRITING, arity, domain
from tensorbus_conformance.specimens import CONTRACTION, Specimen, specimen
from tensorbus_conformance.trial import Placed, Trial

ROWS, WIDTH, STEP = 5, 4, 2
DEEP = (2, 1, 2, 1, 3, 1, 2, 1, 2)
ONES: tuple[tuple[int, ...], ...] = ((1,), (1, 1), (1, 1, 1))


def windowed(s: Specimen) -> Specimen:
    """The call with every operand that can be one a window sliding over a row."""
    shown = []
    for position, array in enumerate(s.arrays):
        if (s.op in WRITING and position == 0) or array.ndim != 2:
            shown.append(array)
            continue
        rows, width = array.shape
        base = np.resize(array.reshape(-1), STEP * (rows - 1) + width)
        slid = np.lib.stride_tricks.sliding_window_view(base, width)[::STEP]
        shown.append(slid)
    if s.op in WRITING and s.how == "set":
        shown[1] = s.arrays[1]
    return Specimen(s.op, s.dtype, tuple(shown), s.dim, s.how, s.wrap, s.to)


def place_window(t: Trial, array: np.ndarray, d: dtype) -> Placed:
    """An operand that overlaps itself, as *array* does on the host."""
    rows, width = array.shape
    base = np.array([array[i // STEP if i // STEP < rows else rows - 1,
                           i - STEP * min(i // STEP, rows - 1)]
                     for i in range(STEP * (rows - 1) + width)])  # fmt: skip
    flat = t.place(base, d)
    view = t.backend.as_strided(flat.array, (rows, width), (STEP, 1), 0, d, d)
    return Placed(view, array, d, flat.buffer, (STEP, 1), 0)


def check_window(op: str, d: dtype, t: Trial) -> None:
    """Operands that overlap themselves, along either dimension."""
    for dim in (0, 1) if op not in (*POINTWISE, CONTRACTION) else (1,):
        s = windowed(specimen(op, d, (ROWS, WIDTH), "window", dim=dim))
        placed = [
            place_window(t, a, k) if a.ndim == 2 and not (op in WRITING and position == 0)
            and a.strides[0] == STEP * a.itemsize else t.place(a, k)
            for position, (a, k) in enumerate(zip(s.arrays, s.dtypes(), strict=False))
        ]  # fmt: skip
        s.judge(t, s.read(t, s.launch(t, placed), placed))
        t.untouched(*placed[1 if op in WRITING else 0 :])


def check_between(op: str, d: dtype, t: Trial) -> None:
    """Two operands that overlap each other: neighbours in one row."""
    n = 11
    s = specimen(op, d, (n + 3,), "between")
    if op in DIVIDING and d in formats.INTS:
        s = Specimen(op, d, (s.arrays[1], s.arrays[1]))
    base = t.place(s.arrays[-2], d)
    pair = [_part(t, base, start, n) for start in (0, 3)]
    condition = [t.place(s.arrays[0][:n], formats.BOOL)] if op == "where" else []
    placed = [*condition, *pair]
    made = Specimen(op, d, tuple(p.values for p in placed))
    made.judge(t, made.read(t, made.launch(t, placed), placed))
    t.untouched(*placed)


def _part(t: Trial, base: Placed, start: int, n: int) -> Placed:
    view = t.backend.as_strided(base.array, (n,), (1,), start, base.dtype, base.dtype)
    return Placed(view, base.values[start : start + n], base.dtype, base.buffer, (1,), start)


def check_deep(op: str, d: dtype, t: Trial) -> None:
    """Nine dimensions, in an order of which no two neighbours can be merged."""
    for dim in (len(DEEP) - 1, 4, 0) if op not in (*POINTWISE, CONTRACTION) else (None,):
        s = specimen(op, d, DEEP, "deep", dim=dim)
        deep = [where if a.ndim > 1 else "contiguous" for a, where in
                zip(s.arrays, ("permuted", "transposed", "contiguous"), strict=False)]  # fmt: skip
        s.check(t, deep)
    if op in POINTWISE:
        out, placed = t.place(np.zeros(DEEP), s.found, "transposed"), s.place(t, deep)
        t.call(op, d, *placed, out=out)
        s.judge(t, t.written(out))


def check_one(op: str, d: dtype, t: Trial) -> None:
    """A single element, in one, two and three dimensions."""
    for shape in ONES:
        if op == CONTRACTION and len(shape) < 2:
            continue
        for dim in range(len(shape)) if op not in (*POINTWISE, CONTRACTION) else (None,):
            for layout in ("contiguous", "offset"):
                specimen(op, d, shape, "one", dim=dim, indices=1).check(t, layout)


def check_index_layout(op: str, d: dtype, t: Trial) -> None:
    """Indices and sources in every layout, where they are written from and read with."""
    for layout in layouts.LAYOUTS:
        if layout == "expanded" or (layout == "reversed" and not t.traits.negative_strides):
            continue
        for dim in (0, 1):
            s = specimen(op, d, (5, 6), "layouts", dim=dim)
            s.check(t, ("contiguous", layout, layout))
            s.check(t, (layout, "contiguous", "contiguous"))


def cases() -> Iterator[Case]:
    """The cases, in the family of the primitive they try."""
    part = functools.partial
    for op in OF_ARRAYS:
        for d in domain(op):
            checks: dict[str, Any] = {"window": check_window, "one-element": check_one}
            # A rank is a kernel more for devices that compile: one dtype has it in every profile.
            checks["deep" if d is chief(op) else "deep-more"] = check_deep
            if op in POINTWISE and arity(op) > 1:
                checks["between"] = check_between
            if op in INDEXED:
                checks["layouts"] = check_index_layout
            for variant, check in checks.items():
                yield Case(f"L1/{op}/{d.name}/{variant}", family(op), part(check, op, d), (d,))
