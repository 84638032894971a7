"""Dtypes that are computed in float32: arrays hold their bits where NumPy has no such dtype."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype, dtype_by_name
from tensorbus._base.float_warnings import quietly
from tensorbus.plugin.array_library.table import into, quiet
from tensorbus.plugin.backend import Array, Kernel

__all__ = [
    "UNSIGNED",
    "BFloat16",
    "ComplexHalf",
    "Narrow",
    "dtype_by_name",
    "narrow_dtype",
    "single",
]

UNSIGNED = frozenset((dtypes.uint16, dtypes.uint32, dtypes.uint64))
_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_EXACT = 53
"""Integers of so many bits are float64 numbers."""


class Narrow:
    """How the elements of a dtype become float32 numbers, and float32 numbers elements.

    It is also what a backend's ``dtype`` gives for it, so that a kernel knows its result's dtype.
    This one is of float16, which NumPy has.
    """

    kind = "f"
    memory: np.dtype[Any] = np.dtype(np.float16)
    """The NumPy dtype of arrays with such elements."""
    wide: np.dtype[Any] = np.dtype(np.float32)
    """The one that they are computed in."""

    def __init__(self, xp: Any = np):
        self.xp = xp

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.memory.itemsize

    def widened(self, x: Array) -> Array:
        """The numbers in float32."""
        return x.astype(_FLOAT)

    def narrowed(self, x: Array) -> Array:
        """Elements of the dtype for an array of real numbers, each rounded once."""
        return x.astype(self.memory)

    def rounded(self, x: Array) -> Array:
        """Real numbers as the dtype has them, in float32."""
        return self.widened(self.narrowed(x))


class ComplexHalf(Narrow):
    """complex32: two float16 numbers."""

    kind = "c"
    memory: np.dtype[Any] = np.dtype(np.int32)
    wide = np.dtype(np.complex64)

    def widened(self, x: Array) -> Array:
        halves = self.xp.ascontiguousarray(x).reshape(-1).view(np.float16)
        return halves.astype(_FLOAT).view(self.wide).reshape(x.shape)

    def narrowed(self, x: Array) -> Array:
        x = self.xp.asarray(x)
        parts = self.xp.ascontiguousarray(x.astype(self.wide)).reshape(-1).view(_FLOAT)
        return parts.astype(np.float16).view(self.memory).reshape(x.shape)


class BFloat16(Narrow):
    """bfloat16: the upper half of a float32."""

    memory: np.dtype[Any] = np.dtype(np.int16)

    def widened(self, x: Array) -> Array:
        bits = x.view(np.uint16).astype(np.uint32)
        bits <<= np.uint32(16)
        return bits.view(_FLOAT)

    def narrowed(self, x: Array) -> Array:
        return self.upper_half(single(self.xp, self.xp.asarray(x)))

    def upper_half(self, x: Array) -> Array:
        """The elements of float32 numbers, ties to even; a NaN stays one and keeps its sign."""
        x = self.xp.ascontiguousarray(x).reshape(x.shape)
        bits = x.view(np.uint32)
        rounded = (bits >> np.uint32(16)) & np.uint32(1)
        rounded += bits
        rounded += np.uint32(0x7FFF)
        nan = (bits & np.uint32(0x80000000)) | np.uint32(0x7FC00000)
        rounded = self.xp.where(x == x, rounded, nan) >> np.uint32(16)
        return rounded.astype(np.uint16).view(self.memory)


HALF = Narrow()


def single(xp: Any, x: Array) -> Array:
    """Real numbers in float32, whose last bit is one where a bit was lost.

    Rounded once more, to fewer digits, they are what the number itself would be rounded to.
    """
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        step = x.dtype.type(1 << (64 - _EXACT))
        low = x & (step - x.dtype.type(1))
        odd = (x - low) | xp.where(low != 0, step, x.dtype.type(0))
        x = xp.where(abs(x) >> x.dtype.type(_EXACT) == 0, x, odd).astype(_DOUBLE)
    elif x.dtype.kind in "iu" and x.dtype.itemsize == 4:
        x = x.astype(_DOUBLE)
    if x.dtype != _DOUBLE:
        return x.astype(_FLOAT)
    return quietly(_to_odd, xp, x)


def _to_odd(xp: Any, x: Array) -> Array:
    near = x.astype(_FLOAT)
    bits = near.view(np.int32)
    inexact = (near != x) & (x == x) & (bits & np.int32(1) == 0)
    # Magnitudes are ordered as their bits are.
    towards = xp.where(abs(near) > abs(x), np.int32(-1), np.int32(1))
    return xp.where(inexact, bits + towards, bits).astype(np.int32).view(_FLOAT)


def narrow(token: Any) -> Narrow | None:
    """How elements of this dtype are computed with, or None where they are as they stand."""
    if isinstance(token, Narrow):
        return token
    return HALF if token == HALF.memory else None


def converted(x: Array, token: Any) -> Array:
    """Real numbers as elements of a dtype."""
    return token.narrowed(x) if isinstance(token, Narrow) else x.astype(token, copy=False)


def product(xp: Any, a: Array, b: Array, token: Any, out: Array | None) -> Array:
    """The matrix product in a dtype that is not the operands' own."""
    way = narrow(token)
    if way is None:
        a, b = a.astype(token, copy=False), b.astype(token, copy=False)
        return into(out, xp.matmul(a, b))
    return into(out, way.narrowed(xp.matmul(way.rounded(a), way.rounded(b))))


MOVING = frozenset(
    "permute view expand slice select unsqueeze leading transpose contiguous take gather where "
    "concatenate".split()
)
"""Ops that look at no value: kernels of an integer as wide do."""
_UPDATING = ("put", "scatter")


def narrow_kernel(backend: Any, op: str, dtype: dtype, index: int) -> Kernel | None:
    """The kernel of *op* for a dtype of which the backend's arrays hold the bits, or None."""
    way: Narrow = backend.dtype(dtype)
    raw = integer_of(dtype)
    if op in MOVING:
        return backend.kernel(op, raw, index)
    if backend.kernel(op, dtypes.complex64 if dtype.is_complex else dtypes.float16, index) is None:
        return None
    if op == "arange":
        return _arange(backend.kernel(op, dtypes.float64, index), way)
    wide = backend.kernel(op, dtype.widened(), index)
    if op in _UPDATING:
        return _updating(backend.kernel(op, raw, index), wide, way)
    return quiet(_in_float32(wide, way))


def _arange(kernel: Kernel, way: Narrow) -> Kernel:
    return lambda n, start, step, token: way.narrowed(kernel(n, start, step, _DOUBLE))


def _in_float32(kernel: Kernel, way: Narrow) -> Kernel:
    memory = way.memory

    def result(r: Any) -> Any:
        if isinstance(r, tuple):
            return tuple(map(result, r))
        return way.narrowed(r) if r.dtype == way.wide else r

    @functools.wraps(kernel)
    def in_float32(*args: Any, out: Array | None = None, **options: Any) -> Any:
        wide: list[Any] = []
        own = True
        for a in args:
            if getattr(a, "dtype", None) == memory:
                a = way.widened(a)
            elif isinstance(a, Narrow):
                a = way.wide
            elif isinstance(a, np.dtype):
                own = False  # the caller names another dtype for the result
            wide.append(a)
        r = kernel(*wide, **options)
        return into(out, result(r) if own else r)

    return in_float32


def _updating(moving: Kernel, joining: Kernel, way: Narrow) -> Kernel:
    def update(out: Array, dim: int, i: Array, src: Array, op: str, *rest: Any) -> Array:
        if op == "set":
            return moving(out, dim, i, src, op, *rest)
        before = way.widened(out)
        after = before.copy()
        joining(after, dim, i, way.widened(src), op, *rest)
        # Only what was written: a NaN elsewhere keeps its bits.
        bits = np.dtype(f"i{way.wide.itemsize}")
        kept = after.view(bits) == before.view(bits)
        out[...] = way.xp.where(kept, out, way.narrowed(after))
        return out

    return update


@functools.cache
def narrow_dtype(d: dtype) -> bool:
    """Whether NumPy lacks the dtype, so that arrays hold its bits and hosts see them in uint16."""
    return d.widened() is not d


def integer_of(d: dtype) -> dtype:
    """The integer dtype that arrays of such a dtype's bits have."""
    return {1: dtypes.uint8, 2: dtypes.int16, 4: dtypes.int32}[d.itemsize]
