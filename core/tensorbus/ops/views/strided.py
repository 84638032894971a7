"""Parts of a tensor's memory: ranges, indices, diagonals, windows, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_int
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.history import strided_recipe
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.rows.layouts import contiguous_strides
from tensorbus.rows.recipes import forbids_writes


@public()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """*length* indices of one dimension from *start* on, without a copy."""
    if not input._s:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    d = wrap_dim(dim, len(input._s))
    n = input._s[d]
    if isinstance(start, Tensor):
        if start._s or start._k.dtype.category != dtypes.INTEGER:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start.item())
    elif type(start) is not int:
        whole = as_int(start)
        if whole is None:
            raise type_error("narrow", "start", 3, "int", start)
        start = whole
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return core("slice")(input, d, start, start + length, 1)


@public(out=SAME)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``narrow``, with a memory of its own."""
    return core("clone")(narrow(input, dim, start, length))


@public()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension, which disappears; without a copy."""
    if not input._s:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(input._s))
    n = input._s[d]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._s)} "
            f"at dimension {d}"
        )
    return core("select")(input, d, index % n)


@public()
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A view with any shape, strides and offset within the storage."""
    shape, strides = tuple(size), tuple(stride)
    own = input._k.layout(input._a)[1]
    offset = own if storage_offset is None else int(storage_offset)
    if len(shape) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
    if any(s < 0 for s in strides):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if 0 in shape:
        offset = own  # no element lies there, so that it may be anywhere
    else:
        _check_reach(input, shape, strides, offset)
    if own or input._b is not None:
        laid = tuple(input._k.strides(input._a))
        if own or laid != contiguous_strides(tuple(input._s)):
            made = core("restrided")(input, shape, strides, offset, (own, laid))
            return _of_base(made, shape, strides, offset)
    return core("strided")(input, shape, strides, offset)


def _check_reach(x: Tensor, shape: Any, strides: Any, offset: int) -> None:
    """RuntimeError for a view that reaches beyond the storage, or a batch's element within it."""
    end = offset + _span(shape, strides)
    if x._k.inner is not None:
        _, start, own = x._k.layout(x._a)
        reach = start + _span(x._s, own) if x._s.numel() else start
        if offset < start or end > reach:
            raise RuntimeError(
                f"result = tensor.as_strided({list(shape)}, {list(strides)}, {offset}) can access "
                f"memory outside of `tensor`. `result` can access some memory in range "
                f"[{offset}, {end}], but `tensor` can only access some memory in range "
                f"[{start}, {reach}]. This is not supported inside of vmap, please try to rewrite "
                "the `as_strided` call as a sequence of PyTorch view operations"
            )
        return
    itemsize = x._k.dtype.itemsize
    available = x._k.backend.storage_size(x._a, x._k.dtype) // itemsize
    if end > available:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {itemsize} requiring a storage size of {end * itemsize} are out of "
            f"bounds for storage of size {available * itemsize}"
        )


def _span(shape: Any, strides: Any) -> int:
    """How many places lie from the first element to the last."""
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _of_base(made: Tensor, shape: Any, strides: Any, offset: int) -> Tensor:
    """The view as one of its base: it may reach elements that the view between them has not."""
    base, how = made._b, made._r
    if isinstance(base, Tensor) and how and not forbids_writes(how):
        made._r = strided_recipe(base, made._k, shape, strides, offset)
    return made


@public()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions as a new last one, without a copy."""
    rank = len(input._s)
    a, b = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return core("diagonal")(input, int(offset), a, b)


@public(name="linalg_diagonal", function=False, method=False)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """``diagonal`` of the last two dimensions, where no others are given: a view."""
    return diagonal(A, offset, dim1, dim2)


@public(function=False)
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of one dimension as a new last one, without a copy."""
    d = wrap_dim(dimension, len(self._s))
    n = self._s[d] if self._s else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n or step <= 0:
        raise RuntimeError(
            f"maximum size for tensor at dimension {d} is {n} but size is {size}"
            if size > n
            else f"step is {step} but must be > 0"
        )
    return core("windows")(self, d, size, step)
