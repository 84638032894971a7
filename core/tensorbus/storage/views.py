"""Tensors over storages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorbus._base import dtypes
from tensorbus._base.modes import fresh_cell
from tensorbus._base.size import size_of
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array, new

if TYPE_CHECKING:
    from tensorbus.storage.untyped import UntypedStorage


def tensor_from_storage(
    storage: UntypedStorage,
    dtype: dtypes.dtype,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
) -> Tensor:
    """A tensor over a storage; RuntimeError where it would reach beyond the end."""
    storage.alone = False
    t = view_of(storage, dtype, storage_offset, size, stride)
    return t.requires_grad_() if requires_grad else t


def view_of(
    storage: UntypedStorage,
    dtype: dtypes.dtype,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
) -> Tensor:
    """A tensor over a storage for a moment: nobody keeps it."""
    shape, strides = tuple(size), tuple(stride)
    check_bounds(storage.nbytes(), dtype, storage_offset, shape, strides)
    kind = kind_of(storage.device, dtype)
    if storage._start % dtype.itemsize:
        raise RuntimeError(
            f"a slice of a storage from byte {storage._start} on cannot hold {dtype}, whose "
            f"elements begin at multiples of {dtype.itemsize}"
        )
    if 0 in shape:
        t = from_array(kind.empty(shape), kind)
    else:
        offset = storage_offset + storage._start // dtype.itemsize
        array = kind.backend.as_strided(
            storage._array, shape, strides, offset, storage._kind.dtype, dtype
        )
        t = new(Tensor)
        t._a, t._k, t._s, t._c, t._e = array, kind, size_of(shape), fresh_cell(), None
        whole = storage.nbytes() == dtype.itemsize * t._s.numel()
        t._b = None if whole and kind.is_contiguous(array) else PERMUTED
    return t


def check_bounds(
    nbytes: int, dtype: dtypes.dtype, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """Refuse a view that does not lie within its storage."""
    if len(shape) != len(strides):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {len(strides)} strides, {len(shape)} sizes"
        )
    if offset < 0 or any(n < 0 for n in shape) or any(s < 0 for s in strides):
        raise RuntimeError(
            f"a view needs an offset, sizes and strides of 0 or more, got offset {offset}, "
            f"sizes {list(shape)}, strides {list(strides)}"
        )
    if 0 in shape:
        return
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    needed = (last + 1) * dtype.itemsize
    if needed > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {dtype.itemsize} requiring a storage size of {needed} are out of bounds "
            f"for storage of size {nbytes}"
        )
