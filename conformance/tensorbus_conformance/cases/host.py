"""L0 cases of devices and of the crossing between host and device."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator
from itertools import chain, product

import numpy as np

import tensorbus
from tensorbus import discovery
from tensorbus.plugin import KERNEL_GROUPS, PRIMITIVES, VIEWS, dtype
from tensorbus.rows.registry import ROWS
from tensorbus_conformance import compare, formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "runtime"


def _every_value(dtype: dtype) -> np.ndarray:
    """The edges of *dtype* and some plain values, 48 of them, in host form."""
    if dtype in formats.COMPLEX:
        parts = values.edges(dtype.to_real())
        edges = np.array([complex(a, b) for a, b in zip(parts, parts[::-1], strict=True)])
        edges = edges.astype(formats.value_dtype(dtype))
    else:
        edges = values.edges(dtype)
    plain = values.plain(dtype, (24,), "host")
    return formats.encode(np.concatenate([edges, plain]), dtype)


def _round_trip(t: Trial, source: np.ndarray, dtype: dtype) -> None:
    array = t.backend.from_host(source, dtype, t.index)
    if tuple(array.shape) != source.shape:
        raise Mismatch(f"from_host gave shape {tuple(array.shape)}, expected {source.shape}")
    got = t.read(array, dtype, source.shape)
    t.exact(got, formats.decode(np.array(source), dtype), dtype)
    if not t.backend.is_contiguous(array, dtype):
        raise Mismatch("from_host must give a row-major array without gaps")


def check_round_trip(dtype: dtype, t: Trial) -> None:
    """Every value crosses to the device and back."""
    _round_trip(t, _every_value(dtype).reshape(4, 12), dtype)


def check_zero_dim(dtype: dtype, t: Trial) -> None:
    """A 0-dim array crosses as one."""
    for value in _every_value(dtype)[:4]:
        _round_trip(t, np.array(value), dtype)


def check_empty(dtype: dtype, t: Trial) -> None:
    """Arrays without elements cross: the frontend makes them like any other."""
    for shape in [(0,), (0, 3), (2, 0, 3)]:
        _round_trip(t, np.zeros(shape, formats.host_dtype(dtype)), dtype)


def check_sources(dtype: dtype, t: Trial) -> None:
    """The NumPy source may be transposed, strided, reversed, expanded or read-only."""
    base = _every_value(dtype).reshape(6, 8)
    frozen = base.copy()
    frozen.flags.writeable = False
    expanded = np.broadcast_to(base[0], (3, 8))
    for source in (base.T, base[1::2, ::3], base[::-1, ::-1], expanded, frozen):
        _round_trip(t, source, dtype)


def check_copies(dtype: dtype, t: Trial) -> None:
    """``from_host`` and ``to_host`` copy: neither side sees the other's later writes."""
    source = _every_value(dtype)
    kept = source.copy()
    array = t.backend.from_host(source, dtype, t.index)
    source[...] = np.roll(source, 1)
    first = t.backend.to_host(array, dtype)
    compare.same_bytes(first, kept, "the array changed when from_host's source was written")
    first.view(np.uint8)[...] = 0
    second = t.backend.to_host(array, dtype)
    compare.same_bytes(second, kept, "the array changed when to_host's result was written")


def check_strided_reads(dtype: dtype, t: Trial) -> None:
    """``to_host`` reads views of any layout."""
    array = formats.decode(_every_value(dtype), dtype).reshape(6, 8)
    for layout in ("transposed", "strided", "offset", "expanded"):
        shown = np.broadcast_to(array[:1], (6, 8)) if layout == "expanded" else array
        placed = t.place(shown, dtype, layout)
        t.exact(t.read(placed.array, dtype, (6, 8)), shown, dtype)
    if t.traits.negative_strides:
        placed = t.place(array, dtype, "reversed")
        t.exact(t.read(placed.array, dtype, (6, 8)), array, dtype)


def check_device_count(t: Trial) -> None:
    """There are devices, and the one under test is among them."""
    count = t.backend.device_count()
    if not isinstance(count, int) or not t.index < count:
        raise Mismatch(f"device_count() is {count!r}, but device {t.index} is under test")


def check_capabilities(t: Trial) -> None:
    """The device has a name, and claims the dtypes every device must have."""
    found = t.backend.capabilities(t.index)
    if not isinstance(found.name, str) or not found.name:
        raise Mismatch(f"capabilities({t.index}).name must be a text, got {found.name!r}")
    missing = sorted(d.name for d in formats.MANDATORY - found.dtypes)
    if missing:
        raise Mismatch(f"dtypes every device must claim are missing: {', '.join(missing)}")
    if found.memory_total is not None and found.memory_total <= 0:
        raise Mismatch(f"memory_total must be positive or None, got {found.memory_total}")


def check_name(t: Trial) -> None:
    """The backend knows its own device type."""
    name = t.backend.name
    if not isinstance(name, str) or not name or ":" in name:
        raise Mismatch(f"name must be a device type such as 'cpu', got {name!r}")


def check_aliases(t: Trial) -> None:
    """Further names of the device type lead to it, and nothing made there shows them."""
    name = t.backend.name
    for alias in discovery.aliases(name):
        try:
            if discovery.check_name(alias) != name:
                continue  # it is another device type's own name here, or tensorbus' own has it
        except RuntimeError:
            continue  # another plugin here has it too
        for given, own in ((alias, name), (f"{alias}:{t.index}", f"{name}:{t.index}")):
            if tensorbus.device(given) is not tensorbus.device(own):
                raise Mismatch(f"device({given!r}) is {tensorbus.device(given)!r}, expected {own}")
        made = tensorbus.ones(2, device=f"{alias}:{t.index}")
        if str(made.device) != f"{name}:{t.index}" or made.sum().item() != 2:
            raise Mismatch(f"a tensor made on {alias} is {made!r}")


def check_synchronize(t: Trial) -> None:
    """Waiting is possible at any time, and twice."""
    t.backend.synchronize(t.index)
    t.place(np.ones(3), formats.FLOAT32)
    t.backend.synchronize(t.index)
    t.backend.synchronize(t.index)


def check_shared_host(dtype: dtype, t: Trial) -> None:
    """``share_host`` and ``view_host``, where offered, share memory both ways."""
    source = _every_value(dtype)
    array = t.backend.share_host(source, dtype)
    shown = None
    if array is not None:
        source[...] = np.roll(source, 1)
        t.backend.synchronize(t.index)
        now = t.backend.to_host(array, dtype)
        compare.same_bytes(now, source, "share_host's array does not see the source's writes")
        shown = t.backend.view_host(array, dtype)
    else:
        shown = t.backend.view_host(t.backend.from_host(source, dtype, t.index), dtype)
    if array is None and shown is None:
        raise Unsupported("neither share_host nor view_host is offered")
    if shown is not None:
        compare.same_bytes(shown, source, "view_host shows other values than to_host")


def check_data_ptr(t: Trial) -> None:
    """``data_ptr`` is a number that stays the same for one array."""
    placed = t.place(np.ones((2, 3)), formats.FLOAT32)
    first, second = (t.backend.data_ptr(placed.array) for _ in range(2))
    if not isinstance(first, int) or first != second:
        raise Mismatch(f"data_ptr gave {first!r}, then {second!r}, for the same array")


def check_storage_key(t: Trial) -> None:
    """Storage keys can be hashed, and differ between arrays that live at once."""
    arrays = [t.backend.empty((2, 3), formats.FLOAT32, t.index) for _ in range(8)]
    keys = [t.backend.layout(a, formats.FLOAT32)[0] for a in arrays]
    if not all(isinstance(key, Hashable) for key in keys):
        raise Mismatch(f"a storage key must be hashable, got {keys[0]!r}")
    if len(set(keys)) != len(keys):
        raise Mismatch("two arrays of their own have the same storage key")


def check_memory(t: Trial) -> None:
    """The memory figures are numbers or None, and the cache can be emptied."""
    used = t.backend.memory_allocated(t.index)
    if used is not None and (not isinstance(used, int) or used < 0):
        raise Mismatch(f"memory_allocated must be a number of bytes or None, got {used!r}")
    t.backend.empty_cache()


def check_overlays(t: Trial) -> None:
    """Each overlay for the device can be loaded, and its ops are ops."""
    overlays = discovery.overlays(t.backend.name)
    if not overlays:
        raise Unsupported("there is no overlay for this device")
    known = {"copy_", *PRIMITIVES, *VIEWS, *ROWS, *chain(*KERNEL_GROUPS.values())}
    for spec in overlays:
        unknown = ", ".join(sorted({*spec.ops} - known))
        if unknown:
            raise Mismatch(f"the overlay {spec.name!r} lists what is no op: {unknown}")
        overlay = discovery.overlay(spec)
        if overlay is None:
            raise Mismatch(f"the overlay {spec.name!r} can't be loaded: see 'tensorbus doctor'")
        for op, d in product(spec.ops, t.capabilities.dtypes):
            kernel = overlay.kernel(op, d, t.index) if spec.supports(op, d, t.index) else None
            if kernel is not None and not callable(kernel):
                raise Mismatch(f"the overlay {spec.name!r} gives {kernel!r} for {op} on {d.name}")


def cases() -> Iterator[Case]:
    """Every case of the device and of host transfers."""
    plain = {
        "name": check_name,
        "device_count": check_device_count,
        "capabilities": check_capabilities,
        "aliases": check_aliases,
        "synchronize": check_synchronize,
        "data_ptr": check_data_ptr,
        "storage_key": check_storage_key,
        "memory": check_memory,
        "overlays": check_overlays,
    }
    for name, function in plain.items():
        yield Case(f"L0/{name}", FAMILY, function)
    crossing = {
        "round-trip": check_round_trip,
        "0-dim": check_zero_dim,
        "empty": check_empty,
        "sources": check_sources,
        "copies": check_copies,
        "strided-reads": check_strided_reads,
        "shared": check_shared_host,
    }
    for d in formats.ALL:
        for variant, check in crossing.items():
            yield Case(f"L0/host/{d.name}/{variant}", FAMILY, functools.partial(check, d), (d,))
