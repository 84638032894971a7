"""The standard's extension ``linalg``, and the functions of matrices in its main namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus import Tensor
from tensorbus import linalg as functions
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus.array_api._operands import Axis, both, dims
from tensorbus.array_api.statistics import sum as _sum


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices, or of a matrix and a vector."""
    return tensorbus.matmul(*both(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The matrices with rows and columns exchanged."""
    return x.mT


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """The sums of products over some axes of both arrays."""
    return tensorbus.tensordot(*both(x1, x2), dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The inner products along an axis; x1 is conjugated."""
    x1, x2 = both(x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < min(x1.ndim, x2.ndim):
        raise IndexError(f"vecdot(): axis {axis} is out of bounds for one of the arrays")
    return functions.vecdot(x1, x2, dim=axis)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of positive definite matrices."""
    return functions.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of size 3 along an axis."""
    x1, x2 = both(x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < min(x1.ndim, x2.ndim):
        raise IndexError(f"cross(): axis {axis} is out of bounds for one of the arrays")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross(): vectors have size 3, but got {x1.shape[axis]} and {x2.shape[axis]}"
        )
    return functions.cross(*tensorbus.broadcast_tensors(x1, x2), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants of square matrices."""
    return functions.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices."""
    return tensorbus.diagonal(x, offset, -2, -1)


def eig(x: Tensor, /) -> Any:
    """The eigenvalues and eigenvectors of square matrices, complex."""
    return functions.eig(x)


def eigh(x: Tensor, /) -> Any:
    """The eigenvalues and eigenvectors of Hermitian matrices."""
    return functions.eigh(x)


def eigvals(x: Tensor, /) -> Tensor:
    """The eigenvalues of square matrices, complex."""
    return functions.eigvals(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of Hermitian matrices."""
    return functions.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses of square matrices."""
    return functions.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of matrices."""
    return functions.matrix_norm(x, ord="fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices to the power of n."""
    return functions.matrix_power(x, n)


def _relative(x: Tensor, rtol: Any) -> Any:
    return max(x.shape[-2:]) * tensorbus.finfo(x.dtype).eps if rtol is None else rtol


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are greater than rtol times the greatest."""
    return functions.matrix_rank(x, rtol=_relative(x, rtol))


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of each element of one vector with each of another."""
    return tensorbus.outer(*both(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverses; singular values up to rtol times the greatest count as zero."""
    return functions.pinv(x, rtol=_relative(x, rtol))


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """The factors Q, with orthonormal columns, and R, upper triangular."""
    return functions.qr(x, mode)


def slogdet(x: Tensor, /) -> Any:
    """The signs of the determinants, and the logarithms of their absolute values."""
    return functions.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solutions of systems of equations; x2 has columns unless it is a single vector."""
    x1, x2 = both(x1, x2)
    columns = x2.unsqueeze(-1) if x2.ndim == 1 else x2
    # PyTorch takes arrays of one dimension less for vectors, which a batch is here.
    batch = tensorbus.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
    made = functions.solve(x1, columns.expand(*batch, *columns.shape[-2:]))
    return made.squeeze(-1) if x2.ndim == 1 else made


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """The singular value decomposition U S Vh."""
    return functions.svd(x, full_matrices=full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values, the greatest first."""
    return functions.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Dtype | None = None) -> Tensor:
    """The sums of the diagonals of matrices."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """The norms along some axes."""
    if axis == ():
        return tensorbus.linalg.vector_norm(x.unsqueeze(0), ord, dim=0)
    found = dims(axis, x) if axis is not None else None
    return functions.vector_norm(x, ord, dim=found, keepdim=keepdims)


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
