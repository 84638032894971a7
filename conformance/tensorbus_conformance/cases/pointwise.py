"""L1 cases of the 31 pointwise primitives: every dtype in every layout, edges, scalars, out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np

from tensorbus.plugin import POINTWISE, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.pointwise_reference import bound, reference
from tensorbus_conformance.primitives import (
    DIVIDING,
    SIGNED_ZEROS,
    TO_BOOL,
    ULP_BOUNDS,
    arity,
    operand_dtypes,
    result_dtype,
    whole_domain,
)
from tensorbus_conformance.trial import Placed, Trial, Unsupported

FAMILY = "pointwise"
SHAPE = (19, 24)

# variant: the layout of each operand in turn
_LAYOUTS = {
    "contiguous": ("contiguous",) * 3,
    "transposed": ("transposed",) * 3,
    "strided": ("strided",) * 3,
    "reversed": ("reversed",) * 3,
    "offset": ("offset",) * 3,
    "expanded": ("expanded",) * 3,
    "mixed": ("contiguous", "transposed", "strided"),
}


@functools.lru_cache(maxsize=64)
def operands(op: str, dtype: dtype, kind: str) -> list[np.ndarray]:
    """The values of the operands: ``plain``, ``edges``, ``expanded``, ``deep`` or ``scalar``."""
    n = arity(op)
    if kind in ("plain", "deep", "scalar"):
        shape = {"plain": SHAPE, "deep": (3, 4, 2, 5), "scalar": ()}[kind]
        found = [values.plain(dtype, shape, position) for position in range(min(n, 2))]
    elif kind == "subnormals":
        every = values.subnormals(dtype)
        found = [np.repeat(every[:, None], every.size, 1), np.repeat(every[None], every.size, 0)]
    else:
        every = values.edges(dtype) if dtype not in formats.COMPLEX else _complex_edges(dtype)
        column, row = every[:, None], every[None, :]
        shape = (every.size, every.size)
        found = [np.broadcast_to(column, shape), np.broadcast_to(row, shape)]
        if kind == "edges":
            found = [np.array(a) for a in found]
    if op in DIVIDING and dtype in formats.INTS:
        found[1] = _without_zero(found[1])
    if n == 3:
        shape = found[0].shape
        condition = values.rng("condition", kind).random(shape) < 0.5
        if kind == "expanded":
            condition = np.broadcast_to(condition[:, :1], shape)
        return [np.asarray(condition), *found]
    return found[:n]


def _without_zero(array: np.ndarray) -> np.ndarray:
    """The divisors, their zeros made ones; a repeated dimension stays one."""
    again = tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)
    kept = array[again]
    return np.broadcast_to(np.where(kept == 0, kept.dtype.type(1), kept), array.shape)


def _complex_edges(dtype: dtype) -> np.ndarray:
    parts = [0.0, -0.0, 1.5, -2.0, np.inf, np.nan]
    return np.array([complex(a, b) for a in parts for b in parts], formats.value_dtype(dtype))


@functools.lru_cache(maxsize=64)
def expected(op: str, dtype: dtype, kind: str) -> np.ndarray:
    return reference(op, dtype, operands(op, dtype, kind))


def judge(
    t: Trial, op: str, dtype: dtype, got: np.ndarray, want: np.ndarray, *given: object
) -> None:
    """Compare by the measure that the contract sets for *op*."""
    if op in ULP_BOUNDS and dtype in formats.FLOATS:
        t.close(got, want, dtype, bound(op, dtype), *given)
        if op == "atan2":
            # Signs of zero are specified, and a distance in ULP does not see them.
            zeros = (want == 0) & (got == 0)
            t.exact(np.where(zeros, got, 0), np.where(zeros, want, 0), dtype, *given)
    elif dtype in formats.COMPLEX and op not in ("where", *TO_BOOL):
        t.near(got, want, 8 * formats.unit_roundoff(dtype) * np.abs(want), dtype)
    else:
        found = result_dtype(op, dtype)
        t.exact(got, want, found, *given, zeros=op in SIGNED_ZEROS)


def place(t: Trial, op: str, dtype: dtype, kind: str, layouts: tuple[str, ...]) -> list[Placed]:
    arrays = operands(op, dtype, kind)
    kinds = operand_dtypes(op, dtype)
    return [t.place(a, d, where) for a, d, where in zip(arrays, kinds, layouts, strict=False)]


def check(op: str, dtype: dtype, kind: str, layouts: tuple[str, ...], t: Trial) -> None:
    """A fresh result from operands in the given layouts."""
    given = place(t, op, dtype, kind, layouts)
    got = t.result(t.call(op, dtype, *given), result_dtype(op, dtype), given[0].shape, given)
    judge(t, op, dtype, got, expected(op, dtype, kind), *operands(op, dtype, kind))
    t.untouched(*given)


def check_out(op: str, dtype: dtype, layout: str, t: Trial) -> None:
    """``out=`` is written where it lies, and nothing around it."""
    given = place(t, op, dtype, "plain", ("contiguous",) * 3)
    found = result_dtype(op, dtype)
    out = t.place(values.plain(found, given[0].shape, "out"), found, layout)
    t.call(op, dtype, *given, out=out)
    judge(t, op, dtype, t.written(out), expected(op, dtype, "plain"), *(g.values for g in given))
    t.untouched(*given)


def check_in_place(op: str, dtype: dtype, which: int, layout: str, t: Trial) -> None:
    """``out=`` is exactly one of the inputs."""
    given = place(t, op, dtype, "plain", (layout,) * 3)
    t.call(op, dtype, *given, out=given[which])
    got = t.written(given[which])
    judge(t, op, dtype, got, expected(op, dtype, "plain"), *(g.values for g in given))
    t.untouched(*(g for position, g in enumerate(given) if position != which))


def check_same_operand(op: str, dtype: dtype, t: Trial) -> None:
    """One array as every value operand."""
    given = place(t, op, dtype, "plain", ("contiguous",) * 3)
    last = given[-1] if op in DIVIDING else given[-2]
    arrays = [*given[:-2], last, last]
    want = reference(op, dtype, [a.values for a in arrays])
    got = t.result(t.call(op, dtype, *arrays), result_dtype(op, dtype), last.shape, arrays)
    judge(t, op, dtype, got, want, *(a.values for a in arrays))


def scalars(op: str, dtype: dtype, position: int) -> list[bool | int | float | complex]:
    """Python numbers to stand for the operand at *position*, already wrapped into the dtype."""
    if op == "where" and position == 0:
        return [True, False]
    if dtype is formats.BOOL:
        return [True, False]
    if dtype in formats.INTS:
        low, high = formats.limits(dtype)
        first = [high, low, -1] if low else [high, 254]
        divides = op in DIVIDING and position == 1
        return [*first, 3, dtype.bits - 1, dtype.bits, 1 if divides else 0]
    if dtype in formats.COMPLEX:
        return [1.5 - 2j, 0j]
    return [2.5, -0.5, 0.1, float("nan"), float("inf"), 0.0]


def check_scalar(op: str, dtype: dtype, position: int, t: Trial) -> None:
    """A Python number instead of one operand."""
    given = place(t, op, dtype, "plain", ("contiguous",) * 3)
    kind = operand_dtypes(op, dtype)[position]
    for value in scalars(op, dtype, position):
        # The number becomes one of the dtype: 0.1 beside float32 is float32's 0.1.
        held = formats.round_to(np.asarray(value), kind)
        arrays = [g.values for g in given]
        arrays[position] = np.broadcast_to(held, given[0].shape)
        call = [*given]
        call[position] = t.scalar(value, kind)
        got = t.result(t.call(op, dtype, *call), result_dtype(op, dtype), given[0].shape, given)
        judge(t, op, dtype, got, reference(op, dtype, arrays), *arrays)


def check_zero_dim(op: str, dtype: dtype, t: Trial) -> None:
    """0-dim operands give a 0-dim result, also into ``out=``."""
    given = place(t, op, dtype, "scalar", ("contiguous", "offset", "offset"))
    want, arrays = expected(op, dtype, "scalar"), operands(op, dtype, "scalar")
    found = result_dtype(op, dtype)
    judge(t, op, dtype, t.result(t.call(op, dtype, *given), found, (), given), want, *arrays)
    out = t.place(values.plain(found, (), "out"), found, "offset")
    t.call(op, dtype, *given, out=out)
    judge(t, op, dtype, t.written(out), want, *arrays)


def check_broadcast(op: str, dtype: dtype, t: Trial) -> None:
    """Unexpanded operands, for a backend whose kernels broadcast."""
    if not t.traits.broadcasts:
        raise Unsupported("trait broadcasts is False: the frontend expands")
    arrays = operands(op, dtype, "expanded")
    kinds = operand_dtypes(op, dtype)
    kept = [a[tuple(slice(0, 1) if s == 0 else slice(None) for s in a.strides)] for a in arrays]
    given = [t.place(a, d) for a, d in zip(kept, kinds, strict=True)]
    got = t.result(t.call(op, dtype, *given), result_dtype(op, dtype), arrays[0].shape, given)
    judge(t, op, dtype, got, expected(op, dtype, "expanded"), *arrays)


def check_empty(op: str, dtype: dtype, t: Trial) -> None:
    """Arrays without elements, for a backend that takes them."""
    if not t.traits.takes_empty:
        raise Unsupported("trait takes_empty is False: the frontend returns the empty result")
    given = [t.place(np.zeros((0, 3)), d) for d in operand_dtypes(op, dtype)]
    t.result(t.call(op, dtype, *given), result_dtype(op, dtype), (0, 3))


def check_repeat(op: str, dtype: dtype, t: Trial) -> None:
    """The same call gives the same bits."""
    given = place(t, op, dtype, "plain", ("transposed",) * 3)
    found = result_dtype(op, dtype)
    first = t.read(t.call(op, dtype, *given), found)
    for _ in range(3):
        again = t.read(t.call(op, dtype, *given), found)
        if again.tobytes() != first.tobytes():
            raise Mismatch("two runs with the same operands gave different bits")


def check_zero_divisor(op: str, dtype: dtype, t: Trial) -> None:
    """An integer zero divisor gives any value, without a trap, and spoils no neighbour."""
    given = place(t, op, dtype, "plain", ("contiguous",) * 2)
    divisor = given[1].values.copy()
    divisor[::3] = 0
    arrays = [given[0].values, divisor]
    got = t.result(t.call(op, dtype, given[0], t.place(divisor, dtype)), dtype, divisor.shape)
    keep = divisor != 0
    want = reference(op, dtype, arrays)
    t.exact(got[keep], want[keep], dtype, *(a[keep] for a in arrays))


def cases() -> Iterator[Case]:
    """Every pointwise case."""
    for op in POINTWISE:
        for d in whole_domain(op):
            for variant, function in _variants(op, d):
                yield Case(f"L1/{op}/{d.name}/{variant}", FAMILY, function, (d,))


def _variants(op: str, d: dtype) -> Iterator[tuple[str, Callable[[Trial], None]]]:
    part = functools.partial
    n = arity(op)
    for variant, where in _LAYOUTS.items():
        if variant != "mixed" or n > 1:
            kind = "expanded" if variant == "expanded" else "plain"
            yield variant, part(check, op, d, kind, where)
    yield "edges", part(check, op, d, "edges", ("contiguous",) * 3)
    yield "edges-strided", part(check, op, d, "edges", ("strided",) * 3)
    if d in formats.FLOATS:
        yield "subnormals", part(check, op, d, "subnormals", ("contiguous",) * 3)
    if d in (formats.FLOAT32, formats.INT32):
        yield "rank4", part(check, op, d, "deep", ("permuted", "contiguous", "transposed"))
    yield "0-dim", part(check_zero_dim, op, d)
    yield "empty", part(check_empty, op, d)
    yield "repeat", part(check_repeat, op, d)
    yield "out", part(check_out, op, d, "contiguous")
    yield "out-strided", part(check_out, op, d, "strided")
    yield "out-transposed", part(check_out, op, d, "transposed")
    same = [p for p, kind in enumerate(operand_dtypes(op, d)) if kind is result_dtype(op, d)]
    for position in same:
        yield f"out-input{position}", part(check_in_place, op, d, position, "contiguous")
        yield f"out-input{position}-strided", part(check_in_place, op, d, position, "strided")
    if n > 1:
        yield "broadcast", part(check_broadcast, op, d)
        yield "same-operand", part(check_same_operand, op, d)
        for position in range(n):
            yield f"scalar{position}", part(check_scalar, op, d, position)
    if op in DIVIDING and d in formats.INTS:
        yield "zero-divisor", part(check_zero_divisor, op, d)
