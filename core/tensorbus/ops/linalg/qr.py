"""The QR factorization."""

from __future__ import annotations

from typing import Any

from tensorbus import return_types
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg.checks import check_factored, check_floating, deprecated
from tensorbus.ops.linalg.matrices import (
    adjoint,
    block,
    columns,
    diagonal,
    identity,
    magnitude,
    real_part,
    rows,
    scaled,
)
from tensorbus.rows.registry import row

_PANEL = 32
"""How many columns are eliminated before the rest is updated by one product."""


def refuse(F: Any, g: Any) -> Any:
    raise RuntimeError(
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
        "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
    )


# fmt: off
row("linalg_qr", "a:T, complete",
    doc="Each matrix of *a* as the product of Q, with orthonormal columns, and an upper triangular "
        "R; with *complete* Q is square.",
    results="Q:same R:same", domain="float",
    composite=lambda F, a, complete: factor(F, a, complete),
    a=lambda F, g, Q, R, complete: _backward(F, g, Q, R))
row("linalg_qr_r", "a:T", doc="R of the QR factorization of *a* alone.", domain="float",
    kernel=None, node_name="LinalgQrBackward0",
    composite=lambda F, a: F.linalg_qr(a, False)[1],
    a=refuse)
# fmt: on


# -- gradient --------------------------------------------------------------------------------
def _backward(F: Any, g: Any, Q: Any, R: Any) -> Any:
    """Of wide matrices [X Y] = Q [U V]: V = Q^H Y, and Q U = X is the factorization of X."""
    of_q, of_r = g
    m, n = R.shape[-2:]
    if m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if m == n:
        return _of_full_rank(F, of_q, of_r, Q, R)
    behind = None
    if of_r is not None:
        behind = columns(F, of_r, m, n)
        y = F.matmul(Q, columns(F, R, m, n))
        by_product = F.matmul(y, adjoint(F, behind))
        of_q = by_product if of_q is None else F.add(of_q, by_product)
        of_r = columns(F, of_r, 0, m)
    first = _of_full_rank(F, of_q, of_r, Q, columns(F, R, 0, m))
    if behind is None:
        return F.pad(first, (*((0, 0),) * (len(R.shape) - 1), (0, n - m)), 0)
    return F.concatenate([first, F.matmul(Q, behind)], len(R.shape) - 1)


def _of_full_rank(F: Any, of_q: Any, of_r: Any, Q: Any, R: Any) -> Any:
    """With M = gR R^H - Q^H gQ, and S Hermitian with M's upper triangle: (gQ + Q S) R^-H."""
    inner = None if of_r is None else F.matmul(of_r, adjoint(F, R))
    if of_q is not None:
        along = F.matmul(adjoint(F, Q), of_q)
        inner = F.neg(along) if inner is None else F.sub(inner, along)
    half = F.mul(F.add(F.triu(inner, 0), F.triu(inner, 1)), 0.5)
    left = F.matmul(Q, F.add(half, adjoint(F, half)))
    if of_q is not None:
        left = F.add(left, of_q)
    return adjoint(F, F.linalg_solve_triangular(R, adjoint(F, left), True, False))


# -- composition -----------------------------------------------------------------------------
def factor(F: Any, a: Any, complete: bool) -> tuple[Any, Any]:
    """Householder's: a reflection I - v v^H for each column, applied to panels by products.

    The reflections' product is I - V T V^H, where the inverse of T is upper triangular, with ones
    on its diagonal and the products of the vectors above.
    """
    *batch, m, n = a.shape
    k = min(m, n)
    width = m if complete else k
    if 0 in a.shape:
        return identity(F, (*batch, m, width)), F.zeros((*batch, width, n))
    x, scale = scaled(F, a)
    vectors = F.zeros((*batch, m, k))
    for start in range(0, k, _PANEL):
        stop = min(start + _PANEL, k)
        for j in range(start, stop):
            v = _reflection(F, block(F, x, j, m, j, j + 1))
            F.copy_(block(F, vectors, j, m, j, j + 1), v)
            rest = block(F, x, j, m, j, stop)
            F.sub(rest, F.matmul(v, F.matmul(adjoint(F, v), rest)), out=rest)
        if stop < n:
            panel, rest = block(F, vectors, start, m, start, stop), block(F, x, start, m, stop, n)
            inner = F.matmul(adjoint(F, panel), rest)
            lower = adjoint(F, _products(F, panel))
            solved = F.linalg_solve_triangular(lower, inner, False, True)
            F.sub(rest, F.matmul(panel, solved), out=rest)
    above = adjoint(F, rows(F, vectors, 0, width))
    inner = F.linalg_solve_triangular(_products(F, vectors), above, True, True)
    q = F.sub(columns(F, identity(F, (*batch, m, m)), 0, width), F.matmul(vectors, inner))
    r = F.triu(F.mul(rows(F, x, 0, width), scale), 0)
    return _with_real_diagonal(F, q, r, k) if F.dtype.is_complex else (q, r)


def _products(F: Any, vectors: Any) -> Any:
    """The products of the vectors above the diagonal, which is not read."""
    return F.matmul(adjoint(F, vectors), vectors)


def _reflection(F: Any, x: Any) -> Any:
    """The vector v, of squared length 2 or 0, such that I - v v^H leaves but the first of *x*.

    It is 0 where nothing is to be done, so that the signs are LAPACK's.
    """
    real = F.real
    sizes = magnitude(F, x)
    m = x.shape[-2]
    tail = rows(real, sizes, 1, m)
    first = rows(real, sizes, 0, 1)
    beyond = real.matmul(adjoint(real, tail), tail) if m > 1 else real.mul(first, 0.0)
    norm = real.sqrt(real.add(real.mul(first, first), beyond))
    squared = real.mul(norm, real.add(norm, first))
    idle = real.eq(squared if F.dtype.is_complex else beyond, 0.0)
    factor = real.rsqrt(real.where(idle, real.number(1.0), squared))
    factor = real.where(idle, real.number(0.0), factor)
    v = F.clone(x)
    top = rows(F, v, 0, 1)
    F.add(top, F.mul(_phase(F, top), F.cast(norm, real)), out=top)
    return F.mul(v, F.cast(factor, real))


def _phase(F: Any, x: Any) -> Any:
    """The numbers over their magnitudes; 1 for 0."""
    if not F.dtype.is_complex:
        return F.where(F.lt(x, 0.0), F.number(-1.0), F.number(1.0))
    return F.where(F.eq(x, 0.0), F.number(1.0), F.sgn_complex(x))


def _with_real_diagonal(F: Any, q: Any, r: Any, k: int) -> tuple[Any, Any]:
    """Complex factors multiplied by phases: LAPACK's have real numbers on R's diagonal."""
    phase = _phase(F, F.as_array(diagonal(F, r)))
    over = F.real.lt(real_part(F, phase), 0.0)
    phase = F.where(over, F.neg(phase), phase)
    across = F.view(phase, (*phase.shape[:-1], 1, k))
    F.copy_(columns(F, q, 0, k), F.mul(columns(F, q, 0, k), across))
    down = adjoint(F, across)
    F.copy_(rows(F, r, 0, k), F.mul(rows(F, r, 0, k), down))
    return q, r


# -- public ----------------------------------------------------------------------------------
_RESULTS = result_type_of("linalg_qr", "Q R")
_OLD_RESULTS = result_type_of("qr", "Q R")


def _factored(x: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    if len(x._s) < 2:
        raise RuntimeError("linalg.qr: The input tensor A must have at least 2 dimensions.")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    check_floating("linalg.qr", x)
    check_factored("geqrf_cpu", x)
    if mode == "r":
        return from_array(x._k.empty((0,)), x._k), core("linalg_qr_r")(x)
    made: tuple[Tensor, Tensor] = core("linalg_qr")(x, mode == "complete")
    return made


@public(name="linalg_qr", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_qr(A: Tensor, mode: str = "reduced") -> return_types.linalg_qr:
    """(Q, R) with ``A = Q @ R``: Q has orthonormal columns, R is upper triangular.

    (..., m, n) -> (..., m, k) and (..., k, n) with k = min(m, n); with the mode ``complete`` Q is
    square and R (..., m, n); with ``r`` Q has no elements, and R no derivative. RuntimeError for
    another mode, for less than two dimensions and for integers.
    """
    check_tensors("linalg_qr", A=A)
    return _RESULTS(*_factored(A, mode))


@public(out=SAME)
@autocasts("cpu float32")
def qr(input: Tensor, some: bool = True) -> return_types.qr:
    """``linalg.qr`` under its older name: reduced where *some*, else complete."""
    check_tensors("qr", input=input)
    deprecated("qr", "linalg.qr(A, 'reduced' if some else 'complete')")
    return _OLD_RESULTS(*_factored(input, "reduced" if some else "complete"))
