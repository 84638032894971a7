"""Sums, norms and softmax of sparse tensors: elements are grouped by the dimensions that stay."""

from __future__ import annotations

import math
from typing import Any

import tensorbus
from tensorbus._base import dtypes
from tensorbus._base.dtypes import as_dtype
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.sparse import coordinates
from tensorbus.sparse.attributes import need_coo
from tensorbus.sparse.conversion import coalesced_array, coo_array
from tensorbus.sparse.tensor import Coo, sparse_op, sparse_tensor


@sparse_op("sum")
def sum_(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Any:
    """The sum of all elements, or along dimensions: sparse while a sparse one is left."""
    a = coo_array(input)
    values = a.values if dtype is None else a.values.to(as_dtype(dtype))
    if dim is None:
        return values.sum()
    rank, sparse = len(a.shape), a.indices._s[0]
    given = [dim] if isinstance(dim, int) else list(dim)
    gone = sorted({wrap_dim(d, rank) for d in given}) or list(range(rank))
    inner = [d - sparse + 1 for d in gone if d >= sparse]
    if inner:
        values = values.sum(inner, keepdim)
    elif values.dtype is not dtypes.int64 and values.dtype.category < dtypes.FLOAT:
        values = values.to(dtypes.int64)
    kept = [d for d in range(sparse) if d not in gone]
    if not kept and not keepdim:
        return values.sum(0)
    rows = [
        a.indices[d] if d in kept else tensorbus.zeros_like(a.indices[d])
        for d in range(sparse)
        if d in kept or keepdim
    ]
    shape = [1 if d in gone else n for d, n in enumerate(a.shape) if d not in gone or keepdim]
    made = Coo(tensorbus.stack(rows), values, shape, a.coalesced and len(kept) == sparse)
    return sparse_tensor(coordinates.coalesced(made))


@sparse_op("any")
def any_(input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Whether an element is not zero."""
    return coalesced_array(input).values.any(*args, **kwargs)


@sparse_op("norm")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, **more: Any) -> Tensor:
    """The norm of all elements."""
    rank = len(input._s)
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if keepdim or (dims and {wrap_dim(d, rank) for d in dims} != set(range(rank))):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
            "contain all dimensions of the input"
        )
    return coalesced_array(input).values.reshape(-1).norm(2 if p in ("fro", None) else p)


def _softmax(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    a = coordinates.coalesced(need_coo(input, "softmax"))
    rank, sparse = len(a.shape), a.indices._s[0]
    dim = wrap_dim(dim, rank)
    values = a.values if dtype is None else a.values.to(as_dtype(dtype))
    if dim >= sparse:
        f = tensorbus.log_softmax if log else tensorbus.softmax
        return sparse_tensor(a.with_values(f(values, dim - sparse + 1)))
    sizes = coordinates.sparse_sizes(a)
    rest = [d for d in range(sparse) if d != dim]
    if rest:
        others = a.indices.index_select(0, tensorbus.tensor(rest, device=input.device))
        left = tuple(sizes[d] for d in rest)
        flat = coordinates.flat_indices(others, left)
        groups, count = coordinates.groups_of(flat, math.prod(left))
    else:
        groups, count = tensorbus.zeros_like(a.indices[0]), 1
    return sparse_tensor(a.with_values(softmax_of_groups(values, groups, count, log)))


def softmax_of_groups(values: Tensor, groups: Tensor, count: int, log: bool) -> Tensor:
    """The softmax of the values of each group among themselves."""
    if not values._s[0]:
        return values
    dense = tuple(values._s)[1:]
    each = groups.reshape(-1, *(1,) * len(dense)).expand(values._s[0], *dense)
    least = tensorbus.full((count, *dense), -math.inf, dtype=values.dtype, device=values.device)
    most = least.scatter_reduce(0, each, values.detach(), "amax").index_select(0, groups)
    shifted = values - tensorbus.where(most == -math.inf, tensorbus.zeros_like(most), most)
    powers = shifted.exp()
    sums = coordinates.added_up(powers, groups, count).index_select(0, groups)
    return shifted - sums.log() if log else powers / sums


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The softmax along a dimension, of the elements that are there.

    Those that are not count as minus infinity. RuntimeError for tensors of another layout than
    coordinates.

    >>> import tensorbus as torch
    >>> x = torch.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 1.0, 5.0], (2, 3))
    >>> torch.sparse.softmax(x, dim=1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000],
            [0.0000, 1.0000, 0.0000]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.softmax.html
    """
    return _softmax(input, dim, dtype, False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of ``softmax``, of the elements that are there.

    >>> import tensorbus as torch
    >>> x = torch.sparse_coo_tensor([[0], [1]], [3.0], (1, 2))
    >>> torch.sparse.log_softmax(x, dim=1).values()
    tensor([0.])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.log_softmax.html
    """
    return _softmax(input, dim, dtype, True)
