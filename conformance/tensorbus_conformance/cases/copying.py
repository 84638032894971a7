"""L0 cases of ``copy_``: the table of casts, every layout on both sides, fills."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats, layouts, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "copy_"
SHAPE = (6, 8)
_THROUGH_INT64 = (formats.UINT8, formats.INT8, formats.INT16)


def sources(src: dtype, dst: dtype) -> np.ndarray:
    """48 values of *src* whose cast to *dst* is specified."""
    if src in formats.COMPLEX:
        real = sources(src.to_real(), dst if dst not in formats.COMPLEX else dst.to_real())
        imaginary = np.roll(real, 7)
        return (real.ravel() + 0j + 1j * np.where(np.isfinite(imaginary), imaginary, 2).ravel()
                ).astype(formats.value_dtype(src)).reshape(SHAPE)  # fmt: skip
    found = np.concatenate([values.edges(src), values.plain(src, (24,), "copy")])
    if src in formats.FLOATS and dst in formats.INTS:
        exact = [-1.0, 255.0, 256.0, 300.0, -300.0, 127.9, -128.9, 0.99, -0.99, 40000.0, -40000.0]
        found[: len(exact)] = formats.round_to(np.array(exact), src)
        low, high = formats.limits(dst)
        if dst in _THROUGH_INT64:
            low, high = -(2**63), 2**63 - 1024
        with np.errstate(all="ignore"):
            inside = (found > low - 1.0) & (found < high + 1.0) & (np.abs(found) < 2.0**63)
        found = np.where(inside, found, src_one(src))
    return found.reshape(SHAPE)


def src_one(src: dtype) -> np.generic:
    return formats.value_dtype(src).type(1)


def truncated(value: float, dst: dtype) -> int:
    """A number without its fraction; the least of int32 or int64 where that has none for it."""
    least, most = formats.limits(formats.INT64 if dst in _THROUGH_INT64 else dst)
    if isinstance(value, float) and not (math.isfinite(value) and least <= int(value) <= most):
        return least
    return int(value)


def cast(array: np.ndarray, src: dtype, dst: dtype) -> np.ndarray:
    """What ``copy_`` makes of values, value by value where integers are concerned."""
    if dst is formats.BOOL:
        return array != 0
    if src in formats.COMPLEX and dst not in formats.COMPLEX:
        array, src = array.real, src.to_real()
    if dst in formats.INTS:
        whole = [formats.wrap(truncated(v, dst), dst) for v in array.ravel().tolist()]
        return np.array(whole, formats.value_dtype(dst)).reshape(array.shape)
    return formats.round_to(array, dst)


def check_cast(src: dtype, dst: dtype, where: tuple[str, str], t: Trial) -> None:
    """Each value becomes what the table of casts says; nothing beside ``dst`` is written."""
    array = sources(src, dst)
    if where[0] == "expanded":
        array = np.broadcast_to(array[:, :1], SHAPE)
    given = t.place(array, src, where[0])
    out = t.place(values.plain(dst, SHAPE, "destination"), dst, where[1])
    t.backend.copy_(out.array, dst, given.array, src)
    t.exact(t.written(out), cast(array, src, dst), dst, array)
    t.untouched(given)


def check_rank(src: dtype, dst: dtype, t: Trial) -> None:
    """Rank 5 with an order of dimensions that cannot be merged, rank 1, and 0-dim."""
    for shape in [(2, 3, 2, 2, 2), (17,), ()]:
        array = sources(src, dst).ravel()[: int(np.prod(shape))].reshape(shape)
        given = t.place(array, src, "permuted" if shape else "offset")
        out = t.place(values.plain(dst, shape, "rank"), dst, "transposed" if shape else "offset")
        t.backend.copy_(out.array, dst, given.array, src)
        t.exact(t.written(out), cast(array, src, dst), dst, array)


def check_fill(dst: dtype, layout: str, t: Trial) -> None:
    """A Python number fills every element of ``dst`` and nothing beside it."""
    numbers: list[bool | int | float | complex] = [0, 1, True, False]
    if dst in formats.INTS:
        numbers += [*formats.limits(dst), 100]
    if dst in (*formats.FLOATS, *formats.COMPLEX):
        numbers += [-0.0, 0.1, float("nan"), float("inf"), 1e-40, 16777217]
    if dst in formats.COMPLEX:
        numbers += [1.5 - 2.5j]
    for number in numbers:
        out = t.place(values.plain(dst, SHAPE, "destination"), dst, layout)
        t.backend.copy_(out.array, dst, number, None)
        want = formats.round_to(np.asarray(number), dst)
        t.exact(t.written(out), np.broadcast_to(want, SHAPE), dst)


def check_empty(t: Trial) -> None:
    """A copy of no elements, for a backend that takes empty arrays."""
    if not t.traits.takes_empty:
        raise Unsupported("trait takes_empty is False: the frontend copies nothing")
    given, out = (t.place(np.zeros((0, 3)), formats.FLOAT32) for _ in range(2))
    t.backend.copy_(out.array, formats.FLOAT32, given.array, formats.FLOAT32)
    t.backend.copy_(out.array, formats.FLOAT32, 1.0, None)


def check_devices(t: Trial) -> None:
    """A copy from another device of the same backend, with a cast, and back."""
    if t.backend.device_count() < 2:
        raise Unsupported("there is one device: nothing to copy between")
    other = (t.index + 1) % t.backend.device_count()
    array = np.arange(-20, 20).reshape(5, 8)
    there = t.backend.from_host(array.astype(np.int32), formats.INT32, other)
    out = t.place(np.zeros((5, 8)), formats.FLOAT32, "transposed")
    t.backend.copy_(out.array, formats.FLOAT32, there, formats.INT32)
    t.exact(t.written(out), array, formats.FLOAT32)
    t.backend.copy_(there, formats.INT32, t.place(array[::-1], formats.INT32).array, formats.INT32)
    t.exact(t.read(there, formats.INT32), array[::-1], formats.INT32)


def check_large(t: Trial) -> None:
    """More elements than a small launch has: a transposed copy of 1,000 x 517."""
    array = np.arange(517_000, dtype=np.float32).reshape(1000, 517)
    given = t.place(array, formats.FLOAT32, "transposed")
    out = t.place(np.zeros((1000, 517)), formats.FLOAT32)
    t.backend.copy_(out.array, formats.FLOAT32, given.array, formats.FLOAT32)
    t.exact(t.written(out), array, formats.FLOAT32)


def cases() -> Iterator[Case]:
    """Every case of ``copy_``: all pairs of dtypes, and all pairs of layouts for a few."""
    part = functools.partial
    for src in formats.ALL:
        for dst in formats.ALL:
            pair, needs = f"L0/copy_/{src.name}-{dst.name}", (src, dst)
            plain, apart = ("contiguous", "contiguous"), ("transposed", "strided")
            yield Case(f"{pair}/contiguous", FAMILY, part(check_cast, src, dst, plain), needs)
            yield Case(f"{pair}/transposed", FAMILY, part(check_cast, src, dst, apart), needs)
    several = [(formats.FLOAT32,) * 2, (formats.INT64, formats.FLOAT32), (formats.UINT8,) * 2]
    for src, dst in several:
        pair = f"L0/copy_/{src.name}-{dst.name}"
        for one in layouts.LAYOUTS:
            for other in ("contiguous", "transposed", "strided", "offset"):
                check = part(check_cast, src, dst, (one, other))
                yield Case(f"{pair}/{one}-{other}", FAMILY, check, (src, dst))
        yield Case(f"{pair}/ranks", FAMILY, part(check_rank, src, dst), (src, dst))
    for d in formats.ALL:
        for layout in ("contiguous", "strided"):
            yield Case(
                f"L0/copy_/fill-{d.name}/{layout}", FAMILY, part(check_fill, d, layout), (d,)
            )
    yield Case("L0/copy_/empty", FAMILY, check_empty)
    yield Case("L0/copy_/devices", FAMILY, check_devices)
    yield Case("L0/copy_/large", FAMILY, check_large)
