"""L1 cases of ``put`` and ``scatter``: in place, every op, repeats, untouched bytes, faults."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import compare, formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.movement import FAULTS
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.faults import expect_fault
from tensorbus_conformance.primitives import joins, whole_domain
from tensorbus_conformance.trial import Placed, Trial, Unsupported

FAMILY = "index"
SHAPE = (4, 6, 5)


def _combine(op: str, d: dtype) -> Callable[[Any, Any], Any]:
    """One application of *op* to two values, in wide arithmetic for floats."""
    if op == "set":
        return lambda old, new: new
    if op in ("add", "mul"):
        ints = operator.add if op == "add" else operator.mul
        if d in formats.INTS:
            return lambda old, new: formats.wrap(int(ints(int(old), int(new))), d)
        return ints
    function = np.maximum if op == "amax" else np.minimum
    return lambda old, new: function(old, new)


def expected(
    op: str, out: np.ndarray, indices: np.ndarray, dim: int, src: np.ndarray, d: dtype
) -> tuple[np.ndarray, Any]:
    """(result, magnitude): *indices* has src's shape; magnitude bounds the sums that were made."""
    rounds = d in formats.FLOATS or d in formats.COMPLEX
    wide = np.clongdouble if d in formats.COMPLEX else formats.WIDE
    work = object if d in formats.INTS else wide if rounds else out.dtype
    result = out.astype(work)
    size = np.abs(result).astype(formats.WIDE) if rounds else None
    combine = _combine(op, d)
    for at in np.ndindex(src.shape):
        to = (*at[:dim], int(indices[at]), *at[dim + 1 :])
        result[to] = combine(result[to], src[at])
        if size is not None:
            size[to] = size[to] + abs(src[at]) if op == "add" else abs(result[to])
    return (result if rounds else result.astype(out.dtype)), size


def _judge(
    t: Trial, op: str, got: np.ndarray, want: np.ndarray, size: Any, d: dtype, repeats: int
) -> None:
    if op in ("add", "mul") and (d in formats.FLOATS or d in formats.COMPLEX):
        # Each application rounds in the array's own dtype: there is no accumulator to widen.
        t.near(got, want, 2 * (repeats + 1) * formats.unit_roundoff(d) * size, d)
    else:
        t.exact(got, want, d, zeros=op == "set")


def _distinct(n: int, count: int, shape: tuple[int, ...], dim: int, key: str) -> np.ndarray:
    """Indices along *dim* without repeats within a line."""
    random = values.rng("distinct", n, count, key)
    lines = [random.permutation(n)[:count] for _ in range(int(np.prod(shape)) // max(count, 1))]
    moved = np.array(lines).reshape(*(m for k, m in enumerate(shape) if k != dim), count)
    return np.moveaxis(moved, -1, dim)


def check_put(op: str, d: dtype, layout: str, source: str, t: Trial) -> None:
    """Whole slices, without repeats: bytes that are not indexed stay as they were."""
    for dim in range(3):
        n = SHAPE[dim]
        chosen = values.rng("put", dim).permutation(n)[: n - 1]
        shape = tuple(n - 1 if k == dim else m for k, m in enumerate(SHAPE))
        array = values.summands(d, shape, "src")
        if source == "expanded":
            array = np.broadcast_to(array[..., :1], shape)
        out = t.place(values.summands(d, SHAPE, "out"), d, layout)
        src = t.place(array, d, source)
        i = t.place(chosen, formats.INT64)
        returned = t.call("put", d, out, dim, i, src, op, False)
        _same_storage(t, returned, out)
        indices = np.broadcast_to(chosen.reshape(-1, *[1] * (2 - dim)), shape)
        want, size = expected(op, out.values, indices, dim, array, d)
        _judge(t, op, t.written(out), want, size, d, 1)
        t.untouched(src, i)


def check_scatter(op: str, d: dtype, layout: str, source: str, t: Trial) -> None:
    """Single elements, without repeats: bytes that are not indexed stay as they were."""
    for dim in range(3):
        n = SHAPE[dim]
        shape = tuple(n - 1 if k == dim else m for k, m in enumerate(SHAPE))
        indices = _distinct(n, n - 1, shape, dim, "scatter")
        array = values.summands(d, shape, "src")
        if source == "expanded":
            array = np.broadcast_to(array[..., :1], shape)
        out = t.place(values.summands(d, SHAPE, "out"), d, layout)
        src, i = t.place(array, d, source), t.place(indices, formats.INT64, "transposed")
        returned = t.call("scatter", d, out, dim, i, src, op)
        _same_storage(t, returned, out)
        want, size = expected(op, out.values, indices, dim, array, d)
        _judge(t, op, t.written(out), want, size, d, 1)
        t.untouched(src, i)


def _same_storage(t: Trial, returned: Any, out: Placed) -> None:
    """put and scatter return what they wrote into."""
    if returned is None or tuple(returned.shape) != out.shape:
        raise Mismatch(f"put and scatter return out, got {type(returned).__name__}")
    if t.backend.layout(returned, out.dtype)[0] != t.backend.layout(out.array, out.dtype)[0]:
        raise Mismatch("put and scatter return out, got an array with another storage")


def check_repeats(name: str, op: str, d: dtype, t: Trial) -> None:
    """Repeated indices: every value is applied once; of several that are set, one remains."""
    rows, width, count = 5, 3, 40
    random = values.rng("repeats", name, op)
    shape = (count, width)
    indices = random.integers(0, rows - 1, shape)
    if name == "put":
        indices = np.broadcast_to(indices[:, :1], shape)
    array = values.summands(d, shape, "src")
    if op == "mul" and d in formats.FLOATS:
        array = formats.round_to(1 + 0.1 * array, d)
    if op in ("amax", "amin") and d in formats.FLOATS:
        array[7] = np.nan
    out = t.place(values.summands(d, (rows, width), "out"), d, "strided")
    src = t.place(array, d)
    if name == "put":
        i = t.place(np.array(indices[:, 0]), formats.INT64)
        t.call("put", d, out, 0, i, src, op, False)
    else:
        t.call("scatter", d, out, 0, t.place(indices, formats.INT64), src, op)
    got = t.written(out)
    if op == "set":
        _one_of(got, out.values, indices, array)
        return
    want, size = expected(op, out.values, indices, 0, array, d)
    _judge(t, op, got, want, size, d, count)


def _one_of(got: np.ndarray, before: np.ndarray, indices: np.ndarray, src: np.ndarray) -> None:
    """Each element is one of the values set there, or what it was."""
    for row, column in np.ndindex(got.shape):
        allowed = src[indices[:, column] == row, column]
        allowed = allowed if allowed.size else before[row, column][None]
        if not (allowed == got[row, column]).any():
            raise Mismatch(
                f"set with repeated indices left {got[row, column]!r} at {(row, column)}, "
                f"which is none of the values written there: {allowed[:6].tolist()}"
            )


def check_wrap(op: str, d: dtype, t: Trial) -> None:
    """With ``wrap``, -n..-1 count from the end of the dimension put into."""
    out = t.place(values.summands(d, (5, 7), "out"), d, "transposed")
    chosen = np.array([-1, 0, -7, 3, -7 + 4])[[0, 2, 3, 4]]
    array = values.summands(d, (5, 4), "src")
    t.call("put", d, out, 1, t.place(chosen, formats.INT64), t.place(array, d), op, True)
    indices = np.broadcast_to(chosen % 7, (5, 4))
    want, size = expected(op, out.values, indices, 1, array, d)
    _judge(t, op, t.written(out), want, size, d, 1)


def check_scalar(name: str, op: str, d: dtype, t: Trial) -> None:
    """A Python number as the source."""
    number: Any = {formats.BOOL: True}.get(d, 3 if d in formats.INTS else 1.5)
    out = t.place(values.summands(d, (5, 7), "out"), d, "strided")
    held = formats.round_to(np.asarray(number), d)
    arguments: tuple[Any, ...]
    if name == "put":
        indices = np.broadcast_to(np.array([6, 0, 2]), (5, 3))
        arguments = (1, t.place(np.array([6, 0, 2]), formats.INT64), t.scalar(number, d), op, False)
    else:
        indices = np.array([[6, 0], [1, 2], [3, 4], [5, 6], [0, 1]])
        arguments = (1, t.place(indices, formats.INT64), t.scalar(number, d), op)
    t.call(name, d, out, *arguments)
    want, size = expected(op, out.values, indices, 1, np.broadcast_to(held, indices.shape), d)
    _judge(t, op, t.written(out), want, size, d, 1)


def check_rank_one(name: str, d: dtype, t: Trial) -> None:
    """One row, with an index of one element and an expanded index."""
    for chosen in (np.array([3]), np.broadcast_to(np.array([2]), (4,))):
        out = t.place(values.summands(d, (7,), "out"), d, "strided")
        array = values.summands(d, chosen.shape, "src")
        i = t.place(chosen, formats.INT64, "expanded")
        more = (False,) if name == "put" else ()
        op = "amax" if d not in formats.COMPLEX else "set"
        array = array if op == "amax" else np.broadcast_to(array[:1], array.shape)
        t.call(name, d, out, 0, i, t.place(array, d), op, *more)
        want, size = expected(op, out.values, chosen, 0, array, d)
        _judge(t, op, t.written(out), want, size, d, 1)


def check_nan(name: str, op: str, d: dtype, t: Trial) -> None:
    """amax and amin keep a NaN, from either side."""
    out = t.place(np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, -np.inf]]), d)
    array = np.array([[np.nan, 1.0], [2.0, 4.0]], formats.value_dtype(d))
    indices = np.array([[0, 1], [0, 1]])
    more = (False,) if name == "put" else ()
    i = t.place(indices[0] if name == "put" else indices, formats.INT64)
    t.call(name, d, out, 1, i, t.place(array, d), op, *more)
    want, _ = expected(op, out.values, indices, 1, array, d)
    t.exact(t.written(out), want, d)


def check_fault(name: str, value: int, wrap: bool, t: Trial) -> None:
    """An index outside faults; no byte outside ``out`` is written, on a host none inside."""
    d, n = formats.FLOAT32, 5
    out = t.place(values.plain(d, (4, n), "out"), d, "strided")
    chosen = np.array([0, 3, value, 1])
    if name == "scatter":
        chosen = np.broadcast_to(chosen, (4, 4))
    array = t.place(values.plain(d, (4, 4), "src"), d)
    i = t.place(chosen, formats.INT64)
    more = (wrap,) if name == "put" else ()
    expect_fault(t, lambda: t.call(name, d, out, 1, i, array, "set", *more), {value}, 1, n)
    t.written(out)
    if t.traits.host_sync:
        compare.same_bytes(t.storage(out), out.buffer, "a faulting call wrote a part of out")


def check_deterministic(name: str, t: Trial) -> None:
    """Repeated indices give the same bits, where the trait promises it."""
    if not t.traits.deterministic_scatter:
        raise Unsupported("trait deterministic_scatter is False: the frontend sorts where asked")
    d = formats.FLOAT32
    array = values.plain(d, (3000,), "src")
    indices = values.rng("deterministic").integers(0, 10, 3000)
    more = (False,) if name == "put" else ()
    runs = set()
    for _ in range(4):
        out = t.place(np.zeros(10), d)
        t.call(name, d, out, 0, t.place(indices, formats.INT64), t.place(array, d), "add", *more)
        runs.add(t.written(out).tobytes())
    if len(runs) != 1:
        raise Mismatch("runs differ, though trait deterministic_scatter is True")


def check_contended(name: str, op: str, d: dtype, t: Trial) -> None:
    """Thousands of updates to few elements: none is lost."""
    indices = values.rng("contended").integers(0, 3, 6000)
    array = np.ones(6000) if op == "add" else values.ranks(d, (6000,), "contended")
    out = t.place(np.zeros(3), d)
    more = (False,) if name == "put" else ()
    src = t.place(array, d)
    t.call(name, d, out, 0, t.place(indices, formats.INT64), src, op, *more)
    want = np.zeros(3, np.float64 if d in formats.FLOATS else np.int64)
    if op == "add":
        np.add.at(want, indices, 1)
        if d in formats.INTS:
            want = np.array([formats.wrap(int(v), d) for v in want])
    else:
        np.maximum.at(want, indices, src.values)
    t.exact(t.written(out), want, d)


def cases() -> Iterator[Case]:
    """Every case of ``put`` and ``scatter``."""
    part = functools.partial
    for name, check in (("put", check_put), ("scatter", check_scatter)):
        for d in whole_domain(name):
            for op in joins(d):
                where = f"L1/{name}/{d.name}/{op}"
                layouts = ("contiguous", "strided", "transposed", "offset")
                for layout in layouts if op in ("set", "add") else ("strided",):
                    yield Case(
                        f"{where}-{layout}", FAMILY, part(check, op, d, layout, "contiguous"), (d,)
                    )
                for source in ("strided", "reversed", "expanded") if op in ("set", "add") else ():
                    run = part(check, op, d, "contiguous", source)
                    yield Case(f"{where}-src-{source}", FAMILY, run, (d,))
                yield Case(f"{where}-repeats", FAMILY, part(check_repeats, name, op, d), (d,))
                yield Case(f"{where}-scalar", FAMILY, part(check_scalar, name, op, d), (d,))
                if name == "put":
                    yield Case(f"{where}-wrap", FAMILY, part(check_wrap, op, d), (d,))
                if d in formats.FLOATS and op in ("amax", "amin"):
                    yield Case(f"{where}-nan", FAMILY, part(check_nan, name, op, d), (d,))
            yield Case(f"L1/{name}/{d.name}/rank1", FAMILY, part(check_rank_one, name, d), (d,))
        for value, wrap in FAULTS:
            if name == "put" or not wrap:
                label = f"fault{value}{'-wrap' if wrap else ''}"
                yield Case(
                    f"L1/{name}/float32/{label}", FAMILY, part(check_fault, name, value, wrap)
                )
        for d in (formats.FLOAT32, formats.INT32, formats.INT64, formats.UINT8, formats.INT8):
            for op in ("add", "amax"):
                run = part(check_contended, name, op, d)
                yield Case(f"L1/{name}/{d.name}/{op}-contended", FAMILY, run, (d,))
        yield Case(f"L1/{name}/float32/deterministic", FAMILY, part(check_deterministic, name))
