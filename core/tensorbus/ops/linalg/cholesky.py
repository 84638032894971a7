"""The Cholesky factorization, and what is solved with it."""

from __future__ import annotations

from typing import Any

from tensorbus._base.dtypes import int32
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg.checks import (
    check_factored,
    check_floating,
    check_square,
    deprecated,
    raise_for,
)
from tensorbus.ops.linalg.matrices import (
    adjoint,
    block,
    conjugated,
    diagonal,
    first_failure,
    rows,
    transposed,
)
from tensorbus.rows.registry import row

_PANEL = 32
"""How many columns are factored before the rest is updated by one product."""

# fmt: off
row("linalg_cholesky", "a:T",
    doc="The lower triangular factor of each Hermitian matrix of *a*, and the order of its first "
        "leading minor that is not positive definite, or 0.",
    results="L:same info:int32", domain="float", node_name="LinalgCholeskyExBackward0",
    composite=lambda F, a: factor(F, a),
    a=lambda F, g, L: _backward(F, g[0], L))
# fmt: on


def _backward(F: Any, g: Any, L: Any) -> Any:
    """With S Hermitian, whose diagonal and lower triangle are those of L^H g: L^-H S / 2 L^-1."""
    upper = adjoint(F, L)
    inner = F.tril(F.matmul(upper, g), 0)
    twice = F.add(inner, F.tril(inner, -1))  # the diagonal once, and of it the real part
    half = F.mul(F.add(twice, adjoint(F, twice)), 0.25)
    left = F.linalg_solve_triangular(upper, half, True, False)
    return F.linalg_solve_triangular(upper, adjoint(F, left), True, False)


# -- composition -----------------------------------------------------------------------------
def factor(F: Any, a: Any) -> tuple[Any, Any]:
    """Panel by panel: its columns one after the other, then one product for all behind it."""
    n = a.shape[-1]
    x = F.clone(a)
    if 0 in x.shape:
        return x, F.of(int32).zeros(tuple(x.shape[:-2]))
    for start in range(0, n, _PANEL):
        stop = min(start + _PANEL, n)
        for j in range(start, stop):
            column = block(F, x, j, n, j, j + 1)
            F.div(column, F.sqrt(rows(F, column, 0, 1)), out=column)
            if j + 1 < stop:
                below = rows(F, column, 1, n - j)
                across = transposed(F, conjugated(F, rows(F, column, 1, stop - j)))
                rest = block(F, x, j + 1, n, j + 1, stop)
                F.sub(rest, F.mul(below, across), out=rest)
        if stop < n:
            done, rest = block(F, x, stop, n, start, stop), block(F, x, stop, n, stop, n)
            F.sub(rest, F.matmul(done, adjoint(F, done)), out=rest)
    x = F.tril(x, 0)
    return x, first_failure(F, F.bool.logical_not(F.gt(diagonal(F, x), 0)))


# -- public ----------------------------------------------------------------------------------
_RESULTS = result_type_of("linalg_cholesky_ex", "L info")


def _factored(x: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    """The factor, which records, and the order of the minor that failed."""
    if upper:
        x = x.mH
    made, info = core("linalg_cholesky")(x)
    return made.mH if upper else made, info


def _refuse(name: str, info: Tensor) -> None:
    raise_for(
        info,
        lambda where, order: (
            f"{name}: {where}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {order} is not positive-definite)."
        ),
    )


@public(name="linalg_cholesky", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with ``L @ L.mH`` = *input*, for Hermitian positive definite matrices.

    (..., n, n) -> (..., n, n) in the same dtype. With *upper* the upper triangular ``L.mH``. Only
    one triangle of *input* is read: the lower one, with *upper* the upper one. LinAlgError for a
    matrix that is not positive definite; RuntimeError for one that is not square.
    """
    check_tensors("linalg_cholesky", input=input)
    check_square("linalg.cholesky", input)
    check_floating("linalg.cholesky", input)
    check_factored("cholesky", input)
    made, info = _factored(input, upper)
    _refuse("linalg.cholesky", info)
    return made


@public(name="linalg_cholesky_ex", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """``linalg.cholesky`` and an int32 *info* for each matrix, without waiting for the device.

    info is 0, or the order of the first leading minor that is not positive definite; then the
    factor may have any values. With *check_errors* that is a LinAlgError.
    """
    check_tensors("linalg_cholesky_ex", input=input)
    check_square("linalg.cholesky", input)
    check_floating("linalg.cholesky", input)
    check_factored("cholesky", input)
    made, info = _factored(input, upper)
    if check_errors:
        _refuse("linalg.cholesky_ex", info)
    return _RESULTS(made, info)


@public(out=SAME)
@autocasts("cpu float32")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """``linalg.cholesky`` under its older name."""
    check_tensors("cholesky", input=input)
    deprecated("cholesky", "linalg.cholesky(A)")
    check_square("cholesky", input)
    check_factored("cholesky", input)
    made, info = _factored(input, upper)
    _refuse("cholesky", info)
    return made
