"""Names that PyTorch has removed: they work as they did, and warn with what to write instead."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg.checks import check_square, deprecated
from tensorbus.ops.linalg.cholesky import linalg_cholesky
from tensorbus.ops.linalg.eigenvalues import eigvalsh, linalg_eigh
from tensorbus.ops.linalg.general_eigenvalues import eigvals, linalg_eig
from tensorbus.ops.linalg.least_squares import lstsq as linalg_lstsq
from tensorbus.ops.linalg.lu_functions import linalg_lu_solve, lu_factor, lu_factor_ex, lu_unpack
from tensorbus.ops.linalg.pseudo_inverse import matrix_rank as linalg_matrix_rank
from tensorbus.ops.linalg.reflections import geqrf, ormqr
from tensorbus.ops.linalg.solving import cholesky_inverse, cholesky_solve, linalg_solve
from tensorbus.ops.linalg.triangular import check_older, equal_batches, older_triangular_solve

_EIGENVALUES = "eigenvalues eigenvectors"
_SYMEIG = result_type_of("symeig", _EIGENVALUES)
_EIG = result_type_of("eig", _EIGENVALUES)
_SOLVE = result_type_of("solve", "solution LU")
_GESV = result_type_of("gesv", "solution LU")
_LSTSQ = result_type_of("lstsq", "solution QR")


# -- eigenvalues -----------------------------------------------------------------------------
@public()
def symeig(input: Tensor, eigenvectors: bool = False, upper: bool = True) -> Any:
    """Deprecated: ``linalg.eigh``, of the upper triangle unless told otherwise.

    Without *eigenvectors* these are an empty tensor.
    """
    check_tensors("symeig", input=input)
    deprecated("symeig", "linalg.eigh(A, UPLO)")
    check_square("symeig", input)
    triangle = "U" if upper else "L"
    if eigenvectors:
        return _SYMEIG(*linalg_eigh(input, triangle))
    return _SYMEIG(eigvalsh(input, triangle), input.new_empty(0))


@public()
def eig(input: Tensor, eigenvectors: bool = False) -> Any:
    """Deprecated: ``linalg.eig`` of one matrix; of real numbers, with real numbers.

    (n, n) -> (n, 2), real and imaginary parts, and (n, n): of two conjugate eigenvectors the first
    column is the real part and the second the imaginary part of the one whose eigenvalue has a
    positive imaginary part. Without *eigenvectors* these are an empty tensor.
    """
    check_tensors("eig", input=input)
    deprecated("eig", "linalg.eig(A)")
    if len(input._s) != 2:
        raise RuntimeError(f"eig: input should be 2 dimensional, but has {len(input._s)}")
    check_square("eig", input)
    if not eigenvectors:
        values = eigvals(input)
        return _EIG(_pairs(input, values), input.new_empty(0))
    values, vectors = linalg_eig(input)
    if not input._k.is_complex:
        vectors = FUNCTIONS["where"](values.imag < 0, -vectors.imag, vectors.real)
    return _EIG(_pairs(input, values), vectors)


def _pairs(input: Tensor, values: Tensor) -> Tensor:
    return values if input._k.is_complex else FUNCTIONS["view_as_real"](values)


# -- equations -------------------------------------------------------------------------------
@public()
def solve(input: Tensor, A: Tensor) -> Any:
    """Deprecated: ``linalg.solve`` with its arguments the other way round, and the LU factors.

    (..., n, k) and (..., n, n) -> (..., n, k) and (..., n, n). LinAlgError for a singular matrix.
    """
    return _SOLVE(*_solved("solve", input, A))


@public()
def gesv(input: Tensor, A: Tensor) -> Any:
    """Deprecated: ``linalg.solve`` with its arguments the other way round, and the LU factors.

    (..., n, k) and (..., n, n) -> (..., n, k) and (..., n, n). LinAlgError for a singular matrix.
    """
    return _GESV(*_solved("gesv", input, A))


def _solved(name: str, input: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    check_tensors(name, input=input, A=A)
    deprecated(name, "linalg.solve(A, B)")
    check_older(name, name, A, input)
    a, b = equal_batches(A, input)
    return linalg_solve(a, b), lu_factor_ex(a).LU


@public()
def lstsq(input: Tensor, A: Tensor) -> Any:
    """Deprecated: ``linalg.lstsq`` with its arguments the other way round, of one matrix.

    (m, k) and (m, n) -> (max(m, n), k) and (m, n): the first n rows are the solution, the sums of
    squares of the others are its residuals; and what ``geqrf`` gives for *A*, where m < n for its
    transpose, transposed.
    """
    check_tensors("lstsq", input=input, A=A)
    deprecated("lstsq", "linalg.lstsq(A, B)")
    for shown, t in (("input", input), ("A", A)):
        if len(t._s) != 2:
            raise RuntimeError(f"lstsq: {shown} should be 2 dimensional, but has {len(t._s)}")
    solution = linalg_lstsq(A, input).solution
    m, n = A._s
    with no_grad():
        if m < n:
            return _LSTSQ(solution, geqrf(A.mT).a.mT)
        factors = geqrf(A)
        rest = ormqr(factors.a, factors.tau, input, transpose=True)[n:]
    return _LSTSQ(FUNCTIONS["cat"]([solution, rest]), factors.a)


@public()
def trtrs(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """Deprecated: ``triangular_solve`` under its older name."""
    check_tensors("trtrs", input=input, A=A)
    return older_triangular_solve("trtrs", input, A, upper, transpose, unitriangular)


# -- factors ---------------------------------------------------------------------------------
@public()
def potrf(input: Tensor, upper: bool = True) -> Tensor:
    """Deprecated: ``linalg.cholesky``, the upper factor unless told otherwise."""
    check_tensors("potrf", input=input)
    deprecated("potrf", "linalg.cholesky(A, upper)")
    return linalg_cholesky(input, upper=upper)


@public()
def potrs(input: Tensor, input2: Tensor, upper: bool = True) -> Tensor:
    """Deprecated: ``cholesky_solve``, of an upper factor unless told otherwise."""
    check_tensors("potrs", input=input, input2=input2)
    deprecated("potrs", "cholesky_solve(B, factor, upper)")
    return cholesky_solve(input, input2, upper)


@public()
def potri(input: Tensor, upper: bool = True) -> Tensor:
    """Deprecated: ``cholesky_inverse``, of an upper factor unless told otherwise."""
    check_tensors("potri", input=input)
    deprecated("potri", "cholesky_inverse(factor, upper)")
    return cholesky_inverse(input, upper)


@public()
def btrifact(input: Tensor, pivot: bool = True) -> Any:
    """Deprecated: ``linalg.lu_factor`` of a batch of matrices, as a tuple."""
    check_tensors("btrifact", input=input)
    deprecated("btrifact", "linalg.lu_factor(A, pivot)")
    return tuple(lu_factor(input, pivot=pivot))


@public()
def btrifact_with_info(input: Tensor, pivot: bool = True) -> Any:
    """Deprecated: ``linalg.lu_factor_ex`` of a batch of matrices, as a tuple."""
    check_tensors("btrifact_with_info", input=input)
    deprecated("btrifact_with_info", "linalg.lu_factor_ex(A, pivot)")
    return tuple(lu_factor_ex(input, pivot=pivot))


@public()
def btrisolve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Deprecated: ``linalg.lu_solve``; a vector for each matrix is solved for, too.

    (batch, n) or (batch, n, k), (batch, n, n) and (batch, n) -> the shape of *input*.
    """
    check_tensors("btrisolve", input=input, LU_data=LU_data, LU_pivots=LU_pivots)
    deprecated("btrisolve", "linalg.lu_solve(LU, pivots, B)")
    if len(input._s) == len(LU_data._s) - 1:
        return linalg_lu_solve(LU_data, LU_pivots, input.unsqueeze(-1)).squeeze(-1)
    return linalg_lu_solve(LU_data, LU_pivots, input)


@public(method=False)
def btriunpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """Deprecated: ``lu_unpack`` under its older name."""
    check_tensors("btriunpack", LU_data=LU_data, LU_pivots=LU_pivots)
    deprecated("btriunpack", "lu_unpack(LU, pivots)")
    return lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)


@public(method=False)
def matrix_rank(input: Tensor, tol: float | None = None, symmetric: bool = False) -> Tensor:
    """Deprecated: ``linalg.matrix_rank`` of one matrix; *symmetric* is *hermitian* there."""
    check_tensors("matrix_rank", input=input)
    deprecated("matrix_rank", "linalg.matrix_rank(A, tol, hermitian)")
    if len(input._s) != 2:
        raise RuntimeError(f"matrix_rank: input should be 2 dimensional, but has {len(input._s)}")
    if tol is None:
        return linalg_matrix_rank(input, hermitian=symmetric)
    return linalg_matrix_rank(input, tol, symmetric)
