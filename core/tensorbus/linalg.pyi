# Made by scripts/stubs from the functions and methods in core/tensorbus: not edited.

from collections.abc import Sequence
from typing import Any
from tensorbus import return_types
from tensorbus._base import dtypes
from tensorbus._base.errors import LinAlgError as LinAlgError
from tensorbus._tensor.tensor import Tensor

def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with ``L @ L.mH`` = *input*, for Hermitian positive definite matrices."""
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """``linalg.cholesky`` and an int32 *info* for each matrix, without waiting for the device."""
def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition numbers of matrices: a norm of each times the same norm of its inverse."""
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The vector product along a dimension of size 3; the operands broadcast."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices: (..., n, n) -> (...)."""
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """``diagonal`` of the last two dimensions, where no others are given: a view."""
def eig(input: Tensor, *, out: Any = None) -> return_types.linalg_eig:
    """(eigenvalues, eigenvectors) of square matrices: complex, in no order, and columns."""
def eigh(input: Tensor, UPLO: str = 'L', *, out: Any = None) -> return_types.linalg_eigh:
    """(eigenvalues, eigenvectors) of Hermitian matrices: real and ascending, and columns."""
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of square matrices: (..., n, n) -> (..., n), complex, in no order."""
def eigvalsh(input: Tensor, UPLO: str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The ascending eigenvalues of Hermitian matrices: (..., n, n) -> (..., n), real."""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of Householder's reflections, as ``geqrf`` gives them."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices (..., n, n); LinAlgError for one that has none."""
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """``linalg.inv`` and an int32 *info* for each matrix: 0, or the place of a zero pivot."""
def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> return_types.linalg_ldl_factor:
    """(LD, pivots) with ``input = P L D L^T P^T``: L unit lower triangular, D of blocks of 1 or 2."""
def ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> return_types.linalg_ldl_factor_ex:
    """``linalg.ldl_factor`` and an int32 *info* for each matrix, without waiting for the device."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of ``A @ X = B`` by A's factors, as ``linalg.ldl_factor`` gives them."""
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None, out: Any = None) -> return_types.linalg_lstsq:
    """The solutions X of least squares: those for which the norm of ``input @ X - b`` is least."""
def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """The factors P, L, U with ``A = P @ L @ U``: exchanges, lower and upper triangular."""
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """The LU factorization of matrices with row exchanges: both factors in one, and the pivots."""
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """``linalg.lu_factor`` and an int32 *info* for each matrix, without waiting for the device."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of ``A @ X = B`` by A's factors, as ``linalg.lu_factor`` gives them."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors count as rows or columns, leading dimensions broadcast."""
def matrix_exp(input: Tensor) -> Tensor:
    """e to the power of each square matrix: the sum of ``input ** k / k!``."""
def matrix_norm(input: Tensor, ord: Any = 'fro', dim: Sequence[int] = ..., keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of the matrices in two dimensions."""
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied with itself *n* times; its inverse *-n* times where n < 0."""
def matrix_rank(input: Tensor, tol: Tensor | float | None = None, hermitian: bool = False, *, atol: Tensor | float | None = None, rtol: Tensor | float | None = None, out: Tensor | None = None) -> Tensor:
    """How many singular values are not 0: (..., m, n) -> (...), int64."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that costs least; the ends may be vectors."""
def norm(input: Tensor, ord: Any = None, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """A vector's norm; a matrix's where *ord* is given and two dimensions are meant."""
def pinv(input: Tensor, rcond: Tensor | float | None = None, hermitian: bool = False, *, atol: Tensor | float | None = None, rtol: Tensor | float | None = None, out: Tensor | None = None) -> Tensor:
    """The pseudo-inverses of matrices (Moore-Penrose): (..., m, n) -> (..., n, m)."""
def qr(A: Tensor, mode: str = 'reduced', *, out: Any = None) -> return_types.linalg_qr:
    """(Q, R) with ``A = Q @ R``: Q has orthonormal columns, R is upper triangular."""
def slogdet(A: Tensor, *, out: Any = None) -> tuple[Tensor, Tensor]:
    """The signs and the logarithms of the absolute values of the determinants."""
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """The solution of ``A @ X = B`` for square *A*; without *left* that of ``X @ A = B``."""
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """``linalg.solve`` and an int32 *info* for each matrix of *A*: 0, or a zero pivot's place."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool | None = None, left: bool = True, unitriangular: bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of ``A @ X = B`` for triangular *A*; without *left* that of ``X @ A = B``."""
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> return_types.linalg_svd:
    """(U, S, Vh) with ``A = U @ diag(S) @ Vh``: orthonormal columns and rows, S descending."""
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The descending singular values: (..., m, n) -> (..., min(m, n)), real."""
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ``tensordot(input, x, input.ndim - ind)``: its last dimensions come first."""
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The x with ``tensordot(input, x, x.ndim)`` = *other*; *dims* of *input* go to its end first."""
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers 0, 1, ..."""
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The inner products along a dimension; the operands broadcast."""
def vector_norm(x: Tensor, ord: complex = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of the vectors along some dimensions, or of all elements."""

__all__ = ['LinAlgError', 'cholesky', 'cholesky_ex', 'cond', 'cross', 'det', 'diagonal', 'eig', 'eigh', 'eigvals', 'eigvalsh', 'householder_product', 'inv', 'inv_ex', 'ldl_factor', 'ldl_factor_ex', 'ldl_solve', 'lstsq', 'lu', 'lu_factor', 'lu_factor_ex', 'lu_solve', 'matmul', 'matrix_exp', 'matrix_norm', 'matrix_power', 'matrix_rank', 'multi_dot', 'norm', 'pinv', 'qr', 'slogdet', 'solve', 'solve_ex', 'solve_triangular', 'svd', 'svdvals', 'tensorinv', 'tensorsolve', 'vander', 'vecdot', 'vector_norm']
