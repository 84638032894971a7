"""The device ``strict``: computes as the host does, and forgives nothing.

Its memory is closed to the host: arrays are opaque, and NumPy can't read them. It has no float64
and no complex numbers, ``empty`` memory holds poison, kernels take row-major arrays of equal shapes
and at most three dimensions alone, and faults of indices are reported late, as on a device that
computes while the program goes on.
A program that runs on it runs on devices of that kind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Hashable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from tensorbus import plugin
from tensorbus.plugin import (
    POINTWISE,
    PRIMITIVES,
    ArrayLibraryBackend,
    Backend,
    BackendSpec,
    Capabilities,
    IndexFault,
    Kernel,
    Traits,
    hookimpl,
)
from tensorbus.plugin import dtype as DType
from tensorbus_conformance.primitives import WRITING, joins

TRAITS = Traits(
    broadcasts=False,
    takes_empty=False,
    contiguous_inputs=True,
    negative_strides=False,
    strided_out=False,
    host_sync=False,
    deterministic_scatter=False,
    max_rank=3,
)
DTYPES = frozenset(
    getattr(plugin, name) for name in "bool uint8 int8 int16 int32 int64 float16 float32".split()
)


class Violation(Exception):
    """A kernel was given what the device disclaims."""


class StrictArray:
    """Memory of the device: a shape, and nothing that the host can read."""

    __slots__ = ("_data", "shape")

    def __init__(self, data: Any):
        self._data = np.asarray(data)
        self.shape: tuple[int, ...] = self._data.shape

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise Violation("the host can't read this device's memory: copy it with .cpu() first")

    __array__ = __bool__ = __len__ = __iter__ = __getitem__ = __float__ = __int__ = _refuse
    __eq__ = __array_ufunc__ = __index__ = _refuse
    __hash__ = object.__hash__


class _Number:
    """What the kernels take for a Python number: no array, and closed to writes, for it is kept."""

    __slots__ = ("value",)

    def __init__(self, value: np.ndarray):
        value.setflags(write=False)
        self.value = value


class _Host(ArrayLibraryBackend):
    name = "host of the strict device"
    xp: ClassVar[Any] = np


def _open(x: Any) -> Any:
    if isinstance(x, StrictArray):
        return x._data
    return x.value if isinstance(x, _Number) else x


class StrictBackend(Backend):
    """A device that holds the frontend, and programs, to what it declares.

    *lacking* are primitives it has no kernel for; further keywords change its traits.
    """

    name = "strict"
    traits = TRAITS

    def __init__(
        self,
        lacking: Collection[str] = (),
        dtypes: Collection[DType] = DTYPES,
        **traits: Any,
    ):
        self._host = _Host()
        self.traits = dataclasses.replace(TRAITS, **traits)  # type: ignore[misc]
        self.lacking = frozenset(lacking)
        self.dtypes = frozenset(dtypes)
        self._fault: IndexFault | None = None

    # -- runtime -----------------------------------------------------------------------------
    def device_count(self) -> int:
        return 1

    def capabilities(self, index: int) -> Capabilities:
        return Capabilities("host memory behind closed doors, for tests", self.dtypes)

    def synchronize(self, index: int) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def empty(self, shape: Sequence[int], dtype: DType, index: int) -> StrictArray:
        made = self._host.empty(tuple(shape), dtype, index)
        made.fill(np.nan if dtype.is_floating_point or dtype.is_complex else 99)
        return StrictArray(made)

    def from_host(self, array: np.ndarray, dtype: DType, index: int) -> StrictArray:
        return StrictArray(self._host.from_host(array, dtype, index))

    def to_host(self, array: StrictArray, dtype: DType) -> np.ndarray:
        self.synchronize(0)
        return self._host.to_host(array._data, dtype)

    def copy_(self, dst: StrictArray, dst_dtype: DType, src: Any, src_dtype: DType | None) -> None:
        if isinstance(src, StrictArray) and src.shape != dst.shape:
            raise Violation(f"copy_ of {src.shape} into {dst.shape}")
        self._host.copy_(dst._data, dst_dtype, _open(src), src_dtype)

    def as_strided(
        self,
        array: StrictArray,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: DType,
        new_dtype: DType,
    ) -> StrictArray:
        if not self.traits.negative_strides and any(s < 0 for s in strides):
            raise Violation(f"as_strided with strides {tuple(strides)}: none may be negative")
        return StrictArray(
            self._host.as_strided(array._data, shape, strides, offset, dtype, new_dtype)
        )

    def layout(self, array: StrictArray, dtype: DType) -> tuple[Hashable, int, tuple[int, ...]]:
        return self._host.layout(array._data, dtype)

    def storage_size(self, array: StrictArray, dtype: DType) -> int:
        return self._host.storage_size(array._data, dtype)

    def data_ptr(self, array: StrictArray) -> int:
        return self._host.data_ptr(array._data)

    def dtype(self, dtype: DType) -> Any:
        return self._host.dtype(dtype)

    def scalar(self, value: Any, dtype: DType) -> _Number:
        return _Number(self._host.scalar(value, dtype))

    # -- kernels -----------------------------------------------------------------------------
    def kernel(self, op: str, dtype: DType, index: int) -> Kernel | None:
        if op not in PRIMITIVES or op in self.lacking:
            return None
        kernel = self._host.kernel(op, dtype, index)
        if kernel is None:
            return None

        def call(*args: Any, out: StrictArray | None = None) -> StrictArray:
            self._check(op, args, out)
            if op in WRITING and args[4] not in joins(dtype):
                raise Violation(f"{op}: joins {dtype.name} by {args[4]}, which no backend has to")
            opened = [_open(a) for a in args]
            try:
                with np.errstate(all="ignore"):
                    made = kernel(*opened) if out is None else kernel(*opened, out=_open(out))
            except IndexFault as fault:
                if self.traits.host_sync:
                    raise
                self._fault = self._fault or fault
                return self._after_fault(op, opened, dtype)
            return StrictArray(made) if out is None else out

        return call

    def _after_fault(self, op: str, args: list[Any], dtype: DType) -> StrictArray:
        """What a kernel hands back whose indices were wrong: memory of the right shape."""
        if op in WRITING:
            return StrictArray(args[0])
        x, dim, i = args[:3]
        shape = i.shape if op == "gather" else (*x.shape[:dim], *i.shape, *x.shape[dim + 1 :])
        return self.empty(shape, dtype, 0)

    def _check(self, op: str, args: Sequence[Any], out: StrictArray | None) -> None:
        traits = self.traits
        arrays = [a._data for a in args if isinstance(a, StrictArray)]
        inputs = arrays[1:] if op in WRITING else arrays
        if traits.contiguous_inputs and not all(a.flags.c_contiguous for a in inputs):
            raise Violation(f"{op}: an input is not contiguous")
        if not traits.strided_out and out is not None and not out._data.flags.c_contiguous:
            raise Violation(f"{op}: out is not contiguous")
        if any(a.ndim > traits.max_rank for a in [*arrays, *([] if out is None else [out._data])]):
            raise Violation(f"{op}: more than {traits.max_rank} dimensions")
        if not traits.takes_empty and any(a.size == 0 for a in arrays):
            raise Violation(f"{op}: an array has no elements")
        if not traits.broadcasts:
            shapes = [a.shape for a in arrays]
            if op in POINTWISE and len(set(shapes)) > 1:
                raise Violation(f"{op}: the shapes {shapes} differ")
            if op == "matmul" and shapes[0][:-2] != shapes[1][:-2]:
                raise Violation(f"matmul: the batches of {shapes} differ")


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """The backend of device type ``strict``."""
    return BackendSpec(name="strict", load=StrictBackend, api=2)
