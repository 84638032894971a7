"""Cases of conversions: each rounds once, whatever lies between the two dtypes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import REDUCTIONS, dtype
from tensorbus_conformance import formats
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.copying import cast, sources
from tensorbus_conformance.cases.kernel_sizes import family
from tensorbus_conformance.primitives import TO_A_DTYPE
from tensorbus_conformance.sharp_values import nearest, ties
from tensorbus_conformance.trial import Trial


def sharp(src: dtype, dst: dtype) -> np.ndarray:
    """Values of *src* that a conversion by way of a third dtype would get wrong."""
    found: list[Any] = list(ties(src, dst))
    if src in formats.FLOATS and dst in formats.INTS:
        held = [float(formats.round_to(np.asarray(v), src)) for v in (
            3e9, -3e9, 2.0**31, -(2.0**31), 2.0**32 + 2.0**9, 70_000.0, -40_000.0, 300.0, -1.0,
            2.0**24 + 2, 2.0**53 - 1, 2.0**53 + 2, 2.0**62, -(2.0**62), 0.999, -0.999, 255.9, 256.0,
            1e15 + 1, 65_504.0, 2.0**31 + 0.5, -(2.0**31) - 0.5, -(2.0**31) - 1, 2.0**63,
            -(2.0**63), 1e10, 1e20, -1e30, np.inf, -np.inf, np.nan)]  # fmt: skip
        found += held
    if dst is formats.BOOL and src in formats.INTS:
        low, high = formats.limits(src)
        found += [v for v in (0, 1, 2, 256, 65536, 2**24, 2**32, 2**63 - 1, -256, -(2**32), low)
                  if low <= v <= high]  # fmt: skip
    if dst is formats.BOOL and src in formats.FLOATS:
        tiny = formats.smallest_normal(src)
        found += [0.0, -0.0, 0.25, -0.5, tiny, -tiny, np.nan, np.inf, 256.0, 1e-3]
    if src in formats.INTS and dst in formats.INTS:
        low, high = formats.limits(src)
        found += [v for v in (2**53 + 1, 2**31, -(2**31) - 1, 2**32 + 5, 2**15, 255, 256, -129)
                  if low <= v <= high]  # fmt: skip
    if src in formats.FLOATS and dst in formats.FLOATS:
        found += [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    return np.array(found, formats.value_dtype(src))


def converted(array: np.ndarray, src: dtype, dst: dtype) -> np.ndarray:
    """The values in *dst*, by whole numbers where it is a float dtype."""
    if dst not in formats.FLOATS:
        return cast(array, src, dst)
    return np.array([nearest(v, dst) for v in array.tolist()], formats.value_dtype(dst))


def check_copy(src: dtype, dst: dtype, t: Trial) -> None:
    """``copy_`` of values beside a tie, beyond a narrower type, and of the last bits."""
    array = sharp(src, dst)
    given, out = t.place(array, src), t.place(np.zeros(array.size), dst)
    t.backend.copy_(out.array, dst, given.array, src)
    t.exact(t.written(out), converted(array, src, dst), dst, array)
    t.untouched(given)


def numbers(dst: dtype) -> Iterator[tuple[Any, np.ndarray]]:
    """Python numbers that a conversion easily gets wrong, and three elements of what each is."""
    for src in (formats.INT64, formats.FLOAT64):
        numbers = sharp(src, dst).tolist()
        if dst in formats.INTS:  # a number has been wrapped before
            numbers = [formats.wrap(v, dst) for v in numbers if isinstance(v, int)]
        for number in dict.fromkeys(numbers):
            want = converted(np.array([number], formats.value_dtype(src)), src, dst)
            yield number, np.full(3, want[0])


def check_fill(dst: dtype, t: Trial) -> None:
    """``copy_`` of a Python number."""
    for number, want in numbers(dst):
        out = t.place(np.zeros(3), dst)
        t.backend.copy_(out.array, dst, number, None)
        t.exact(t.written(out), want, dst)


def check_number(dst: dtype, t: Trial) -> None:
    """A Python number that stands for an operand."""
    for number, want in numbers(dst):
        held, zeros = t.scalar(number, dst), t.place(np.zeros(3), dst)
        chosen = t.call("where", dst, t.place(np.zeros(3), formats.BOOL), zeros, held)
        t.exact(t.read(chosen, dst, (3,)), want, dst)


def check_loading(op: str, src: dtype, dst: dtype, t: Trial) -> None:
    """Sums, products and scans of one term are a conversion."""
    array = sharp(src, dst) if len(sharp(src, dst)) else sources(src, dst).ravel()
    want = converted(array, src, dst)
    column, token = t.place(array.reshape(-1, 1), src), t.token(dst)
    if op == "matmul":
        # A product by one keeps a value, but infinity and NaN meet no other here.
        got = t.call(op, src, column, t.place(np.ones((1, 1)), src), token)
        want = want.reshape(-1, 1)
    elif op in REDUCTIONS:
        got = t.call(op, src, column, (1,), token)
    else:
        got = t.call(op, src, column, 1, token)
        want = want.reshape(-1, 1)
    t.exact(t.result(got, dst, want.shape, [column]), want, dst, zeros=False)


def cases() -> Iterator[Case]:
    """The cases: all pairs of dtypes for ``copy_``, and for what converts as it loads."""
    part = functools.partial
    for src in formats.REAL:
        for dst in formats.REAL:
            if not sharp(src, dst).size:
                continue
            name = f"L0/copy_/{src.name}-{dst.name}/sharp"
            yield Case(name, "copy_", part(check_copy, src, dst), (src, dst))
    for d in formats.REAL:
        yield Case(f"L0/copy_/fill-{d.name}/sharp", "copy_", part(check_fill, d), (d,))
        yield Case(f"L1/where/{d.name}/sharp-number", "pointwise", part(check_number, d), (d,))
    for op in TO_A_DTYPE:
        for src in (*formats.INTS, *formats.FLOATS):
            for dst in (*formats.INTS, *formats.FLOATS):
                # Floats become integers by ``copy_`` alone, before a kernel sees them.
                if src is dst or (src in formats.FLOATS and dst in formats.INTS):
                    continue
                run = part(check_loading, op, src, dst)
                name = f"L1/{op}/{src.name}-{dst.name}/sharp"
                yield Case(name, family(op), run, (src, dst))
