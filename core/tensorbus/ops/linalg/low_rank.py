"""Singular values of matrices of low rank, by random projections (Halko and others, 2009)."""

from __future__ import annotations

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg.checks import check_factored_inside, check_floating
from tensorbus.ops.linalg.singular_values import linalg_svd
from tensorbus.ops.random.random import randn


def _check(name: str, A: Tensor) -> None:
    if len(A._s) < 2:
        raise ValueError(f"{name}: A must have at least 2 dimensions, but has {len(A._s)}")
    check_floating(name, A)
    check_factored_inside("geqrf_cpu", A)


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns near those of the greatest singular values: (..., m, q)."""
    drawn = randn(A._s[-1], q, dtype=A._k.dtype, device=A._k.device)
    orthonormal = core("linalg_qr")
    basis: Tensor = orthonormal(A @ drawn, False)[0]
    for _ in range(niter):
        other = orthonormal(A.mH @ basis, False)[0]
        basis = orthonormal(A @ other, False)[0]
    return basis


def _decomposed(A: Tensor, q: int, niter: int) -> tuple[Tensor, Tensor, Tensor]:
    if A._s[-2] < A._s[-1]:
        v, s, u = _decomposed(A.mH, q, niter)
        return u, s, v
    basis = _basis(A, q, niter)
    u, s, vh = linalg_svd(basis.mH @ A, full_matrices=False)
    return basis @ u, s, vh.mH


@public(method=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with about ``A = U @ diag(S) @ V.mH``: the *q* greatest singular values.

    (..., m, n) -> (..., m, q), (..., q) and (..., n, q). *A* is projected on *q* random vectors,
    and on what *niter* products with it and its adjoint make of them; so the result is that of a
    matrix of rank *q*, and hangs on the random generator. *M*, which expands to A's shape, is
    subtracted from it first. ValueError for less than two dimensions; RuntimeError for integers.
    """
    check_tensors("svd_lowrank", A=A)
    _check("svd_lowrank", A)
    if M is not None:
        A = A - M.expand(A._s)
    return _decomposed(A, 6 if q is None else q, 2 if niter is None else niter)


@public(method=False)
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of *A*: ``svd_lowrank`` of *A* less their mean.

    (..., m, n) -> (..., m, q), (..., q) and (..., n, q), where V has the *q* principal directions
    in its columns; *q* is at most 6 where none is given. Without *center* the mean is left in.
    ValueError for a *q* that is negative or greater than min(m, n), and for a negative *niter*.
    """
    check_tensors("pca_lowrank", A=A)
    _check("pca_lowrank", A)
    least = min(A._s[-2:])
    count = min(6, least) if q is None else q
    if not 0 <= count <= least:
        raise ValueError(
            f"q(={count}) must be non-negative integer and not greater than min(m, n)={least}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(-2, keepdim=True)
    return _decomposed(A, count, niter)
