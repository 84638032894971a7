"""The functions of ``torch.sparse`` that methods of sparse tensors stand behind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus._base import dtypes, formats
from tensorbus._tensor.tensor import Tensor
from tensorbus.sparse import products, reductions
from tensorbus.sparse.attributes import need_coo
from tensorbus.sparse.conversion import coo_array
from tensorbus.sparse.tensor import SparseTensor, make_coo, sparse_tensor


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """The product of two matrices, of which at least one is sparse: sparse where both are.

    Both get gradients; that of a sparse matrix is sparse in the same places. With *reduce*, for a
    sparse and a dense matrix, the terms of each element of the product are not summed but their
    ``mean``, ``prod``, ``amax`` or ``amin`` is taken.

    >>> import tensorbus as torch
    >>> x = torch.sparse_coo_tensor([[0], [1]], [3.0], (2, 2))
    >>> torch.sparse.mm(x, torch.tensor([[1.0], [2.0]]))
    tensor([[6.],
            [0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.mm.html
    """
    if reduce in (None, "sum"):
        return tensorbus.mm(mat1, mat2)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if not isinstance(mat1, SparseTensor) or isinstance(mat2, SparseTensor):
        raise RuntimeError(f"mm(): reduce={reduce!r} takes a sparse and a dense matrix")
    products.check_matrices("mm", mat1, mat2)
    return products.reduced(mat1, mat2, reduce)


def sampled_addmm(
    input: Any,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Any = None,
) -> Any:
    """beta * input + alpha * (mat1 @ mat2) in the places of a sparse matrix alone.

    *input* is by compressed rows, and so is the result; what of the product is in other places is
    not computed. RuntimeError for other layouts and for shapes that do not fit.

    >>> import tensorbus as torch
    >>> x = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(x, torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.sampled_addmm.html
    """
    if not isinstance(input, SparseTensor) or input.layout is not formats.sparse_csr:
        raise RuntimeError(
            f"sampled_addmm: Expected self to have sparse csr layout, but got {input.layout}"
        )
    if len(mat1._s) != 2 or len(mat2._s) != 2 or mat1._s[1] != mat2._s[0]:
        shown = ("x".join(map(str, m._s)) for m in (mat1, mat2))
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({' and '.join(shown)})"
        )
    for at, matrix in ((-2, mat1), (-1, mat2)):
        if input._s[at] != matrix._s[at]:
            name = "mat1" if matrix is mat1 else "mat2"
            raise RuntimeError(f"sampled_addmm: self.shape[{at}] must match {name}.shape[{at}]")
    rows, columns = coo_array(input).indices.unbind(0)
    picked = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    made = sparse_tensor(input._a.with_values(input._a.values * beta + picked * alpha))
    return made if out is None else out.copy_(made)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix whose diagonals are the rows of *diagonals*.

    That with offset k stands k columns right of the main one (left where k is negative); what of a
    row is outside of *shape* is dropped, and an element stands in the column of its own number.
    *layout* is ``sparse_coo`` (where it is not given), ``sparse_csr`` or ``sparse_csc``.

    >>> import tensorbus as torch
    >>> d = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> torch.sparse.spdiags(d, torch.tensor([0, -1]), (3, 3)).to_dense()
    tensor([[1., 0., 0.],
            [4., 2., 0.],
            [0., 5., 3.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.spdiags.html
    """
    lines = diagonals.reshape(1, -1) if len(diagonals._s) == 1 else diagonals
    at = offsets.reshape(1) if len(offsets._s) == 0 else offsets
    if len(lines._s) != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if len(at._s) != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if lines._s[0] != at._s[0]:
        raise RuntimeError(
            f"Number of diagonals ({lines._s[0]}) does not match the number of offsets ({at._s[0]})"
        )
    if at.dtype is not dtypes.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {at.dtype}")
    if len(set(at.tolist())) != at._s[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    known = formats.sparse_coo, formats.sparse_csr, formats.sparse_csc
    if layout not in (None, *known):
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}"
        )
    count, length = lines._s
    columns = tensorbus.arange(length, device=lines.device).expand(count, length)
    rows = columns - at.to(lines.device)[:, None]
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    indices = tensorbus.stack([rows[inside], columns[inside]])
    made = make_coo(indices, lines[inside], tuple(shape))
    return made if layout is None else made.to_sparse(layout=layout)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """beta * mat + alpha * (mat1 @ mat2), where *mat1* is sparse.

    >>> import tensorbus as torch
    >>> x = torch.sparse_coo_tensor([[0], [1]], [3.0], (2, 2))
    >>> torch.sparse.addmm(torch.ones(2, 1), x, torch.tensor([[1.0], [2.0]]), beta=2)
    tensor([[8.],
            [2.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.addmm.html
    """
    return products.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Any, dim: int | tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """The sum of all elements, or along dimensions: sparse while a sparse dimension is left.

    >>> import tensorbus as torch
    >>> x = torch.sparse_coo_tensor([[0, 1], [1, 1]], [3.0, 4.0], (2, 2))
    >>> torch.sparse.sum(x, dim=0).to_dense()
    tensor([0., 7.])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.sum.html
    """
    need_coo(input, "coalesce")
    return reductions.sum_(input, dim, dtype=dtype)


def spsolve(input: Any, other: Tensor, *, left: bool = True) -> Tensor:
    """The solution of a linear system whose matrix is by compressed rows.

    The matrix is made dense: a sparse solver needs a library, which not every device has.

    >>> import tensorbus as torch
    >>> x = torch.sparse_csr_tensor([0, 1, 2], [0, 1], [2.0, 4.0])
    >>> torch.sparse.spsolve(x, torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])

    Source: https://pytorch.org/docs/stable/sparse.html
    """
    if not left:
        raise RuntimeError("spsolve: left=False is not supported: solve the transposed system")
    if not isinstance(input, SparseTensor):
        raise RuntimeError("spsolve: the matrix must be sparse, by compressed rows")
    return tensorbus.linalg.solve(input.to_dense(), other)


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """``gradcheck`` or ``gradgradcheck`` as a function that takes sparse inputs too.

    They are compared with finite differences in their values alone, as ``masked`` gradients are.

    >>> import tensorbus as torch
    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.sparse_coo_tensor([[0], [1]], [3.0], (2, 2), dtype=torch.float64)
    >>> check(lambda s: s.to_dense(), x.requires_grad_(True))
    True

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.as_sparse_gradcheck.html
    """

    @functools.wraps(gradcheck)
    def check(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        given = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        kwargs.pop("masked", None)
        dense = tuple(
            x._a.values.detach().requires_grad_(x.requires_grad)
            if isinstance(x, SparseTensor)
            else x
            for x in given
        )

        def of_values(*parts: Any) -> Any:
            whole = [
                sparse_tensor(x._a.with_values(part)) if isinstance(x, SparseTensor) else part
                for x, part in zip(given, parts, strict=True)
            ]
            made = func(*whole)
            several = isinstance(made, (list, tuple))
            results = [_dense(r) for r in (made if several else (made,))]
            return tuple(results) if several else results[0]

        return gradcheck(of_values, dense, **kwargs)

    return check


def _dense(result: Any) -> Any:
    return result.to_dense() if isinstance(result, SparseTensor) else result
