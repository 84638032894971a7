"""Eigenvalues and eigenvectors of square matrices of any kind, which are complex."""

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
from tensorbus.ops.linalg.checks import check_factored, check_floating, check_square, raise_for
from tensorbus.ops.linalg.matrices import (
    adjoint,
    as_column,
    as_row,
    diagonal,
    differences,
    ones_on_diagonal,
    real_part,
)
from tensorbus.rows.registry import row

# fmt: off
row("linalg_eig", "a:T",
    doc="The eigenvalues of each matrix of *a*, its eigenvectors of length 1 as columns, and 0 "
        "where that went well.",
    results="values:complex vectors:complex info:int32", domain="float",
    a=lambda F, g, values, vectors: _backward(F, g, values, vectors))
row("linalg_eigvals", "a:T",
    doc="The eigenvalues of each matrix of *a* alone, and 0 where that went well.",
    results="values:complex info:int32", domain="float",
    composite=lambda F, a: F.linalg_eig(a)[::2])
# fmt: on


def _backward(F: Any, g: Any, values: Any, vectors: Any) -> Any:
    """V^-H (diag(gL) + (V^H gV - V^H V Re(diag(V^H gV))) / conj(E)) V^H.

    E has the differences of the eigenvalues. The second product keeps the vectors' length at 1.
    """
    of_values, of_vectors, _ = g
    C = F.complex
    upper = adjoint(C, vectors)
    one = ones_on_diagonal(C, values.shape[-1])
    inner = None
    if of_vectors is not None:
        inner = C.matmul(upper, of_vectors)
        lengths = as_row(C, C.cast(real_part(C, diagonal(C, inner)), C.real))
        inner = C.sub(inner, C.mul(C.matmul(upper, vectors), lengths))
        inner = C.div(inner, C.conj(differences(C, values)))
        inner = C.sub(inner, C.mul(inner, one))
    if of_values is not None:
        along = C.mul(one, as_column(C, of_values))
        inner = along if inner is None else C.add(inner, along)
    lu, pivots, _ = C.linalg_lu(upper)
    whole = C.solved(upper, lu, C.i64.cast(pivots, C.i32), C.matmul(inner, upper), False)
    return whole if F.dtype.is_complex else real_part(C, whole)


# -- public ----------------------------------------------------------------------------------
_RESULTS = result_type_of("linalg_eig", "eigenvalues eigenvectors")


def _decomposed(row: str, name: str, x: Tensor) -> tuple[Tensor, ...]:
    """The results of a row, without its info."""
    check_square(name, x)
    check_floating(name, x)
    check_factored("linalg_eig_out_cpu", x)
    *results, info = core(row)(x)
    raise_for(info, lambda where, _: _reason(name, where, x))
    return tuple(results)


def _reason(name: str, where: str, x: Tensor) -> str:
    if not x.isfinite().all():
        raise RuntimeError(f"torch.{name}: input tensor should not contain infs or NaNs.")
    return (
        f"{name}: {where}The algorithm failed to converge because the input matrix is "
        "ill-conditioned or has too many repeated eigenvalues."
    )


@public(name="linalg_eig", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_eig(input: Tensor) -> return_types.linalg_eig:
    """(eigenvalues, eigenvectors) of square matrices: complex, in no order, and columns.

    (..., n, n) -> (..., n) and (..., n, n), in the complex dtype of the input's width. The columns
    have length 1 and any phase. RuntimeError for elements that are not finite and for matrices that
    are not square; LinAlgError where nothing converges. The gradient is finite where the
    eigenvalues differ.
    """
    check_tensors("linalg_eig", input=input)
    return _RESULTS(*_decomposed("linalg_eig", "linalg.eig", input))


@public(name="linalg_eigvals", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues of square matrices: (..., n, n) -> (..., n), complex, in no order.

    Otherwise as ``linalg.eig``.
    """
    check_tensors("linalg_eigvals", input=input)
    return _decomposed("linalg_eigvals", "linalg.eigvals", input)[0]
