"""Tensors that are given another shape in place."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from tensorbus._base.size import size_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump, check_inference, order_mark
from tensorbus.rows.layouts import strides_in_format


def resize_(t: Tensor, shape: tuple[int, ...], format: Any = None) -> Tensor:
    """Give a tensor another shape; memory grows by a new storage that keeps the old values."""
    if t.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    check_inference(t)
    k, size, strides = t._k, size_of(tuple(shape)), strides_in_format(format, tuple(shape))
    _, offset, _ = k.layout(t._a)
    available = k.backend.storage_size(t._a, k.dtype) // k.dtype.itemsize
    if offset + size.numel() <= available:
        array = k.as_strided(t._a, tuple(size), strides, offset)
        base = t._b if t._b is not None else PERMUTED
    else:
        viewed = t._c is not None and getrefcount(t._c) > 2  # views share the version cell
        if viewed or (t._b is not None and t._b is not PERMUTED):
            raise RuntimeError(
                f"Trying to resize storage that is not resizable: {size.numel()} elements need "
                "more memory, and the tensor shares its own with a view. Resize a clone() instead."
            )
        array = k.given_out(k.empty((size.numel(),)))
        kept = min(available - offset, size.numel())
        if kept > 0:
            old = k.as_strided(t._a, (kept,), (1,), offset)
            k.copy_(k.slice(array, 0, 0, kept, 1), old)
        array = k.as_strided(array, tuple(size), strides, 0)
        base = order_mark(k, array)
    bump(t)  # and then no call, so that an interrupt comes before all of it or after
    t._a, t._b, t._s = array, base, size
    return t
