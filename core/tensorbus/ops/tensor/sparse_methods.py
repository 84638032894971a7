"""What dense tensors have of the methods for sparse ones: conversions, and errors.

Sparse tensors have their own (``sparse/``), which loads when the first of these is called.
"""

from __future__ import annotations

from typing import Any

from tensorbus._base import registered
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public


@public(function=False)
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The elements that are not zero as a sparse tensor, by coordinates or in another layout.

    >>> import tensorbus
    >>> tensorbus.tensor([[0.0, 3.0], [0.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([3.]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)

    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.to_sparse.html
    """
    return registered.sparse_of_dense(
        "to_sparse", self, sparse_dim=sparse_dim, layout=layout, blocksize=blocksize,
        dense_dim=dense_dim,
    )  # fmt: skip


@public(function=False)
def to_sparse_coo(self: Tensor) -> Tensor:
    """The elements that are not zero as a sparse tensor by coordinates.

    >>> import tensorbus
    >>> tensorbus.eye(2).to_sparse_coo().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return registered.sparse_of_dense("to_sparse", self)


@public(function=False)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The elements that are not zero as a sparse tensor by compressed rows.

    >>> import tensorbus
    >>> tensorbus.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return registered.sparse_of_dense("to_sparse_csr", self, dense_dim=dense_dim)


@public(function=False)
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The elements that are not zero as a sparse tensor by compressed columns.

    >>> import tensorbus
    >>> tensorbus.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return registered.sparse_of_dense("to_sparse_csc", self, dense_dim=dense_dim)


def _pair(blocksize: Any) -> Any:
    """The size of a block; one int is both its rows and its columns."""
    return (blocksize, blocksize) if type(blocksize) is int else blocksize


@public(function=False)
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The blocks that are not zero as a sparse tensor by compressed rows of blocks.

    >>> import tensorbus
    >>> tensorbus.eye(4).to_sparse_bsr((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return registered.sparse_of_dense(
        "to_sparse_bsr", self, blocksize=_pair(blocksize), dense_dim=dense_dim
    )


@public(function=False)
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The blocks that are not zero as a sparse tensor by compressed columns of blocks.

    >>> import tensorbus
    >>> tensorbus.eye(4).to_sparse_bsc((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return registered.sparse_of_dense(
        "to_sparse_bsc", self, blocksize=_pair(blocksize), dense_dim=dense_dim
    )


@public(function=False)
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the coordinates of a sparse tensor, as a sparse tensor of that layout.

    >>> import tensorbus
    >>> x = tensorbus.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.sparse_mask(tensorbus.eye(2).to_sparse()).values()
    tensor([1., 4.])

    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.sparse_mask.html
    """
    return registered.sparse_of_dense("sparse_mask", self, mask=mask)


_WANTED = {
    "indices": "sparse coordinate tensor",
    "values": "sparse tensor",
    "coalesce": "sparse coordinate tensor",
    "is_coalesced": "sparse coordinate tensor",
    "crow_indices": "sparse row compressed tensor",
    "col_indices": "sparse row compressed tensor",
    "ccol_indices": "sparse column compressed tensor",
    "row_indices": "sparse column compressed tensor",
}
_EYE = "torch.eye(2).to_sparse()"
_CSR, _CSC = "torch.eye(2).to_sparse_csr()", "torch.eye(2).to_sparse_csc()"
_DOCS = {
    "indices": ("The coordinates of a coalesced sparse tensor", f"{_EYE}.indices().shape"),
    "values": ("The values of a sparse tensor", f"{_EYE}.values().shape"),
    "coalesce": (
        "A sparse tensor with each coordinate once and in order",
        "torch.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (2,)).coalesce().values().shape",
    ),
    "is_coalesced": (
        "Whether a sparse tensor has each coordinate once and in order",
        f"{_EYE}.is_coalesced()",
    ),
    "crow_indices": (
        "Where the rows of a sparse tensor by compressed rows begin",
        f"{_CSR}.crow_indices().shape",
    ),
    "col_indices": (
        "The columns of the elements of a sparse tensor by compressed rows",
        f"{_CSR}.col_indices().shape",
    ),
    "ccol_indices": (
        "Where the columns of a sparse tensor by compressed columns begin",
        f"{_CSC}.ccol_indices().shape",
    ),
    "row_indices": (
        "The rows of the elements of a sparse tensor by compressed columns",
        f"{_CSC}.row_indices().shape",
    ),
    "_indices": ("The coordinates of a sparse tensor", f"{_EYE}._indices().shape"),
    "_values": ("The values of a sparse tensor without history", f"{_EYE}._values().shape"),
    "_nnz": ("The number of elements of a sparse tensor", f"{_EYE}._nnz()"),
    "_coalesced_": (
        "Say whether each coordinate of a sparse tensor is there once and in order",
        f"{_EYE}._coalesced_(False).is_coalesced()",
    ),
    "sparse_resize_": (
        "Give a sparse tensor another size",
        f"{_EYE}.sparse_resize_((3, 4), 2, 0).shape",
    ),
    "sparse_resize_and_clear_": (
        "Give a sparse tensor another size and no elements",
        f"{_EYE}.sparse_resize_and_clear_((3, 4), 2, 0)._nnz()",
    ),
    "smm": (
        "The product of a sparse and a dense matrix as a sparse one",
        f"{_EYE}.smm(torch.ones(2, 2)).is_sparse",
    ),
    "sspaddmm": (
        "A sparse matrix plus the product of a sparse and a dense one",
        f"{_EYE}.sspaddmm({_EYE}, torch.ones(2, 2)).is_sparse",
    ),
}
"""What each method gives, and a call of it."""
_SHOWN = {
    "is_coalesced": True, "_nnz": 2, "_coalesced_": False, "sparse_resize_": "torch.Size([3, 4])",
    "sparse_resize_and_clear_": 0, "smm": True, "sspaddmm": True, "coalesce": "torch.Size([1])",
    "crow_indices": "torch.Size([3])", "ccol_indices": "torch.Size([3])",
    "indices": "torch.Size([2, 2])", "_indices": "torch.Size([2, 2])",
}  # fmt: skip
"""What the calls show, where that is not ``torch.Size([2])``."""


def _only_sparse(name: str) -> None:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if name in _WANTED:
            raise RuntimeError(f"{name} expected {_WANTED[name]} layout but got Strided")
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the "
            f"'{self._k.device.type.upper()}' backend: it is for sparse tensors, as .to_sparse() "
            "makes"
        )

    method.__name__ = method.__qualname__ = name
    sentence, call = _DOCS[name]
    method.__doc__ = (
        f"{sentence}; an error for a dense one.\n\n    >>> import tensorbus as torch\n"
        f"    >>> {call}\n    {_SHOWN.get(name, 'torch.Size([2])')}\n"
    )
    METHODS[name] = method


for _name in _DOCS:
    _only_sparse(_name)
