"""Eigenvalues and eigenvectors of Hermitian matrices."""

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
from tensorbus.ops.linalg.checks import check_factored, check_square, raise_for
from tensorbus.ops.linalg.matrices import (
    adjoint,
    as_column,
    as_row,
    differences,
    ones_on_diagonal,
)
from tensorbus.rows.registry import row

# fmt: off
row("linalg_eigh", "a:T",
    doc="The ascending eigenvalues of each Hermitian matrix of *a*, its eigenvectors as columns, "
        "and 0 where that went well.",
    results="values:real vectors:same info:int32", domain="float",
    composite=lambda F, a: jacobi.eigh(F, a) if F.has_values else _shapes(F, a),
    a=lambda F, g, values, vectors: _backward(F, g, values, vectors))
row("linalg_eigvalsh", "a:T",
    doc="The ascending eigenvalues of each Hermitian matrix of *a* alone, and 0 where that went "
        "well.",
    results="values:real info:int32", domain="float",
    composite=lambda F, a: F.linalg_eigh(a)[::2])
# fmt: on


def _shapes(F: Any, a: Any) -> tuple[Any, Any, Any]:
    """The results on a device without values, on which no sweep is the last."""
    shape = tuple(a.shape)
    return F.real.empty(shape[:-1]), F.empty(shape), F.i32.empty(shape[:-2])


def _backward(F: Any, g: Any, values: Any, vectors: Any) -> Any:
    """V (skew(V^H gV) / 2 E + diag(gL)) V^H, where E has the differences of the eigenvalues.

    skew(X) = X - X^H, so the gradient is Hermitian.
    """
    of_values, of_vectors, _ = g
    along = None if of_values is None else F.cast(of_values, F.real)
    if of_vectors is None:
        return F.matmul(F.mul(vectors, as_row(F, along)), adjoint(F, vectors))
    inner = F.matmul(adjoint(F, vectors), of_vectors)
    inner = F.mul(F.sub(inner, adjoint(F, inner)), 0.5)
    inner = F.div(inner, F.cast(differences(F.real, values), F.real))
    one = ones_on_diagonal(F, inner.shape[-1])
    inner = F.sub(inner, F.mul(inner, one))
    if along is not None:
        inner = F.add(inner, F.mul(one, as_column(F, along)))
    return F.matmul(F.matmul(vectors, inner), adjoint(F, vectors))


# -- public ----------------------------------------------------------------------------------
_RESULTS = result_type_of("linalg_eigh", "eigenvalues eigenvectors")


def _decomposed(name: str, x: Tensor, UPLO: str) -> tuple[Tensor, ...]:
    """The results of a row, without its info."""
    check_square("linalg.eigh", x)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_factored("linalg_eigh_cpu", x)
    *results, info = core(name)(x if UPLO.upper() == "L" else x.mH)
    raise_for(
        info,
        lambda where, _: (
            f"linalg.eigh: {where}The algorithm failed to converge because the input matrix is "
            "ill-conditioned or has too many repeated eigenvalues (error code: "
            f"{max(x._s[-1] - 1, 1)})."
        ),
    )
    return tuple(results)


@public(name="linalg_eigh", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_eigh(input: Tensor, UPLO: str = "L") -> return_types.linalg_eigh:
    """(eigenvalues, eigenvectors) of Hermitian matrices: real and ascending, and columns.

    (..., n, n) -> (..., n) and (..., n, n). Only the lower triangle is read, with the UPLO ``U``
    the upper one. LinAlgError for elements that are not finite; RuntimeError for matrices that are
    not square. The gradient of the vectors is finite where the eigenvalues differ.
    """
    check_tensors("linalg_eigh", input=input)
    return _RESULTS(*_decomposed("linalg_eigh", input, UPLO))


@public(name="linalg_eigvalsh", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The ascending eigenvalues of Hermitian matrices: (..., n, n) -> (..., n), real.

    Otherwise as ``linalg.eigh``.
    """
    check_tensors("linalg_eigvalsh", input=input)
    return _decomposed("linalg_eigvalsh", input, UPLO)[0]
