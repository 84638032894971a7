"""Indices as numbers: flat ones, those of so many nonzero elements, and reductions at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.indexing.scattering import scatter_reduce


@public(method=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor for each dimension, of flat indices into a shape.

    TypeError for indices that are not integers, ValueError for negative sizes.
    """
    check_tensors("unravel_index", indices=indices)
    if indices._k.dtype.category != dtypes.INTEGER:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices._k.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    indices = indices.long()
    found, below = [], 1
    for size in reversed(sizes):
        quotients = FUNCTIONS["floor_divide"](indices, below) if below > 1 else indices
        found.append(quotients.remainder(size))
        below *= size
    return tuple(reversed(found))


@public(out=SAME)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the first *size* elements other than 0; *fill_value* where there are fewer.

    Unlike ``nonzero`` it does not wait for the device. RuntimeError for a negative *size*.
    """
    check_tensors("nonzero_static", input=input)
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    options: dict[str, Any] = {"dtype": dtypes.int64, "device": input._k.device}
    if not input._s or not input._s.numel():
        return FUNCTIONS["full"]((size, len(input._s)), fill_value, **options)
    # Everything has a size known beforehand, so that nothing waits for the device.
    hits = (input != 0).reshape(-1)
    order = hits.cumsum(0) - 1
    targets = FUNCTIONS["where"](hits & (order < size), order, size)
    numbers = FUNCTIONS["arange"](hits._s[0], **options)
    flat = FUNCTIONS["full"]((size + 1,), -1, **options).scatter(0, targets, numbers)[:size]
    found = FUNCTIONS["stack"](unravel_index(flat, input._s), 1)
    return FUNCTIONS["where"]((flat >= 0).unsqueeze(1), found, fill_value)


@public(out=SAME, inplace=True)
@composed(node="IndexReduceBackward0")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """A copy with the slices of *source* reduced at their indices along a dimension.

    *reduce* is ``prod``, ``mean``, ``amax`` or ``amin``; without *include_self* what was there does
    not count.
    """
    check_tensors("index_reduce", input=input, index=index, source=source)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    d = wrap_dim(dim, len(input._s))
    _check_index(input, d, index, source)
    if not input._s:
        return scatter_reduce(
            input.reshape(1), 0, index.reshape(-1).long(), source.reshape(-1), reduce,
            include_self=include_self,
        ).reshape(())  # fmt: skip
    shape: list[Any] = [1] * len(input._s)
    shape[d] = -1
    places = index.long().reshape(shape).expand(source._s)
    return scatter_reduce(input, d, places, source, reduce, include_self=include_self)


def _check_index(x: Tensor, d: int, index: Tensor, source: Tensor) -> None:
    name = "index_reduce_()"
    if len(index._s) > 1:
        raise IndexError(
            f"{name}: Index is supposed to be a vector, but got dim: {len(index._s)} with type: "
            f"{scalar_name(index._k.dtype)} and size: {list(index._s)}"
        )
    if index._k.dtype not in (dtypes.int32, dtypes.int64):
        raise RuntimeError(
            f"{name}: Expected dtype int32/int64 for index but got: {scalar_name(index._k.dtype)}"
        )
    if x._k.dtype is not source._k.dtype:
        raise RuntimeError(
            f"{name}: self ({scalar_name(x._k.dtype)}) and source ({scalar_name(source._k.dtype)}) "
            "must have the same scalar type"
        )
    own = [n for i, n in enumerate(x._s) if i != d]
    others = [n for i, n in enumerate(source._s) if i != d]
    if len(x._s) != len(source._s) or own != others:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(x._s)} source.shape = {list(source._s)}"
        )
    size = source._s[d] if source._s else 1
    if index._s.numel() != size:
        raise RuntimeError(
            f"{name}: Number of indices ({index._s.numel()}) should be equal to source.size(dim): "
            f"({size}), for dim: {d}"
        )
