"""The functions of ``torch.sparse`` that methods of sparse tensors stand behind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.sparse import products, reductions
from tensorbus.sparse.attributes import need_coo
from tensorbus.sparse.tensor import SparseTensor, sparse_tensor


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """The product of two matrices, of which at least one is sparse: sparse where both are.

    Both get gradients; that of a sparse matrix is sparse in the same places.

    >>> import tensorbus as torch
    >>> x = torch.sparse_coo_tensor([[0], [1]], [3.0], (2, 2))
    >>> torch.sparse.mm(x, torch.tensor([[1.0], [2.0]]))
    tensor([[6.],
            [0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.mm.html
    """
    if reduce is not None and reduce != "sum":
        raise NotImplementedError(
            f"torch.sparse.mm(): reduce={reduce!r} is not there; scatter_reduce of the gathered "
            "rows does it"
        )
    return tensorbus.mm(mat1, mat2)


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
