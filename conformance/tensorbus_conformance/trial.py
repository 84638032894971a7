"""One attempt at one case: places operands, calls kernels as the frontend would, compares."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorbus import discovery, get_fusion
from tensorbus.plugin import Array, Backend, Capabilities, Graph, Kernel, dtype
from tensorbus_conformance import clones, compare, formats, layouts, values
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.primitives import WRITING


class Unsupported(Exception):
    """The backend declared that it does not do this."""


@dataclass
class Placed:
    """An operand on the device, and what the host knows of it."""

    array: Array
    values: np.ndarray
    dtype: dtype
    buffer: np.ndarray
    """The whole storage as it was written."""
    strides: tuple[int, ...]
    offset: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


class Device:
    """The device under test, and the kernels it was asked for, each once as the contract says."""

    def __init__(self, backend: Backend, index: int = 0, type: str | None = None):
        self.backend, self.index = backend, index
        self.type = f"{type or backend.name}:{index}"
        """The device as the frontend names it."""
        self.capabilities: Capabilities = backend.capabilities(index)
        self._kernels: dict[tuple[str, dtype], Kernel | None] = {}
        self._composed: list[Device | None] = []
        self._fused: list[Device | None] = []
        self._uncompiled: Device | None = None
        self.ran: list[Graph] = []
        """What ran of what was compiled, on a device that ``fused`` gave."""
        self._plugged = contextlib.ExitStack()

    def kernel(self, op: str, dtype: dtype) -> Kernel | None:
        """The kernel for *op* on *dtype*, or None."""
        key = op, dtype
        if key not in self._kernels:
            self._kernels[key] = self.backend.kernel(op, dtype, self.index)
        return self._kernels[key]

    def fused(self) -> Device | None:
        """The device, with notes of what ran compiled; None where nothing compiles."""
        if not self._fused:
            self._fused.append(self._compiling())
        return self._fused[0]

    def uncompiled(self) -> Device:
        """The device, which composes what ``fused`` compiles."""
        if self._uncompiled is None:
            clone = clones.uncompiled(self.backend)
            type = self._plugged.enter_context(discovery.plugged(clone))
            self._uncompiled = Device(clone, self.index, type)
        return self._uncompiled

    def _compiling(self) -> Device | None:
        if not get_fusion() or not discovery.compilers(self.backend):
            return None
        ran: list[Graph] = []
        clone = clones.compiling(self.backend, ran)
        type = self._plugged.enter_context(discovery.plugged(clone))
        device = Device(clone, self.index, type)
        device.ran = ran
        return device

    def composed(self) -> Device | None:
        """The device without its kernels beyond the primitives; None where it has none."""
        if not self._composed:
            self._composed.append(self._without_own_kernels())
        return self._composed[0]

    def _without_own_kernels(self) -> Device | None:
        overlaid = any(spec.ops for spec in discovery.overlays(self.backend.name))
        dtypes = self.capabilities.dtypes
        if not overlaid and not any(
            self.backend.kernel(name, d, self.index) is not None
            for name in clones.composed_ops()
            for d in dtypes
        ):
            return None
        clone = clones.composed(self.backend)
        type = self._plugged.enter_context(discovery.plugged(clone))
        return Device(clone, self.index, type)

    def close(self) -> None:
        """Take back what was plugged in beside the device."""
        self._plugged.close()


class Trial:
    """What a case works with: a device, and notes on how well it did."""

    def __init__(self, device: Device):
        self.device, self.backend, self.index = device, device.backend, device.index
        self.traits, self.capabilities = self.backend.traits, device.capabilities
        self.flushes = self.capabilities.details.get("subnormals") == "flush"
        self.ulp: float | None = None
        self.notes: list[str] = []
        self.relative: float | None = None
        """The time of a call over the CPU's, where both were taken."""

    # -- operands ----------------------------------------------------------------------------
    def place(self, values_: Any, dtype: dtype, layout: str = "contiguous") -> Placed:
        """*values_* on the device, in the layout given, among bytes that mean nothing."""
        array_ = np.asarray(values_, formats.value_dtype(dtype))
        if layout == "reversed" and not self.traits.negative_strides:
            raise Unsupported("trait negative_strides is False: the frontend flips with take")
        host = formats.encode(array_, dtype)
        shape = array_.shape
        repeats = tuple(s == 0 and n > 1 for s, n in zip(array_.strides, shape, strict=True))
        length, strides, offset = layouts.plan(shape, layout, repeats)
        if layout == "contiguous":
            buffer = np.array(host).reshape(-1)
            array = self.backend.from_host(np.array(host), dtype, self.index)
        else:
            buffer = values.poison(length, dtype, layout)
            layouts.window(buffer, shape, strides, offset)[...] = host
            base = self.backend.from_host(buffer.copy(), dtype, self.index)
            array = self.backend.as_strided(base, shape, strides, offset, dtype, dtype)
        return Placed(array, array_, dtype, buffer, strides, offset)

    def scalar(self, value: Any, dtype: dtype) -> Any:
        """What the kernels take for a Python number."""
        return self.backend.scalar(value, dtype)

    def token(self, dtype: dtype) -> Any:
        """What the kernels take where the table says dtype."""
        return self.backend.dtype(dtype)

    # -- kernels -----------------------------------------------------------------------------
    def kernel(self, op: str, dtype: dtype) -> Kernel:
        """The backend's kernel; its absence is a failure unless bytes are all *dtype* promises."""
        kernel = self.device.kernel(op, dtype)
        if kernel is None:
            if dtype in formats.MOVED:
                raise Unsupported(f"no {op} kernel for {dtype.name}: not mandatory for this dtype")
            raise Mismatch(f"kernel({op!r}, {dtype.name}, {self.index}) is None: not offered")
        return kernel

    def call(self, op: str, dtype: dtype, *args: Any, out: Placed | None = None) -> Any:
        """Call the kernel *op* with placed operands as the backend's traits ask."""
        kernel = self.kernel(op, dtype)
        if any(len(a.shape) > self.traits.max_rank for a in args if isinstance(a, Placed)):
            most = self.traits.max_rank
            raise Unsupported(f"trait max_rank is {most}: the frontend folds dimensions")
        given = [self._given(a) if isinstance(a, Placed) else a for a in args]
        if op in WRITING:
            given[0] = args[0].array  # written in place, through whatever strides it has
        if out is None:
            return self._on_the_device(op, kernel, *given)
        if self.traits.strided_out or self.backend.is_contiguous(out.array, out.dtype):
            self._on_the_device(op, functools.partial(kernel, out=out.array), *given)
        else:
            fresh = self._on_the_device(op, kernel, *given)
            self.backend.copy_(out.array, out.dtype, self._as_array(fresh, out.dtype), out.dtype)
        return out.array

    def compiled(
        self, kernel: Kernel, operands: Sequence[Any], out: tuple[Placed, ...] | None = None
    ) -> Any:
        """Call the kernel of a graph with placed operands and numbers, as the traits ask."""
        given = [self._given(a) if isinstance(a, Placed) else a for a in operands]
        if out is None:
            return self._on_the_device("a graph", kernel, *given)
        direct = self.traits.strided_out or all(
            self.backend.is_contiguous(x.array, x.dtype) for x in out
        )
        if direct:
            arrays = tuple(x.array for x in out)
            return self._on_the_device("a graph", functools.partial(kernel, out=arrays), *given)
        made = self._on_the_device("a graph", kernel, *given)
        if made is NotImplemented:
            return made
        for x, r in zip(out, made if len(out) > 1 else (made,), strict=True):
            self.backend.copy_(x.array, x.dtype, self._as_array(r, x.dtype), x.dtype)
        return tuple(x.array for x in out) if len(out) > 1 else out[0].array

    def _on_the_device(self, op: str, kernel: Kernel, *given: Any) -> Any:
        """Call a kernel, which may not move its operands to the host and compute there."""
        backend, read = self.backend, []
        to_host, own = backend.to_host, vars(backend).get("to_host")

        def watching(array: Array, dtype: dtype) -> np.ndarray:
            read.append(array)
            return to_host(array, dtype)

        backend.to_host = watching  # type: ignore[method-assign]
        try:
            made = kernel(*given)
        finally:
            if own is None:
                vars(backend).pop("to_host", None)
            else:
                backend.to_host = own  # type: ignore[method-assign]
        if read:
            raise Mismatch(f"the kernel for {op} reads its operands on the host, silently")
        return made

    def _given(self, operand: Placed) -> Array:
        array, dtype = operand.array, operand.dtype
        if not self.traits.contiguous_inputs or self.backend.is_contiguous(array, dtype):
            return array
        copy = self.backend.empty(operand.shape, dtype, self.index)
        self.backend.copy_(copy, dtype, array, dtype)
        return copy

    def _as_array(self, result: Any, dtype: dtype) -> Array:
        if self.traits.scalar_results and np.isscalar(result):
            return self.backend.from_host(np.asarray(result, dtype.name), dtype, self.index)
        return result

    # -- results -----------------------------------------------------------------------------
    def read(self, array: Array, dtype: dtype, shape: Sequence[int] | None = None) -> np.ndarray:
        """The values of an array, after a check of its shape and of what ``to_host`` gives."""
        if shape is not None and tuple(array.shape) != tuple(shape):
            raise Mismatch(f"shape is {tuple(array.shape)}, expected {tuple(shape)}")
        if self.traits.scalar_results and np.isscalar(array):
            host = np.asarray(array)
        else:
            host = self.backend.to_host(array, dtype)
        if not isinstance(host, np.ndarray):
            raise Mismatch(f"to_host gave a {type(host).__name__}, expected numpy.ndarray")
        if host.dtype != formats.host_dtype(dtype):
            expected = formats.host_dtype(dtype)
            raise Mismatch(f"the result holds {host.dtype}, expected {expected} ({dtype.name})")
        if host.shape != tuple(array.shape):
            raise Mismatch(f"to_host gave shape {host.shape}, the array's is {array.shape}")
        return formats.decode(host, dtype)

    def result(
        self, array: Any, dtype: dtype, shape: Sequence[int], inputs: Sequence[Any] = ()
    ) -> np.ndarray:
        """The values of a fresh result, checked to be dense and to alias none of *inputs*."""
        if self.traits.scalar_results and np.isscalar(array):
            return self.read(array, dtype, shape)
        found = self.read(array, dtype, shape)
        key, offset, strides = self.backend.layout(array, dtype)
        if dtype is formats.BOOL and found.size:
            # to_host may have made them whole: the memory itself counts.
            shape = tuple(array.shape)
            as_bytes = self.backend.as_strided(array, shape, strides, offset, dtype, formats.UINT8)
            compare.truths(found)
            compare.truths(self.backend.to_host(as_bytes, formats.UINT8))
        for position, operand in enumerate(inputs):
            if not isinstance(operand, Placed):
                continue
            if self.backend.layout(operand.array, operand.dtype)[0] == key:
                raise Mismatch(f"the result shares the storage of input {position}")
        expected = 1
        order = sorted((s, n) for s, n in zip(strides, array.shape, strict=True) if n > 1)
        for stride, n in order:
            if stride != expected and array.shape and 0 not in array.shape:
                raise Mismatch(f"a fresh result is not dense: {array.shape} strides {strides}")
            expected *= n
        return found

    def storage(self, placed: Placed) -> np.ndarray:
        """The whole storage of an operand as it is now, in host form."""
        n = placed.buffer.size
        flat = self.backend.as_strided(placed.array, (n,), (1,), 0, placed.dtype, placed.dtype)
        return self.backend.to_host(flat, placed.dtype)

    def untouched(self, *operands: Any) -> None:
        """Check that inputs, and what lies around them, still hold what they held."""
        for position, placed in enumerate(operands):
            if isinstance(placed, Placed):
                compare.same_bytes(
                    self.storage(placed), placed.buffer, f"input {position} was written to"
                )

    def written(self, out: Placed) -> np.ndarray:
        """The values now in *out*, after a check of the bytes around it."""
        now = self.storage(out)
        view = layouts.window(now, out.shape, out.strides, out.offset)
        found = formats.decode(np.array(view), out.dtype)
        if out.dtype is formats.BOOL:
            compare.truths(found)
        before = out.buffer.copy()
        layouts.window(before, out.shape, out.strides, out.offset)[...] = view
        compare.same_bytes(now, before, "bytes outside out's elements were written")
        return found

    # -- judgement ---------------------------------------------------------------------------
    def exact(
        self, got: np.ndarray, want: Any, dtype: dtype, *operands: Any, zeros: bool = True
    ) -> None:
        """Values must be equal; *zeros* says whether the sign of a zero counts."""
        compare.equal(got, want, dtype, operands, zeros=zeros, flushes=self.flushes)

    def close(
        self, got: np.ndarray, exact: np.ndarray, dtype: dtype, bound: float, *operands: Any
    ) -> None:
        """Values must lie within *bound* ULP; up to four times that is a note on quality."""
        worst, message = compare.within_ulp(got, exact, dtype, bound, operands, self.flushes)
        self.ulp = max(self.ulp or 0.0, worst)
        if message:
            self.notes.append(message)

    def near(self, got: np.ndarray, exact: np.ndarray, tolerance: np.ndarray, dtype: dtype) -> None:
        """Values must lie within an absolute error, as for sums of given magnitude."""
        compare.within(got, exact, tolerance, dtype)
