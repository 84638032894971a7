# Made by scripts/stubs from the functions and methods in core/tensorbus: not edited.

from collections.abc import Sequence
from typing import Any
from tensorbus._base import dtypes
from tensorbus._base.errors import LinAlgError as LinAlgError
from tensorbus._tensor.tensor import Tensor

def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with ``L @ L.mH`` = *input*, for Hermitian positive definite matrices."""
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """``linalg.cholesky`` and an int32 *info* for each matrix, without waiting for the device."""
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The vector product along a dimension of size 3; the operands broadcast."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors count as rows or columns, leading dimensions broadcast."""
def matrix_norm(input: Tensor, ord: Any = 'fro', dim: Sequence[int] = ..., keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of the matrices in two dimensions: ``'fro'``, 1, -1, inf or -inf."""
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied with itself *n* times, n >= 0."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that costs least; the ends may be vectors."""
def norm(input: Tensor, ord: Any = None, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """A vector's norm; a matrix's where *ord* is given and two dimensions are meant."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of ``A @ X = B`` for triangular *A*; without *left* that of ``X @ A = B``."""
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers 0, 1, ..."""
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The inner products along a dimension; the operands broadcast."""
def vector_norm(x: Tensor, ord: complex = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of the vectors along some dimensions, or of all elements."""

__all__ = ['LinAlgError', 'cholesky', 'cholesky_ex', 'cross', 'matmul', 'matrix_norm', 'matrix_power', 'multi_dot', 'norm', 'solve_triangular', 'vander', 'vecdot', 'vector_norm']
