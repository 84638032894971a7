"""Sparse tensors in another order, another shape, in parts, and side by side."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._base import formats
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.sparse import coordinates
from tensorbus.sparse.conversion import coo_array
from tensorbus.sparse.invariants import BLOCKED
from tensorbus.sparse.tensor import (
    Compressed,
    Coo,
    SparseTensor,
    place_of,
    sparse_op,
    sparse_tensor,
    unsupported,
)

_OTHER_ORDER = {
    formats.sparse_csr: formats.sparse_csc,
    formats.sparse_csc: formats.sparse_csr,
    formats.sparse_bsr: formats.sparse_bsc,
    formats.sparse_bsc: formats.sparse_bsr,
}


@sparse_op("permute")
def permute(input: Any, *dims: Any) -> Any:
    """Another order of the dimensions; sparse ones stay before dense ones."""
    order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    a, rank = coo_array(input), len(input._s)
    new = [wrap_dim(d, rank) for d in order]
    if sorted(new) != list(range(rank)):
        raise RuntimeError("permute(sparse_coo): the dimensions must each be named once")
    sparse = a.indices._s[0]
    if sorted(new[:sparse]) != list(range(sparse)):
        raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense "
                           "dimensions are not allowed.")  # fmt: skip
    indices = tensorbus.stack([a.indices[d] for d in new[:sparse]])
    values = a.values.permute(0, *(d - sparse + 1 for d in new[sparse:]))
    shape = [a.shape[d] for d in new]
    same = new[:sparse] == list(range(sparse))
    return sparse_tensor(Coo(indices, values, shape, a.coalesced and same))


@sparse_op("transpose", "swapaxes", "swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped."""
    rank = len(input._s)
    first, second = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    a = input._a
    if type(a) is Compressed and rank == 2:
        if first == second:
            return input
        values = a.values
        if a.layout in BLOCKED:
            values = values.transpose(1, 2)
        shape = (a.shape[1], a.shape[0])
        return sparse_tensor(
            Compressed(_OTHER_ORDER[a.layout], a.compressed, a.plain, values, shape)
        )
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return permute(input, order)


@sparse_op("t", "T", "mT", "adjoint")
def t(input: Any) -> Any:
    """The transposed matrix."""
    if len(input._s) > 2:
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{input.sparse_dim()} sparse and {input.dense_dim()} dense dimensions"
        )
    return transpose(input, 0, 1) if len(input._s) == 2 else input


@sparse_op("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    """A new dimension of size 1: sparse where it stands among these, else dense."""
    a, rank = coo_array(input), len(input._s)
    dim = wrap_dim(dim, rank + 1)
    sparse = a.indices._s[0]
    shape = [*tuple(a.shape)[:dim], 1, *tuple(a.shape)[dim:]]
    if dim > sparse:
        return sparse_tensor(
            Coo(a.indices, a.values.unsqueeze(dim - sparse + 1), shape, a.coalesced)
        )
    zero = tensorbus.zeros_like(a.indices[:1])
    indices = tensorbus.cat([a.indices[:dim], zero, a.indices[dim:]])
    return sparse_tensor(Coo(indices, a.values, shape, a.coalesced))


@sparse_op("squeeze")
def squeeze(input: Any, dim: Any = None) -> Any:
    """The tensor without its dimensions of size 1, or without those that are given."""
    rank = len(input._s)
    given = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = [wrap_dim(d, rank) for d in given]
    made = input
    for d in sorted((d for d in gone if input._s[d] == 1), reverse=True):
        made = select(made, d, 0)
    return made


@sparse_op("select")
def select(input: Any, dim: int, index: int) -> Any:
    """The part at one place of a dimension: dense where no sparse dimension is left."""
    a, rank = coo_array(input), len(input._s)
    dim = wrap_dim(dim, rank)
    size, sparse = a.shape[dim], a.indices._s[0]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(a.shape)} at dimension "
            f"{dim}"
        )
    index %= max(size, 1)
    shape = [n for d, n in enumerate(a.shape) if d != dim]
    if dim >= sparse:
        values = a.values.select(dim - sparse + 1, index)
        return sparse_tensor(Coo(a.indices, values, shape, a.coalesced))
    kept = (a.indices[dim] == index).nonzero()[:, 0]
    values = a.values.index_select(0, kept)
    if sparse == 1:
        return values.sum(0) if values.dtype is not tensorbus.bool else values.any(0)
    indices = tensorbus.cat([a.indices[:dim], a.indices[dim + 1 :]]).index_select(1, kept)
    return sparse_tensor(Coo(indices, values, shape, a.coalesced))


@sparse_op("narrow_copy", "narrow")
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """A stretch of a dimension."""
    a, rank = coo_array(input), len(input._s)
    dim = wrap_dim(dim, rank)
    size, sparse = a.shape[dim], a.indices._s[0]
    start = start + size if start < 0 else start
    if not 0 <= start <= size or not 0 <= length <= size - start:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    shape = [length if d == dim else n for d, n in enumerate(a.shape)]
    if dim >= sparse:
        values = a.values.narrow(dim - sparse + 1, start, length)
        return sparse_tensor(Coo(a.indices, values, shape, a.coalesced))
    row = a.indices[dim]
    kept = ((row >= start) & (row < start + length)).nonzero()[:, 0]
    indices = a.indices.index_select(1, kept)
    indices = tensorbus.cat([indices[:dim], indices[dim : dim + 1] - start, indices[dim + 1 :]])
    return sparse_tensor(Coo(indices, a.values.index_select(0, kept), shape, a.coalesced))


@sparse_op("__getitem__")
def getitem(self: Any, index: Any) -> Any:
    """Parts by integers, slices of step 1, None and ``...``."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [p for p in parts if not isinstance(p, Tensor)]:
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        rest = len(self._s) - sum(p is not None and p is not Ellipsis for p in parts)
        parts[at : at + 1] = [slice(None)] * rest
    made, dim = self, 0
    for part in parts:
        if isinstance(part, Tensor) and not part._s and not part.dtype.is_floating_point:
            part = int(part)
        if part is None:
            made, dim = unsqueeze(made, dim), dim + 1
        elif isinstance(part, int) and not isinstance(part, bool):
            made = made.select(dim, part)
        elif isinstance(part, slice) and part.step in (None, 1):
            start, stop, _ = part.indices(made._s[dim])
            made, dim = narrow(made, dim, start, max(stop - start, 0)), dim + 1
        elif isinstance(part, Tensor) and len(part._s) == 1 and part.dtype is tensorbus.int64:
            made, dim = made.index_select(dim, part), dim + 1
        else:
            raise unsupported("index.Tensor", place_of(self))
    return made


@sparse_op("index_select")
def index_select(input: Any, dim: int, index: Tensor, *, out: Any = None) -> Any:
    """The parts at some places of a dimension, in their order."""
    a, rank = coo_array(input), len(input._s)
    dim = wrap_dim(dim, rank)
    size, sparse = a.shape[dim], a.indices._s[0]
    shape = [index._s[0] if d == dim else n for d, n in enumerate(a.shape)]
    if dim >= sparse:
        values = a.values.index_select(dim - sparse + 1, index)
        return sparse_tensor(Coo(a.indices, values, shape, a.coalesced))
    index = index.to(tensorbus.int64)
    if index._s[0] and (int(index.min()) < -size or int(index.max()) >= size):
        raise IndexError(
            f"index_select(): index contains values that are out of range for dimension {dim} of "
            f"size {size}"
        )
    index = tensorbus.where(index < 0, index + size, index)
    # For each place that is asked for, all elements that stand there.
    order = tensorbus.argsort(a.indices[dim], stable=True)
    starts = coordinates.starts_of(a.indices[dim], size)
    counts = (starts[1:] - starts[:-1])[index]
    target = tensorbus.repeat_interleave(tensorbus.arange(index._s[0], device=index.device), counts)
    first = counts.cumsum(0) - counts
    inside = tensorbus.arange(target._s[0], device=index.device) - first[target]
    element = order[starts[index][target] + inside]
    indices = a.indices.index_select(1, element)
    indices = tensorbus.cat([indices[:dim], target[None], indices[dim + 1 :]])
    made = Coo(indices, a.values.index_select(0, element), shape, False)
    return sparse_tensor(made)


@sparse_op("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Sparse tensors side by side."""
    dense = [i for i, x in enumerate(tensors) if not isinstance(x, SparseTensor)]
    if dense:
        raise RuntimeError(
            f"Concatenating sparse tensors, but a dense tensor was found at position {dense[0]}."
        )
    arrays = [coo_array(x) for x in tensors]
    rank, sparse = len(arrays[0].shape), arrays[0].indices._s[0]
    dim = wrap_dim(dim, rank)
    for i, a in enumerate(arrays):
        own = [n for d, n in enumerate(a.shape) if d != dim]
        if a.indices._s[0] != sparse or own != [
            n for d, n in enumerate(arrays[0].shape) if d != dim
        ]:
            raise RuntimeError(
                "All tensors must have the same shape: "
                f"{list(arrays[0].shape)} (except in the concatenating dimension), but found "
                f"shape: {list(a.shape)} at position {i}."
            )
    shape = list(arrays[0].shape)
    shape[dim] = sum(a.shape[dim] for a in arrays)
    if dim >= sparse:
        return _beside_dense(arrays, dim - sparse + 1, shape)
    moved, offset = [], 0
    for a in arrays:
        moved.append(
            tensorbus.cat(
                [a.indices[:dim], a.indices[dim : dim + 1] + offset, a.indices[dim + 1 :]]
            )
        )
        offset += a.shape[dim]
    ordered = dim == 0 and all(a.coalesced for a in arrays)
    values = tensorbus.cat([a.values for a in arrays])
    return sparse_tensor(Coo(tensorbus.cat(moved, 1), values, shape, ordered))


def _beside_dense(arrays: list[Coo], dim: int, shape: list[int]) -> Any:
    """Along a dense dimension: each with zeros where the others stand."""
    wide, offset = [], 0
    for a in arrays:
        before, after = list(a.values._s), list(a.values._s)
        before[dim], after[dim] = offset, shape[dim + arrays[0].indices._s[0] - 1] - offset
        after[dim] -= a.values._s[dim]
        offset += a.values._s[dim]
        wide.append(
            tensorbus.cat([a.values.new_zeros(before), a.values, a.values.new_zeros(after)], dim)
        )
    indices = tensorbus.cat([a.indices for a in arrays], 1)
    return sparse_tensor(Coo(indices, tensorbus.cat(wide), shape))


@sparse_op("stack")
def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Sparse tensors of one shape in a new dimension."""
    return cat([unsqueeze(x, dim) for x in tensors], dim)


@sparse_op("unbind")
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The parts along a dimension, each without it."""
    dim = wrap_dim(dim, len(input._s))
    return tuple(input.select(dim, at) for at in range(input._s[dim]))
