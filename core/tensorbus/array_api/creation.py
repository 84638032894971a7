"""The standard's functions that make arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus import Tensor
from tensorbus._base.dtypes import dtype as Dtype

Shape = int | tuple[int, ...]


def _shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def asarray(
    obj: Any, /, *, dtype: Dtype | None = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """An array of numbers, nested sequences, another array, or memory with the buffer protocol.

    The dtype is the memory's, unless one is named. ValueError where copy is False and one is
    needed.
    """
    if isinstance(obj, (memoryview, bytes, bytearray)) or type(obj).__module__ == "array":
        obj = np.asarray(obj)
    return tensorbus.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Dtype | None = None,
    device: Any = None,
) -> Tensor:
    """The numbers from start until stop, in steps; none where stop lies the other way."""
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        integers = all(isinstance(n, int) for n in (start, stop, step))
        dtype = tensorbus.int64 if integers else tensorbus.get_default_dtype()
    if (stop - start) * step <= 0 and step:
        return tensorbus.empty(0, dtype=dtype, device=device)
    return tensorbus.arange(start, stop, step, dtype=dtype, device=device)


def empty(shape: Shape, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """An array of any values."""
    return tensorbus.empty(_shape(shape), dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """An array of any values, with x's shape, dtype and device if not given."""
    return tensorbus.empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Dtype | None = None,
    device: Any = None,
) -> Tensor:
    """A matrix with ones on its k-th diagonal and zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    made = tensorbus.zeros(n_rows, n_cols, dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        made.diagonal(k).fill_(1)
    return made


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """An array over the memory of another library's, through DLPack."""
    return tensorbus.from_dlpack(x, device=device, copy=copy)


def full(
    shape: Shape, fill_value: complex, *, dtype: Dtype | None = None, device: Any = None
) -> Tensor:
    """An array of one value, whose kind gives the dtype if none is named."""
    return tensorbus.full(_shape(shape), fill_value, dtype=dtype, device=device)


def full_like(
    x: Tensor, /, fill_value: complex, *, dtype: Dtype | None = None, device: Any = None
) -> Tensor:
    """An array of one value, with x's shape, dtype and device if not given."""
    return tensorbus.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Dtype | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """num numbers at equal distances from start to stop, which is left out unless endpoint."""
    if dtype is None:
        dtype = tensorbus.get_default_dtype()
        if isinstance(start, complex) or isinstance(stop, complex):
            dtype = dtype.to_complex()
    if num < 0:
        raise ValueError(f"linspace(): num must not be negative, but got {num}")
    if dtype.is_complex:
        d = dtype.to_real()
        parts = [
            linspace(a, b, num, dtype=d, device=device, endpoint=endpoint)
            for a, b in ((start.real, stop.real), (start.imag, stop.imag))
        ]
        return tensorbus.complex(*parts)
    whole = num if endpoint else num + 1
    return tensorbus.linspace(start, stop, whole, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of all points of a grid."""
    if len({a.dtype for a in arrays}) > 1:
        raise ValueError("meshgrid(): the arrays must have one dtype")
    return tuple(tensorbus.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def ones(shape: Shape, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """An array of ones."""
    return tensorbus.ones(_shape(shape), dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """An array of ones, with x's shape, dtype and device if not given."""
    return tensorbus.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices with zeros above the k-th diagonal."""
    return tensorbus.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices with zeros below the k-th diagonal."""
    return tensorbus.triu(x, k)


def zeros(shape: Shape, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """An array of zeros."""
    return tensorbus.zeros(_shape(shape), dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """An array of zeros, with x's shape, dtype and device if not given."""
    return tensorbus.zeros_like(x, dtype=dtype, device=device)


__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip
