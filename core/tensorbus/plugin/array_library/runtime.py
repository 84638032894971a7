"""Memory, copies and views of a NumPy-like module's arrays."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tensorbus._base.dlpack import Exporter, relabel
from tensorbus._base.dtypes import ALL, FLOAT, INTEGER, STORED, dtype
from tensorbus._base.float_warnings import quietly
from tensorbus._base.rounding import as_float, truncated
from tensorbus.plugin.array_library.narrow import Narrow, converted, integer_of, narrow_dtype
from tensorbus.plugin.backend import Array, Backend, Capabilities, DType, Imported

NUMPY_DTYPES: dict[dtype, np.dtype] = {d: np.dtype(d.name) for d in ALL if not narrow_dtype(d)}
_IN_MEMORY = {d: np.dtype((integer_of(d) if narrow_dtype(d) else d).name) for d in (*ALL, *STORED)}
"""Of what NumPy lacks, arrays hold the bits."""


class _Span:
    """The memory of an array with gaps, as one run of bytes that keeps the array alive."""

    def __init__(self, array: Array, low: int, size: int, writable: bool | None = None):
        self.array = array
        writable = array.flags.writeable if writable is None else writable
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (low, not writable),
        }


class _Bits:
    """What another library exports, dtypes that NumPy lacks as integers of the same bits."""

    def __init__(self, exporter: Exporter):
        self.exporter = exporter

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.exporter.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.exporter.__dlpack__(**options)
        found = self.exporter.found.dtype
        if narrow_dtype(found):
            relabel(capsule, integer_of(found))
        return capsule


class ArrayRuntime(Backend):
    """The runtime half of ``ArrayLibraryBackend``."""

    xp: ClassVar[Any] = np
    """The array module."""
    narrow: ClassVar[Mapping[dtype, type[Narrow]]] = {}
    """The dtypes that NumPy lacks and the device has."""

    # -- devices -----------------------------------------------------------------------------
    def device_count(self) -> int:
        return 1

    def capabilities(self, index: int) -> Capabilities:
        return Capabilities(name=self.name, dtypes=frozenset(NUMPY_DTYPES) | frozenset(self.narrow))

    # -- memory ------------------------------------------------------------------------------
    def empty(self, shape: Sequence[int], dtype: dtype, index: int) -> Array:
        return self.xp.empty(shape, _IN_MEMORY[dtype])

    def from_host(self, array: np.ndarray, dtype: dtype, index: int) -> Array:
        memory = _IN_MEMORY[dtype]
        if narrow_dtype(dtype):
            array = array.view(memory)
        return self.xp.array(array, dtype=memory, order="C")

    def to_host(self, array: Array, dtype: dtype) -> np.ndarray:
        host = np.array(array, order="C")
        return host.view(f"u{host.itemsize}") if narrow_dtype(dtype) else host

    def copy_(self, dst: Array, dst_dtype: dtype, src: Array, src_dtype: dtype | None) -> None:
        if src_dtype is dst_dtype:
            dst[...] = src
        elif src_dtype is None:
            dst[...] = src if is_exact(src, dst_dtype) else self.scalar(src, dst_dtype)
        else:
            dst[...] = self.cast(src, src_dtype, dst_dtype)

    def cast(self, src: Array, src_dtype: dtype, dst_dtype: dtype) -> Array:
        """A new array with *src*'s values in *dst_dtype*, by the rules of ``copy_``."""
        if src_dtype in self.narrow:
            src = self.dtype(src_dtype).widened(src)
        if src_dtype.is_complex and not dst_dtype.is_complex and dst_dtype.name != "bool":
            src = src.real
        if src.dtype.kind == "f" and dst_dtype.category == INTEGER:
            return quietly(self.truncated, src, dst_dtype)
        return quietly(converted, src, self.dtype(dst_dtype))

    def truncated(self, src: Array, dtype: DType) -> Array:
        """Floats as integers, by the rules of ``copy_``."""
        return truncated(self.xp, src, dtype)

    # -- views -------------------------------------------------------------------------------
    def root(self, array: Array) -> Array:
        """The array that owns the memory *array* is a view of."""
        kind = self.xp.ndarray
        while isinstance(array.base, kind):
            array = array.base
        return array

    def address(self, array: Array) -> int:
        """The address of *array*'s first element."""
        return array.__array_interface__["data"][0]

    def extent(self, root: Array) -> tuple[int, int]:
        """The least address and the number of bytes of *root*'s memory."""
        if root.flags.c_contiguous or root.flags.f_contiguous:
            return self.address(root), root.nbytes
        low = high = self.address(root)
        for n, stride in zip(root.shape, root.strides, strict=True):
            reach = (n - 1) * stride
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        return low, high + root.itemsize - low

    def as_strided(
        self,
        array: Array,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: dtype,
        new_dtype: dtype,
    ) -> Array:
        size = new_dtype.itemsize
        return self.strided_view(
            array,
            tuple(shape),
            _IN_MEMORY[new_dtype],
            offset * size,
            tuple([s * size for s in strides]),
        )

    def strided_view(
        self,
        array: Array,
        shape: tuple[int, ...],
        dtype: np.dtype,
        offset: int,
        strides: tuple[int, ...],
    ) -> Array:
        """A view of *array*'s storage; offset and strides in bytes."""
        root = array if array.base is None else self.root(array)
        flags = root.flags
        if not (flags.c_contiguous or flags.f_contiguous):
            root = self.xp.asarray(_Span(root, *self.extent(root)))
        elif not flags.c_contiguous:
            root = root.T
        if 0 in shape:  # of nothing, which may begin beyond the end
            offset, strides = min(offset, root.nbytes), (0,) * len(shape)
        view = self.xp.ndarray(shape, dtype, root, offset, strides)
        if not array.flags.writeable:
            view.flags.writeable = False
        return view

    def strides(self, array: Array, dtype: dtype) -> tuple[int, ...]:
        size = array.itemsize
        return tuple([s // size for s in array.strides])

    def layout(self, array: Array, dtype: dtype) -> tuple[Hashable, int, tuple[int, ...]]:
        size, strides = array.itemsize, self.strides(array, dtype)
        if array.base is None:
            return id(array), 0, strides
        root = self.root(array)
        return id(root), (self.address(array) - self.extent(root)[0]) // size, strides

    def storage_size(self, array: Array, dtype: dtype) -> int:
        return self.extent(self.root(array))[1]

    def data_ptr(self, array: Array) -> int:
        return self.address(array)

    def is_contiguous(self, array: Array, dtype: dtype) -> bool:
        return array.flags.c_contiguous

    def _contiguity(self, dtype: dtype) -> Callable[[Array], bool]:
        if type(self).is_contiguous is not ArrayRuntime.is_contiguous:
            return super()._contiguity(dtype)
        return operator.attrgetter("flags.c_contiguous")  # without a function of Python

    def owns_storage(self, array: Array) -> bool:
        return array.base is None

    # -- exchange ----------------------------------------------------------------------------
    def to_dlpack(
        self,
        array: Array,
        dtype: DType,
        stream: int | None,
        max_version: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """A capsule of the module's own making."""
        options: dict[str, Any] = {} if stream == -1 else {"stream": stream}
        if max_version is not None:
            options["max_version"] = max_version
        capsule = (array.copy() if copy else array).__dlpack__(**options)
        if narrow_dtype(dtype):
            relabel(capsule, dtype)
        return capsule

    def from_dlpack(self, exporter: Exporter, index: int, copy: bool | None) -> Imported:
        """The module's own array over the memory."""
        options = {} if copy is None else {"copy": copy}
        array = self.xp.from_dlpack(_Bits(exporter), **options)
        found = exporter.found
        # NumPy takes all memory for read-only of which nobody could say that it is not.
        if found.writable and array.size and not getattr(array.flags, "writeable", True):
            low, size = self.extent(array)
            whole = self.xp.asarray(_Span(array, low, size, writable=True))
            start = self.address(array) - low
            array = self.xp.ndarray(array.shape, array.dtype, whole, start, array.strides)
        return Imported(array, found.dtype, found.writable)

    # -- kernels -----------------------------------------------------------------------------
    def dtype(self, dtype: DType) -> Any:
        """NumPy's dtype, or how elements of one that it lacks are computed with."""
        if dtype not in self.narrow:
            return _IN_MEMORY[dtype]
        found = self._ways.get(dtype)
        return found or self._ways.setdefault(dtype, self.narrow[dtype](self.xp))

    @functools.cached_property
    def _ways(self) -> dict[DType, Narrow]:
        return {}

    def scalar(self, value: bool | int | float | complex, dtype: DType) -> Array:
        """A 0-d array: an array module's own promotion would otherwise have a say."""
        if dtype in self.narrow:
            if not dtype.is_complex:
                real = value.real if isinstance(value, complex) else value
                value = as_float(real, dtype)
            made = quietly(self.dtype(dtype).narrowed, self.xp.array(value))
        else:
            made = self.xp.array(host_scalar(value, dtype))
        if isinstance(made, np.ndarray):
            made.setflags(write=False)  # it is kept: a write would change every later operation
        return made


_LEAST, _MOST = 2.0**-14, 65504.0
"""No floating point dtype loses such a number's magnitude, so that no conversion could warn."""


def is_exact(value: bool | int | float | complex, dtype: dtype) -> bool:
    """Whether array modules write a Python number into an array of *dtype* as ``scalar`` has it."""
    if dtype.category != FLOAT or narrow_dtype(dtype):
        return type(value) is int and 0 <= value < 128 and dtype.category == INTEGER
    return type(value) in (int, float) and (value == 0 or _LEAST <= abs(value) <= _MOST)


def host_scalar(value: bool | int | float | complex, dtype: dtype) -> np.ndarray:
    """A 0-d NumPy array of *dtype*: ints wrap, floats are cut to ints, only complex is complex."""
    target = _IN_MEMORY[dtype]
    if dtype.is_complex:
        return np.array(value, dtype=target)
    if isinstance(value, complex):
        value = value.real
    if target.kind == "b":
        return np.array(value != 0)
    if target.kind in "iu":
        if isinstance(value, float):
            value = int(quietly(np.float64(value).astype, np.int64))
        bits = dtype.bits
        wrapped = value & ((1 << bits) - 1)
        if dtype.is_signed and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return np.array(wrapped, dtype=target)
    if value == 0 or _LEAST <= abs(value) <= _MOST:
        return np.array(value, dtype=np.float64).astype(target)
    return quietly(np.array(as_float(value, dtype)).astype, target)
