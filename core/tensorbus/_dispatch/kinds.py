"""Kinds: one object for each device and dtype, and the table of its kernels.

A tensor's kind is its only type slot. ``a._k is b._k`` answers "same device, same dtype" at once,
and ``kind.add`` is the kernel to call: the attribute is a stub until the op is first used
there, then what ``dispatch.resolve`` found. A kind is also the namespace ``F`` that composites
and derivative rules are written over, with arrays as its values.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbus import discovery
from tensorbus._base import dtypes, registered
from tensorbus._base.deterministic import filling
from tensorbus._base.errors import OutOfMemoryError
from tensorbus._base.float_warnings import silence
from tensorbus._device.device import device as Device
from tensorbus._dispatch.dead_backend import DeadBackend
from tensorbus._dispatch.memory import check_memory, check_sizes
from tensorbus._dispatch.watched_entries import WATCH
from tensorbus._dispatch.wrapping import constant_key, wrap_number
from tensorbus.plugin.backend import Array, Backend
from tensorbus.rows.layouts import contiguous_strides
from tensorbus.rows.registry import ROWS, TABLES

_kinds: dict[tuple[Device, dtypes.dtype], Kind] = {}
_CONSTANTS_LIMIT = 256
# The types of Python numbers that an operand of each category takes without a change of dtype.
_NUMBER_TYPES = ((), (int,), (int, float), (int, float, complex))


class Kind:
    """The kernels and the identity of the tensors of one device and dtype."""

    records = False
    """Whether calls through this namespace record."""
    inner: Any = None
    """Of a batched kind (``batching.py``) the one of the arrays with their batch dimension."""
    rule_for: Any = None  # a method, of kinds whose entries no backend has

    def __init__(self, device: Device, dtype: dtypes.dtype, backend: Backend):
        self.device = device
        self.dtype = dtype
        self.backend = backend
        self.index: int = device.index or 0
        self.scalar_results = backend.traits.scalar_results
        self.has_values = backend.traits.has_values
        self.is_float = dtype.is_floating_point
        self.is_complex = dtype.is_complex
        self.differentiable = dtype.category >= dtypes.FLOAT
        self.number_types: tuple[type, ...] = _NUMBER_TYPES[dtype.category]
        self.consts: dict[Any, Any] = {}
        self.numbers: dict[int, tuple[Any, Any]] = {}
        self.token = backend.dtype(dtype)
        self.copies: Callable[..., Any] = functools.partial(_first_copy, self)
        self.fill()

    def fill(self) -> None:
        """Give every op its entry."""
        for row in ROWS.shown():
            self.add_row(row)
        for name in ROWS.awaited():
            self.__dict__[name] = functools.partial(_first_call, self, name)
        TABLES.append(self)
        self.__dict__["is_contiguous"] = self.backend._contiguity(self.dtype)
        if WATCH.adopt is not None:
            WATCH.adopt(self)

    def add_row(self, row: Any) -> None:
        """Give an op its entry in the table: a stub that resolves it at the first call."""
        for name in _names(row):
            self.__dict__[name] = functools.partial(_first_call, self, name)

    def resolved(self) -> list[str]:
        """The names in the table that have been resolved."""
        entries = [(name, self.__dict__[name]) for row in ROWS.shown() for name in _names(row)]
        return [name for name, entry in entries if getattr(entry, "func", None) is not _first_call]

    def kill(self, dead: DeadBackend) -> None:
        """Make every op an error: the process was forked."""
        self.backend = dead  # type: ignore[assignment]
        names = [name for row in ROWS.shown() for name in _names(row)]
        for name in ("copies", "is_contiguous", *names, *ROWS.awaited()):
            self.__dict__[name] = dead.refuse

    if TYPE_CHECKING:

        def __getattr__(self, op: str) -> Callable[..., Any]:
            """The entry of an op: a slot of the table, filled when the op is first used."""

    def __repr__(self) -> str:
        return f"<kind {self.device} {self.dtype}>"

    def __reduce__(self) -> Any:
        return kind_of, (self.device, self.dtype)

    # -- neighbours --------------------------------------------------------------------------
    def of(self, dtype: dtypes.dtype) -> Kind:
        """The kind of the same device with another dtype."""
        return kind_of(self.device, dtype)

    @functools.cached_property
    def _one(self) -> Array:
        return self.full((), 1)

    def seed(self) -> Array:
        """A new 0-dim array of 1: the gradient of a scalar with respect to itself.

        Each backward pass has its own, for hooks and rules of users may write into what arrives.
        """
        return self.clone(self._one)

    @functools.cached_property
    def bool(self) -> Kind:
        """The kind of this device's truth values."""
        return self.of(dtypes.bool)

    @functools.cached_property
    def i64(self) -> Kind:
        """The kind of this device's indices."""
        return self.of(dtypes.int64)

    @functools.cached_property
    def i32(self) -> Kind:
        """The kind of this device's int32 numbers."""
        return self.of(dtypes.int32)

    @functools.cached_property
    def real(self) -> Kind:
        """The kind of the parts of this one's complex numbers."""
        return self.of(self.dtype.to_real())

    @functools.cached_property
    def complex(self) -> Kind:
        """The kind of the complex numbers whose parts are of this one."""
        return self.of(self.dtype.to_complex())

    @functools.cached_property
    def T(self) -> Any:
        """The same namespace over tensors, which records."""
        return registered.tensor_namespace(self)

    # -- arrays ------------------------------------------------------------------------------
    def empty(self, shape: tuple[int, ...]) -> Array:
        """A new array of any values."""
        try:
            return self.backend.empty(shape, self.dtype, self.index)
        except Exception as error:
            check_sizes(error, self.device, shape, self.dtype.itemsize)
            raise

    def given_out(self, x: Array) -> Array:
        """New memory as users get it: filled where they asked that its values be known."""
        value = filling(self.dtype)
        return x if value is None else self.copy_(x, value)

    def from_host(self, array: np.ndarray) -> Array:
        """A new array with a copy of a NumPy array's values."""
        try:
            return self.backend.from_host(array, self.dtype, self.index)
        except Exception as error:
            check_memory(error, self.device, array.size * self.dtype.itemsize)
            raise

    def to_host(self, x: Array) -> np.ndarray:
        """A NumPy array with a copy of an array's values; waits for them."""
        try:
            return self.backend.to_host(x, self.dtype)
        except MemoryError as error:
            check_memory(error, Device("cpu"))
            raise

    def every_value(self, x: Array) -> np.ndarray:
        """The values that a check or a bound hangs on: of a batch those of all its elements."""
        return self.to_host(x)

    def full(self, shape: tuple[int, ...], value: Any) -> Array:
        """A new array filled with a Python number."""
        out = self.empty(shape)
        self.write(out, value, None)
        return out

    def number(self, value: Any) -> Any:
        """What stands for a Python number where an operand is expected."""
        return self.const(value)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """A new array of zeros."""
        return self.full(shape, 0)

    def cast(self, x: Array, source: Kind) -> Array:
        """A new array of this kind's dtype with the values of an array of *source*'s."""
        out = self.empty(x.shape)
        self.write(out, x, source.dtype)
        return out

    def copy_(self, dst: Array, src: Array) -> Array:
        """Write *src* (an array of this kind, or a Python number) into *dst*."""
        number = isinstance(src, (bool, int, float, complex))
        self.write(dst, src, None if number else self.dtype)
        return dst

    def write(self, dst: Array, src: Array, source: dtypes.dtype | None) -> None:
        """Write an array of the dtype *source* into *dst*, or a Python number where it is None."""
        try:
            self.copies(dst, self.dtype, src, source)
        except (MemoryError, OutOfMemoryError) as error:  # of a copy that overlaps
            check_memory(error, self.device)
            raise

    def contiguous(self, x: Array) -> Array:
        """The array if it is row-major without gaps, else a copy that is."""
        return x if self.is_contiguous(x) else self.clone(x)

    def is_contiguous(self, x: Array) -> Any:
        """Whether an array is row-major without gaps."""
        return self.backend.is_contiguous(x, self.dtype)

    def layout(self, x: Array) -> Any:
        """(storage key, offset, strides) of an array."""
        key, offset, strides = self.backend.layout(x, self.dtype)
        if 0 in x.shape:  # libraries differ here; strides of nothing are row-major
            strides = contiguous_strides(tuple(x.shape))
        return key, offset, strides

    def strides(self, x: Array) -> tuple[int, ...]:
        """The strides of an array."""
        if 0 in x.shape:
            return contiguous_strides(tuple(x.shape))
        return self.backend.strides(x, self.dtype)

    @functools.cached_property
    def known_dtypes(self) -> frozenset[dtypes.dtype]:
        """The dtypes of the device."""
        return frozenset(self.backend.capabilities(self.index).dtypes)

    def as_strided(
        self, x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> Array:
        """Another view of an array's storage."""
        return self.backend.as_strided(x, shape, strides, offset, self.dtype, self.dtype)

    def as_array(self, r: Any) -> Array:
        """An array for a kernel's result that may be a host scalar."""
        return self.backend.as_array(r, self.dtype, self.index) if self.scalar_results else r

    def const(self, value: Any) -> Any:
        """What the kernels of this kind take for a Python number, wrapped into the dtype.

        Numbers that wrap to the same are one object: 256 and False are the 0 of int8.
        """
        key = constant_key(value)
        found = self.consts.get(key)
        if found is None:
            number = wrap_number(value, self.dtype)
            if len(self.consts) >= _CONSTANTS_LIMIT - 1:
                self.consts.clear()
            found = self.consts.get(constant_key(number))
            if found is None:
                found = self.backend.scalar(number, self.dtype)
                self.consts[constant_key(number)] = found
                if not isinstance(found, (bool, int, float, complex)) and not hasattr(
                    found, "shape"
                ):
                    self.numbers[id(found)] = found, number
            self.consts[key] = found
        return found

    def number_of(self, constant: Any) -> Any:
        """The Python number that a constant stands for."""
        return self.numbers[id(constant)][1] if id(constant) in self.numbers else constant


def _names(row: Any) -> tuple[str, ...]:
    """The names of an op in the table: views have a second one, without a guard."""
    return (row.name, "fast_" + row.name) if row.form == "view" else (row.name,)


def _first_call(kind: Kind, name: str, *args: Any, **kwargs: Any) -> Any:
    from tensorbus._dispatch.resolve import resolve

    silence()
    entry = resolve(kind, name)
    if WATCH.put is not None:
        entry = WATCH.put(kind, name, entry)
    kind.__dict__[name] = entry
    return entry(*args, **kwargs)


def _first_copy(kind: Kind, *args: Any) -> None:
    from tensorbus._dispatch.resolve import copying

    kind.copies = copying(kind)
    kind.copies(*args)


def kind_of(device: Device, dtype: dtypes.dtype) -> Kind:
    """The kind of tensors on *device* with *dtype*; loads the device's backend at first."""
    found = _kinds.get((device, dtype))
    if found is None:
        dtype = dtypes.checked(dtype)
        if type(device) is not Device:
            return device.kind(dtype)  # type: ignore[attr-defined]  # of a batch
        found = _kinds.get((canonical(device), dtype))
        if found is None:
            found = _make(canonical(device), dtype)
            found = _kinds.setdefault((found.device, dtype), found)  # another thread's, if sooner
        # A name without an index follows the current device: kept only where there is but one.
        if found.backend.device_count() == 1:
            _kinds[device, dtype] = found
    return found


def canonical(device: Device) -> Device:
    """The device with its index: the current one where none is named. The CPU has no index, nor
    has a device without values."""
    if device.type == "cpu":
        if device.index:
            raise RuntimeError(f"invalid device {device}: there is one CPU, named 'cpu'")
        return Device("cpu")
    if not discovery.backend(device.type).traits.has_values:
        return Device(device.type)
    if device.index is None:
        return Device(device.type, current_index(device.type))
    return device


def _make(device: Device, dtype: dtypes.dtype) -> Kind:
    if device.type in _dead:
        _dead[device.type].refuse()
    backend = discovery.backend(device.type)
    count = backend.device_count()
    if device.index is not None and device.index >= count:
        raise RuntimeError(
            f"invalid device {device}: this machine has {count} device(s) of type {device.type}"
        )
    supported = backend.capabilities(device.index or 0).dtypes
    if dtype not in supported:
        names = ", ".join(sorted(d.name for d in supported))
        raise TypeError(
            f"device {device} has no {dtype.name}; it has {names}. "
            "Convert the tensor to one of these first, with .to(dtype)"
        )
    return Kind(device, dtype, backend)


_current: dict[str, int] = {}


def current_index(type: str) -> int:
    """The index that a device of *type* without one means."""
    return _current.get(type, 0)


def set_current_index(type: str, index: int) -> None:
    """Make *index* the current device of *type*."""
    _current[type] = index
    for key in [k for k in _kinds if k[0].type == type and k[0].index is None]:
        del _kinds[key]


@registered.device_forgotten.listen
def forget(type: str) -> None:
    """Drop the kinds of a device type that is no more."""
    # Also those whose making was interrupted, or that another thread made sooner.
    for kind in [kind for kind in TABLES if kind.device.type == type]:
        TABLES.remove(kind)
    for key in [k for k in _kinds if k[0].type == type]:
        del _kinds[key]
    _current.pop(type, None)


def used_devices() -> set[tuple[Backend, int]]:
    """The devices that tensors with values are on, or were."""
    return {(k.backend, k.index) for k in list(_kinds.values()) if k.has_values}


_dead: dict[str, DeadBackend] = {}
"""Device types that cannot be used in this process, which was forked."""


def _after_fork() -> None:
    for kind in list(_kinds.values()):
        type = kind.device.type
        if type not in _dead:
            if kind.backend.traits.survives_fork:
                continue
            _dead[type] = DeadBackend(type)
        kind.kill(_dead[type])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
