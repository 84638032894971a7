"""L0 cases of memory: ``empty``, ``as_strided``, ``layout``, sharing, reinterpretation."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

import tensorbus
from tensorbus.plugin import Array, OutOfMemoryError, dtype
from tensorbus_conformance import formats, layouts, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "storage"


def expect_layout(
    t: Trial, array: Array, dtype: dtype, strides: tuple[int, ...], offset: int
) -> None:
    """``layout`` must say these strides (where a size is above 1) and this offset."""
    _, found_offset, found = t.backend.layout(array, dtype)
    if len(found) != len(array.shape):
        raise Mismatch(f"layout gave strides {found} for shape {tuple(array.shape)}")
    pairs = zip(array.shape, found, strides, strict=True)
    if any(n > 1 and have != want for n, have, want in pairs):
        raise Mismatch(f"layout gave strides {tuple(found)}, expected {strides}")
    if found_offset != offset:
        raise Mismatch(f"layout gave offset {found_offset}, expected {offset}")


def check_empty(dtype: dtype, t: Trial) -> None:
    """``empty`` gives row-major arrays in storages of their own."""
    keys = []
    kept = []
    for shape in [(), (1,), (7,), (3, 4), (2, 1, 5), (0, 3)]:
        array = t.backend.empty(shape, dtype, t.index)
        if tuple(array.shape) != shape:
            raise Mismatch(f"empty({shape}) has shape {tuple(array.shape)}")
        t.read(array, dtype, shape)
        if 0 not in shape:
            expect_layout(t, array, dtype, layouts.row_major(shape), 0)
            size = int(np.prod(shape)) * dtype.itemsize
            have = t.backend.storage_size(array, dtype)
            if have < size:
                raise Mismatch(f"empty({shape}) has {have} bytes of storage, needs {size}")
            keys.append(t.backend.layout(array, dtype)[0])
            kept.append(array)
        if not t.backend.is_contiguous(array, dtype):
            raise Mismatch(f"empty({shape}) is not contiguous")
    if len(set(keys)) != len(keys):
        raise Mismatch("two fresh arrays have the same storage key")


def check_layouts(dtype: dtype, layout: str, t: Trial) -> None:
    """A view of the layout reads its values, says where it lies, and shares its storage."""
    shape = (3, 4, 5)
    array = values.plain(dtype, shape, "layouts")
    if layout == "expanded":
        array = np.broadcast_to(array[:, :1], shape)
    placed = t.place(array, dtype, layout)
    t.exact(t.read(placed.array, dtype, shape), array, dtype)
    expect_layout(t, placed.array, dtype, placed.strides, placed.offset)
    flat = t.backend.as_strided(placed.array, (placed.buffer.size,), (1,), 0, dtype, dtype)
    keys = [t.backend.layout(a, dtype)[0] for a in (placed.array, flat)]
    if keys[0] != keys[1]:
        raise Mismatch("a view has another storage key than the array it was made from")
    sizes = [t.backend.storage_size(a, dtype) for a in (placed.array, flat)]
    if sizes[0] != sizes[1] or sizes[0] < placed.buffer.nbytes:
        raise Mismatch(f"storage_size differs between views of one storage: {sizes}")
    dense = layout in ("contiguous", "offset")
    if t.backend.is_contiguous(placed.array, dtype) != dense:
        raise Mismatch(f"is_contiguous says {not dense} for a {layout} array {shape}")
    t.untouched(placed)


def check_views_of_views(t: Trial) -> None:
    """The offset counts from the storage's start, whatever view it is asked of."""
    base = t.place(np.arange(30), formats.INT32)
    d = formats.INT32
    first = t.backend.as_strided(base.array, (4, 3), (6, 2), 5, d, d)
    second = t.backend.as_strided(first, (3,), (4,), 2, d, d)
    t.exact(t.read(second, d, (3,)), [2, 6, 10], d)
    expect_layout(t, second, d, (4,), 2)


def check_window(t: Trial) -> None:
    """A view may overlap itself, as a sliding window does."""
    base = t.place(np.arange(10), formats.FLOAT32)
    d = formats.FLOAT32
    window = t.backend.as_strided(base.array, (7, 4), (1, 1), 0, d, d)
    t.exact(t.read(window, d, (7, 4)), np.add.outer(np.arange(7), np.arange(4)), d)


def check_small_views(dtype: dtype, t: Trial) -> None:
    """0-dim views, views of one element, and views without elements."""
    base = t.place(values.plain(dtype, (9,), "small"), dtype)
    for shape, strides, offset in [
        ((), (), 4),
        ((1, 1), (3, 7), 8),
        ((0,), (1,), 3),
        ((3, 0), (1, 1), 0),
    ]:
        view = t.backend.as_strided(base.array, shape, strides, offset, dtype, dtype)
        want = base.values[offset] if 0 not in shape else 0
        t.exact(t.read(view, dtype, shape), np.broadcast_to(want, shape), dtype)


def check_sharing(dtype: dtype, layout: str, t: Trial) -> None:
    """A write through a view is seen by every other view, and nothing else changes."""
    shape = (3, 4)
    out = t.place(values.plain(dtype, shape, "before"), dtype, layout)
    new = t.place(values.plain(dtype, shape, "after"), dtype)
    t.backend.copy_(out.array, dtype, new.array, dtype)
    t.exact(t.written(out), new.values, dtype)


def check_reinterpret(old: dtype, new: dtype, t: Trial) -> None:
    """``as_strided`` to another dtype shows the same bytes, at an offset of new elements."""
    source = formats.encode(values.plain(old, (16,), "bits"), old)
    base = t.backend.from_host(source, old, t.index)
    n = source.nbytes // new.itemsize
    want = source.view(formats.host_dtype(new))
    for shape, strides, offset in [
        ((n,), (1,), 0),
        ((n // 2 - 1,), (2,), 1),
        ((2, n // 2), (n // 2, 1), 0),
    ]:
        view = t.backend.as_strided(base, shape, strides, offset, old, new)
        mirror = layouts.window(want, shape, strides, offset)
        t.exact(t.read(view, new, shape), formats.decode(np.array(mirror), new), new)
        expect_layout(t, view, new, strides, offset)
        if t.backend.layout(view, new)[0] != t.backend.layout(base, old)[0]:
            raise Mismatch("a view of another dtype has another storage key")
        if not t.backend.storage_size(view, new) == t.backend.storage_size(base, old):
            raise Mismatch("storage_size, in bytes, must not depend on the view's dtype")


def check_reinterpreted_write(old: dtype, new: dtype, t: Trial) -> None:
    """A write through a view of another dtype changes the bytes of the storage."""
    source = formats.encode(values.plain(old, (8,), "bits"), old)
    base = t.backend.from_host(source.copy(), old, t.index)
    n = source.nbytes // new.itemsize
    half = (n + 1) // 2
    replaced = values.plain(new, (half,), "new bits")
    view = t.backend.as_strided(base, (half,), (2,), 0, old, new)
    t.backend.copy_(view, new, t.place(replaced, new).array, new)
    want = source.copy()
    want.view(formats.host_dtype(new))[::2] = formats.encode(replaced, new)
    t.exact(t.read(base, old, (8,)), formats.decode(want, old), old)


def check_negative_strides(t: Trial) -> None:
    """Negative strides on some dimensions only, for a backend that has them."""
    if not t.traits.negative_strides:
        raise Unsupported("trait negative_strides is False: the frontend flips with take")
    d = formats.INT16
    base = t.place(np.arange(24).reshape(4, 6), d)
    view = t.backend.as_strided(base.array, (4, 3), (6, -2), 5, d, d)
    t.exact(t.read(view, d, (4, 3)), np.arange(24).reshape(4, 6)[:, ::-2], d)
    expect_layout(t, view, d, (6, -2), 5)
    if t.backend.is_contiguous(view, d):
        raise Mismatch("is_contiguous says True for negative strides")


def check_contiguity(t: Trial) -> None:
    """``is_contiguous`` ignores the strides of dimensions of size 1 and of empty arrays."""
    d = formats.FLOAT32
    base = t.place(np.zeros(64), d)
    table = [
        ((2, 1, 3), (3, 99, 1), True), ((1, 4), (7, 1), True), ((4, 1), (1, 5), True),
        ((4, 2), (1, 4), False), ((4,), (2,), False), ((3, 2), (0, 1), False),
        ((2, 3), (4, 1), False), ((), (), True), ((1,), (3,), True), ((0, 5), (1, 1), True),
    ]  # fmt: skip
    for shape, strides, want in table:
        view = t.backend.as_strided(base.array, shape, strides, 0, d, d)
        if bool(t.backend.is_contiguous(view, d)) is not want:
            raise Mismatch(f"is_contiguous says {not want} for {shape} with strides {strides}")


REINTERPRETED = (
    ("float32", "int32"), ("int32", "float32"), ("float32", "uint8"), ("int64", "int8"),
    ("uint8", "int64"), ("int8", "uint8"), ("int16", "int64"), ("float64", "int64"),
    ("float16", "int16"), ("bfloat16", "int16"), ("complex64", "float32"),
    ("complex128", "float64"), ("bool", "uint8"), ("float64", "float32"),
)  # fmt: skip


def check_out_of_memory(dtype: dtype, t: Trial) -> None:
    """More memory than there is, and than can be counted, is one error; the next call works."""
    for nbytes in (2**60, 2**62, 2**64):
        shape = (nbytes // dtype.itemsize,) if nbytes < 2**63 else (2**32, 2**32)
        try:
            t.backend.empty(shape, dtype, t.index)
        except (OutOfMemoryError, MemoryError):
            pass
        except Exception as error:
            if nbytes < 2**63:  # beyond that tensorbus knows by itself
                raise Mismatch(
                    f"empty({shape}): {type(error).__name__}: {error}; an OutOfMemoryError is due"
                ) from None
        else:
            raise Mismatch(f"empty({shape}) gave {nbytes} bytes, which no device has")
        try:
            tensorbus.empty(shape, dtype=dtype, device=t.device.type)
        except tensorbus.OutOfMemoryError as error:
            said = str(error)
        else:
            raise Mismatch(f"tensorbus.empty({shape}) raised nothing")
        asked = math.prod(shape) * dtype.itemsize
        if math.prod(shape) < 2**60 and f"({asked} bytes) on device {t.backend.name}" not in said:
            raise Mismatch(f"the error must name the device, and {asked} bytes: {said}")
    array = t.backend.from_host(np.ones(3, formats.host_dtype(dtype)), dtype, t.index)
    if t.backend.to_host(array, dtype).shape != (3,):
        raise Mismatch("after OutOfMemoryError, the device does not copy")


def cases() -> Iterator[Case]:
    """Every case of memory and views."""
    part = functools.partial
    by_name = {d.name: d for d in formats.ALL}
    for d in formats.ALL:
        yield Case(f"L0/empty/{d.name}", FAMILY, part(check_empty, d), (d,))
        yield Case(f"L0/out_of_memory/{d.name}", FAMILY, part(check_out_of_memory, d), (d,))
        yield Case(f"L0/as_strided/{d.name}/small", FAMILY, part(check_small_views, d), (d,))
        for layout in layouts.LAYOUTS:
            check = part(check_layouts, d, layout)
            yield Case(f"L0/as_strided/{d.name}/{layout}", FAMILY, check, (d,))
        for layout in ("transposed", "strided", "offset"):
            check = part(check_sharing, d, layout)
            yield Case(f"L0/sharing/{d.name}/{layout}", FAMILY, check, (d,))
    for old, new in ((by_name[a], by_name[b]) for a, b in REINTERPRETED):
        check, write = part(check_reinterpret, old, new), part(check_reinterpreted_write, old, new)
        # Any bytes are a number, but not any byte is a bool: a bool is only looked at as bytes.
        yield Case(f"L0/reinterpret/{old.name}-{new.name}/read", FAMILY, check, (old, new))
        if old is not formats.BOOL:
            yield Case(f"L0/reinterpret/{old.name}-{new.name}/write", FAMILY, write, (old, new))
    yield Case("L0/as_strided/view-of-view", FAMILY, check_views_of_views)
    yield Case("L0/as_strided/window", FAMILY, check_window)
    yield Case("L0/as_strided/negative", FAMILY, check_negative_strides)
    yield Case("L0/is_contiguous", FAMILY, check_contiguity)
