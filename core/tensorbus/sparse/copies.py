"""Copies of sparse tensors, and what is written into them as a whole: sizes, other elements."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus.sparse import coordinates
from tensorbus.sparse.attributes import need_coo, nnz
from tensorbus.sparse.tensor import (
    Compressed,
    Coo,
    SparseTensor,
    make_coo,
    of_parts,
    sparse_op,
    sparse_tensor,
)


@sparse_op("clone")
def clone(self: Any, *, memory_format: Any = None) -> Any:
    """A copy, which gradients flow through."""
    return sparse_tensor(of_parts(self._a, [t.clone() for t in self._a.parts()]))


@sparse_op("zeros_like", "empty_like")
def zeros_like(
    input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, **others: Any,
) -> Any:  # fmt: skip
    """A tensor of that shape without elements, in another layout where one is given."""
    dtype, device = dtype or input.dtype, device or input.device
    if layout is not None and layout is not input.layout:
        return tensorbus.zeros(
            tuple(input.shape), dtype=dtype, device=device, requires_grad=requires_grad,
            layout=layout,
        )  # fmt: skip
    made = emptied(input, dtype, device)
    return made.requires_grad_() if requires_grad else made


def emptied(x: Any, dtype: Any, device: Any) -> Any:
    """A tensor of the shape and layout of another, without elements."""
    a = x._a
    values = tensorbus.zeros(0, *tuple(a.values._s)[1:], dtype=dtype, device=device)
    if type(a) is Coo:
        return make_coo(coordinates.empty_indices(a.indices._s[0], device), values, a.shape, True)
    starts = tensorbus.zeros_like(a.compressed, device=device)
    return sparse_tensor(Compressed(a.layout, starts, a.plain[..., :0].to(device), values, a.shape))


@sparse_op("zero_", "sparse_resize_and_clear_")
def zero_(self: Any, size: Any = None, sparse_dim: int = 0, dense_dim: int = 0) -> Any:
    """Drop all elements, in place; for another size where one is given."""
    if size is None:
        self._a = emptied(self, self.dtype, self.device)._a
        return self
    shape = tuple(size)
    values = self._a.values.detach().new_zeros((0, *shape[sparse_dim:]))
    self._a = Coo(coordinates.empty_indices(sparse_dim, self.device), values, shape, True)
    self._s = self._a.shape
    return self


@sparse_op("sparse_resize_")
def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give the tensor another size, in place; elements stay where they are."""
    a, shape = need_coo(self, "sparse_resize_"), tuple(size)
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: "
            f"len(size) = {len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if not nnz(self):
        return zero_(self, size, sparse_dim, dense_dim)
    own, dense = a.indices._s[0], len(a.values._s) - 1
    both = (("sparse", own, sparse_dim), ("dense", dense, dense_dim))
    for what, before, now in both:
        if before != now:
            raise RuntimeError(
                f"changing the number of {what} dimensions (from {before} to {now}) on a non-empty "
                "sparse tensor is not supported."
            )
    for what, part in (("sparse", slice(own)), ("dense", slice(own, None))):
        was, wanted = list(a.shape)[part], list(shape)[part]
        if any(n < m for n, m in zip(wanted, was, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {what} dimensions (from {was} to {wanted}) on a non-empty "
                "sparse tensor is not supported."
            )
    wider = a.values
    for dim, n in enumerate(shape[sparse_dim:], 1):
        more = n - wider._s[dim]
        if more:
            rest = list(wider._s)
            rest[dim] = more
            wider = tensorbus.cat([wider, wider.new_zeros(rest)], dim)
    self._a = Coo(a.indices, wider, shape, a.coalesced)
    self._s = self._a.shape
    return self


@sparse_op("copy_")
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take the elements of another sparse tensor of the same size."""
    if not (isinstance(self, SparseTensor) and isinstance(src, SparseTensor)):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {src.type()}"
        )
    moved: Any = src.to(device=self.device, dtype=self.dtype)
    self._a = moved.to_sparse(layout=self._a.layout)._a
    self._s = self._a.shape
    return self
