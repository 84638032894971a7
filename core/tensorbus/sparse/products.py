"""Products of sparse matrices: rows are gathered, multiplied and added up."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.function import Function
from tensorbus.autograd.node import name_node
from tensorbus.sparse import coordinates
from tensorbus.sparse.conversion import coalesced_array, coo_array
from tensorbus.sparse.tensor import Coo, SparseTensor, make_coo, sparse_op, sparse_tensor


class SparseProduct(Function):
    """A sparse matrix, by coordinates, times a dense one.

    The gradients gather the rows again: nothing of the size elements x columns is kept.
    """

    @staticmethod
    def forward(ctx: Any, rows: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
        ctx.save_for_backward(rows, columns, values, dense)
        parts = dense.index_select(0, columns) * values[:, None]
        return coordinates.added_up(parts, rows, count)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        rows, columns, values, dense = ctx.saved_tensors
        (g,) = grads
        to_values = to_dense = None
        if ctx.needs_input_grad[2]:
            both = g.index_select(0, rows) * dense.index_select(0, columns).conj()
            to_values = both.sum(1)
        if ctx.needs_input_grad[3]:
            turned = values.conj() if values.is_complex() else values
            to_dense = SparseProduct.apply(columns, rows, turned, g, dense._s[0])
        return None, None, to_values, to_dense, None


def _by_dense(a: Coo, dense: Tensor) -> Tensor:
    if a.indices._s[0] != 2 or len(a.values._s) != 1:
        raise RuntimeError(
            "addmm: matrices expected, got a sparse tensor with "
            f"{a.indices._s[0]} sparse and {len(a.values._s) - 1} dense dimensions"
        )
    if a.values.dtype is not dense.dtype:
        raise RuntimeError(
            "addmm: expected the same dtype of both matrices, but got "
            f"{a.values.dtype} and {dense.dtype}"
        )
    made: Any = SparseProduct.apply(*a.indices.unbind(0), a.values, dense, a.shape[0])
    name_node(made, "MmBackward0")
    return made


def _turned(a: Coo) -> Coo:
    rows, columns = tuple(a.shape)
    return Coo(a.indices.flip(0), a.values, (columns, rows))


def check_matrices(name: str, a: Any, b: Any) -> None:
    for which, x in (("self", a), ("mat2", b)):
        if len(x._s) != 2:
            raise RuntimeError(f"{name}: {which} must be a matrix, but has {len(x._s)} dimensions")
    if a._s[1] != b._s[0]:
        if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
            raise RuntimeError(
                f"addmm: Argument #3 (dense): Expected dim 0 size {a._s[1]}, got {b._s[0]}"
            )
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a._s[0]}x{a._s[1]} and "
            f"{b._s[0]}x{b._s[1]})"
        )


@sparse_op("mm")
def mm(input: Any, mat2: Any, reduce: Any = None, *, out: Any = None) -> Any:
    """The product of two matrices, of which one is sparse: sparse where both are."""
    check_matrices("mm", input, mat2)
    if not isinstance(input, SparseTensor):
        return _by_dense(_turned(coo_array(mat2)), input.t()).t()
    if not isinstance(mat2, SparseTensor):
        return _by_dense(coo_array(input), mat2)
    made = sparse_tensor(_of_sparse(coalesced_array(input), coalesced_array(mat2)))
    return made if type(input._a) is Coo else made.to_sparse_csr()


def _of_sparse(a: Coo, b: Coo) -> Coo:
    """For each element of *a* the row of *b* that it multiplies; equal places are added up."""
    starts = coordinates.starts_of(b.indices[0], b.shape[0])
    rows, columns = a.indices.unbind(0)
    counts = (starts[1:] - starts[:-1])[columns]
    element = tensorbus.repeat_interleave(tensorbus.arange(rows._s[0], device=rows.device), counts)
    first = counts.cumsum(0) - counts
    inside = tensorbus.arange(element._s[0], device=rows.device) - first[element]
    other = starts[columns][element] + inside
    indices = tensorbus.stack([rows[element], b.indices[1][other]])
    values = a.values.index_select(0, element) * b.values.index_select(0, other)
    return coordinates.coalesced(Coo(indices, values, (a.shape[0], b.shape[1])))


@sparse_op("matmul", "__matmul__", "__rmatmul__")
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """The product of matrices, or of a matrix and a vector."""
    if len(input._s) == 2 and len(other._s) == 1:
        return mv(input, other)
    if len(input._s) == 1 and len(other._s) == 2:
        return mm(input.unsqueeze(0), other).squeeze(0)
    if len(input._s) == 3 and len(other._s) == 3:
        return bmm(input, other)
    return mm(input, other)


@sparse_op("mv")
def mv(input: Any, vec: Any, *, out: Any = None) -> Tensor:
    """The product of a sparse matrix and a vector."""
    if len(vec._s) != 1 or len(input._s) != 2 or input._s[1] != vec._s[0]:
        raise RuntimeError(
            f"mv: expected a matrix and a vector that fit, got {list(input._s)} and {list(vec._s)}"
        )
    return mm(input, vec[:, None])[:, 0]


@sparse_op("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias, where one of the first two is sparse."""
    product = mm(input, weight.t())
    return product if bias is None else product + bias


@sparse_op("bmm")
def bmm(input: Any, mat2: Any, *, out: Any = None) -> Tensor:
    """The products of a batch of sparse matrices and one of dense ones."""
    if isinstance(mat2, SparseTensor):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    a, (batch, n, m) = coo_array(input), tuple(input.shape)
    if len(mat2._s) != 3 or mat2._s[0] != batch or mat2._s[1] != m:
        raise RuntimeError(
            f"bmm: expected matrices that fit, got {list(input._s)} and {list(mat2._s)}"
        )
    b, row, column = a.indices.unbind(0)
    wide = Coo(tensorbus.stack([b * n + row, b * m + column]), a.values, (batch * n, batch * m))
    return _by_dense(wide, mat2.reshape(batch * m, -1)).reshape(batch, n, -1)


@sparse_op("addmm")
def addmm(
    input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """beta * input + alpha * (mat1 @ mat2)."""
    product = mm(mat1, mat2) * alpha
    if isinstance(input, SparseTensor) and not isinstance(product, SparseTensor):
        return product + input * beta
    return input * beta + product


@sparse_op("addmm_")
def addmm_(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``addmm`` in place."""
    return self.copy_(addmm(self, mat1, mat2, beta=beta, alpha=alpha))


def _every_place(product: Tensor, rows: Tensor | None = None) -> Any:
    """A dense matrix, or those of its rows that are named, as coordinates of all elements."""
    n, m = tuple(product.shape)
    device = product.device
    if rows is None:
        rows = tensorbus.arange(n, device=device)
    each = tensorbus.arange(m, device=device)
    at = tensorbus.stack([rows.repeat_interleave(m), each.repeat(rows._s[0])])
    return make_coo(at, product.index_select(0, rows).reshape(-1), (n, m), True)


@sparse_op("smm")
def smm(input: Any, mat: Any) -> Any:
    """The product of a sparse and a dense matrix, as a sparse one.

    >>> import tensorbus as torch
    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])

    Source: https://pytorch.org/docs/stable/generated/torch.smm.html
    """
    used = tensorbus.unique(coo_array(input).indices[0])
    return _every_place(mm(input, mat), used)


@sparse_op("hspmm")
def hspmm(mat1: Any, mat2: Any, *, out: Any = None) -> Any:
    """The product of a sparse and a dense matrix, with sparse rows and dense columns.

    >>> import tensorbus as torch
    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).values()
    tensor([[1.],
            [1.]])

    Source: https://pytorch.org/docs/stable/generated/torch.hspmm.html
    """
    used = tensorbus.unique(coo_array(mat1).indices[0])
    product = mm(mat1, mat2)
    return make_coo(used[None], product.index_select(0, used), tuple(product.shape), True)


@sparse_op("sspaddmm")
def sspaddmm(
    input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """beta * input + alpha * (mat1 @ mat2), of which *mat2* alone is dense, as a sparse one.

    >>> import tensorbus as torch
    >>> x = torch.eye(2).to_sparse()
    >>> torch.sspaddmm(x, x, torch.ones(2, 2), beta=2).to_dense()
    tensor([[3., 1.],
            [1., 3.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sspaddmm.html
    """
    product = smm(mat1, mat2)
    first, second = coo_array(input), product._a
    values = tensorbus.cat([first.values * beta, second.values * alpha])
    return make_coo(tensorbus.cat([first.indices, second.indices], 1), values, first.shape)


def reduced(mat1: Any, mat2: Tensor, reduce: str) -> Tensor:
    """A product whose terms are reduced in another way than summed; of no terms it is 0."""
    a = coalesced_array(mat1)
    rows, columns = a.indices.unbind(0)
    terms = mat2.index_select(0, columns) * a.values[:, None]
    zeros = tensorbus.zeros(a.shape[0], mat2._s[1], dtype=terms.dtype, device=terms.device)
    each = rows[:, None].expand(*terms.shape)
    return zeros.scatter_reduce(0, each, terms, reduce, include_self=False)


spmm = dsmm = tensorbus.mm
hsmm, saddmm = hspmm, sspaddmm
