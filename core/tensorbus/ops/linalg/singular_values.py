"""The singular value decomposition."""

from __future__ import annotations

from typing import Any

from tensorbus import return_types
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg import jacobi
from tensorbus.ops.linalg.checks import check_factored, check_floating, raise_for
from tensorbus.ops.linalg.matrices import (
    adjoint,
    as_column,
    as_row,
    columns,
    diagonal,
    differences,
    ones_on_diagonal,
    rows,
)
from tensorbus.rows.registry import row

# fmt: off
row("linalg_svd", "a:T, complete",
    doc="Each matrix of *a* as the product of U, the diagonal matrix of its descending singular "
        "values S, and Vh, and 0 where that went well; with *complete* U and Vh are square.",
    results="U:same S:real Vh:same info:int32", domain="float",
    composite=lambda F, a, complete:
        jacobi.svd(F, a, complete) if F.has_values else _shapes(F, a, complete),
    a=lambda F, g, U, S, Vh: _backward(F, g, U, S, Vh))
row("linalg_svdvals", "a:T",
    doc="The descending singular values of each matrix of *a* alone, and 0 where that went well.",
    results="S:real info:int32", domain="float",
    composite=lambda F, a: F.linalg_svd(a, False)[1::2])
# fmt: on


def _shapes(F: Any, a: Any, complete: bool) -> tuple[Any, Any, Any, Any]:
    """The results on a device without values, on which no sweep is the last."""
    *batch, m, n = a.shape
    k = min(m, n)
    u, vh = ((m, m), (n, n)) if complete else ((m, k), (k, n))
    empty = F.empty
    return (
        empty((*batch, *u)),
        F.real.empty((*batch, k)),
        empty((*batch, *vh)),
        F.i32.empty(tuple(batch)),
    )


def _backward(F: Any, g: Any, U: Any, S: Any, Vh: Any) -> Any:
    """U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)] V^H, and what lies beside.

    skew(X) = X - X^H, and E has the differences of the squared singular values.
    """
    of_u, of_s, of_vh, _ = g
    k, m, n = S.shape[-1], U.shape[-2], Vh.shape[-1]
    U, Vh = columns(F, U, 0, k), rows(F, Vh, 0, k)
    of_u = None if of_u is None else columns(F, of_u, 0, k)
    of_vh = None if of_vh is None else rows(F, of_vh, 0, k)
    s = F.cast(S, F.real)
    along = None if of_s is None else F.cast(of_s, F.real)
    if of_u is None and of_vh is None:
        return F.matmul(F.mul(U, as_row(F, along)), Vh)
    squares = F.cast(differences(F.real, F.real.mul(S, S)), F.real)
    left = None if of_u is None else F.matmul(adjoint(F, U), of_u)
    right = None if of_vh is None else F.matmul(Vh, adjoint(F, of_vh))
    inner = None
    if left is not None:
        inner = F.mul(F.div(_skew(F, left), squares), as_row(F, s))
    if right is not None:
        part = F.mul(F.div(_skew(F, right), squares), as_column(F, s))
        inner = part if inner is None else F.add(inner, part)
    one = ones_on_diagonal(F, k)
    if along is not None:
        inner = F.add(inner, F.mul(one, as_column(F, along)))
    if F.dtype.is_complex and left is not None:
        turns = F.div(diagonal(F, _skew(F, left)), F.mul(s, 2.0))
        inner = F.add(inner, F.mul(one, as_column(F, turns)))
    if m > k and of_u is not None:
        over = F.div(of_u, as_row(F, s))
        over = F.sub(over, F.matmul(U, F.matmul(adjoint(F, U), over)))
        return F.matmul(F.add(F.matmul(U, inner), over), Vh)
    if n > k and of_vh is not None:
        over = F.div(of_vh, as_column(F, s))
        over = F.sub(over, F.matmul(F.matmul(over, adjoint(F, Vh)), Vh))
        return F.matmul(U, F.add(F.matmul(inner, Vh), over))
    return F.matmul(F.matmul(U, inner), Vh)


def _skew(F: Any, x: Any) -> Any:
    return F.sub(x, adjoint(F, x))


# -- public ----------------------------------------------------------------------------------
_RESULTS = result_type_of("linalg_svd", "U S Vh")
_OLD_RESULTS = result_type_of("svd", "U S V")


def _decomposed(name: str, x: Tensor, *parameters: bool) -> tuple[Tensor, ...]:
    """The results of a row, without its info."""
    check_floating("linalg.svd", x)
    check_factored("linalg_svd_cpu", x)
    *results, info = core(name)(x, *parameters)
    raise_for(
        info,
        lambda where, _: (
            f"linalg.svd: {where}The algorithm failed to converge because the input matrix "
            "contained non-finite values."
        ),
    )
    return tuple(results)


def _check(x: Tensor, driver: str | None) -> None:
    if len(x._s) < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )


@public(name="linalg_svd", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_svd(
    A: Tensor, full_matrices: bool = True, *, driver: str | None = None
) -> return_types.linalg_svd:
    """(U, S, Vh) with ``A = U @ diag(S) @ Vh``: orthonormal columns and rows, S descending.

    (..., m, n) -> (..., m, m), (..., k) and (..., n, n) with k = min(m, n); without
    *full_matrices* (..., m, k), (..., k) and (..., k, n). LinAlgError for elements that are not
    finite; RuntimeError for integers and for a *driver*. The gradients of U and Vh are finite where
    the singular values differ and, of matrices that are not square, are not 0.
    """
    check_tensors("linalg_svd", A=A)
    _check(A, driver)
    return _RESULTS(*_decomposed("linalg_svd", A, full_matrices))


@public(name="linalg_svdvals", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The descending singular values: (..., m, n) -> (..., min(m, n)), real.

    Otherwise as ``linalg.svd``.
    """
    check_tensors("linalg_svdvals", A=A)
    _check(A, driver)
    return _decomposed("linalg_svdvals", A)[0]


@public(out=SAME)
@autocasts("cpu float32")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> return_types.svd:
    """(U, S, V) with ``input = U @ diag(S) @ V.mH``: ``linalg.svd`` under its older name.

    Without *compute_uv* U and V are zeros.
    """
    check_tensors("svd", input=input)
    if len(input._s) < 2:
        raise RuntimeError(
            "linalg.svd: input should have at least 2 dimensions, but has "
            f"{len(input._s)} dimensions instead"
        )
    if compute_uv:
        u, s, vh = _decomposed("linalg_svd", input, not some)
        return _OLD_RESULTS(u, s, vh.mH)
    (s,) = _decomposed("linalg_svdvals", input)
    *batch, m, n = input._s
    return _OLD_RESULTS(input.new_zeros((*batch, m, m)), s, input.new_zeros((*batch, n, n)))
