"""The LU factorization with row exchanges, and what is solved with it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus._base.dtypes import int32
from tensorbus.ops.linalg.matrices import (
    adjoint,
    as_row,
    block,
    columns,
    diagonal,
    first_failure,
    identity,
    magnitude,
    rows,
)
from tensorbus.ops.linalg.triangular import solve_triangular
from tensorbus.ops.matmul.triangles import below
from tensorbus.rows.registry import row

_PANEL = 32
"""How many columns are factored before the rest is updated by one product."""

# fmt: off
row("linalg_lu", "a:T",
    doc="The LU factors of *a* in one matrix, the row with which each was exchanged, and the "
        "number of the first pivot that is 0, counted from 1, or 0.",
    results="LU:same pivots:int32 info:int32", column_major="LU", domain="float",
    node_name="LinalgLuFactorExBackward0",
    composite=lambda F, a: factor(F, a),
    a=lambda F, g, LU, pivots:
        _factors_backward(F, g[0], LU, F.i64.cast(pivots, F.i32)))
row("solved", "a:T, lu:T, p:int64, b:T, adjoint",
    doc="The solution of equations with *a*, or its adjoint, by the factors that *lu* and *p* are.",
    domain="float", kernel=None, node_name="LinalgSolveExBackward0",
    composite=lambda F, a, lu, p, b, adjoint: solve(F, lu, p, b, adjoint),
    a=lambda F, g, a, lu, p, out, adjoint: _solved_matrix(F, g, a, lu, p, out, adjoint),
    b=lambda F, g, a, lu, p, adjoint: F.solved(a, lu, p, g, not adjoint))
row("inverted", "a:T, lu:T, p:int64",
    doc="The inverse of *a* by the factors that *lu* and *p* are.",
    domain="float", kernel=None, node_name="LinalgInvExBackward0",
    composite=lambda F, a, lu, p: solve(F, lu, p, identity(F, tuple(lu.shape)), False),
    a=lambda F, g, out: F.neg(F.matmul(F.matmul(adjoint(F, out), g), adjoint(F, out))))
row("linalg_solve", "a:T, b:T",
    doc="The solution of equations with square matrices *a*, of the same batch as *b*, and what "
        "``linalg_lu`` tells of these.",
    results="x:same info:int32", domain="float",
    composite=lambda F, a, b: _by_factors(
        F, a, lambda lu, p: F.solved(a, lu, p, b, False)))
row("linalg_inv", "a:T",
    doc="The inverses of square matrices *a*, and what ``linalg_lu`` tells of these.",
    results="x:same info:int32", domain="float",
    composite=lambda F, a: _by_factors(F, a, lambda lu, p: F.inverted(a, lu, p)))
row("exchanged", "x:T, p:int64, back",
    doc="*x* with each row exchanged for that which *p* names, from the first; *back* undoes it.",
    kernel=None,
    composite=lambda F, x, p, back: exchange(F, x, permutation(F, p, x.shape[-2], back)),
    x=lambda F, g, p, back: F.exchanged(g, p, not back))
row("exchange_matrix", "lu:T, p:int64",
    doc="P: ones in each column where the exchanges *p* have put that row of the factors.",
    kernel=None,
    composite=lambda F, lu, p: _exchange_matrix(F, lu, p))
row("triangular_factors", "lu:T",
    doc="L and U from the one matrix that both are in.",
    results="L:same U:same", kernel=None,
    composite=lambda F, lu: _triangular_factors(F, lu))
# fmt: on


def factors(F: Any, a: Any) -> tuple[Any, Any, Any]:
    """The factors, the exchanges as int64, and the zero pivots, none of which record."""
    lu, pivots, info = F.linalg_lu(a.detach() if F.records else a)
    return lu, F.i64.cast(pivots, F.i32), info


def _exchange_matrix(F: Any, lu: Any, p: Any) -> Any:
    m, index = lu.shape[-2], F.of(int32)
    order = index.cast(permutation(F, p, m, False), F.i64)
    down = index.view(index.arange(m, 0, 1), (m, 1))
    return F.cast(index.eq(down, as_row(index, order)), F.bool)


def _triangular_factors(F: Any, lu: Any) -> tuple[Any, Any]:
    m, n = lu.shape[-2:]
    k = min(m, n)
    if not F.records:
        lu = F.contiguous(lu)  # as both factors will be: one turned copy
    left, top = columns(F, lu, 0, k), rows(F, lu, 0, k)
    if F.records:
        ones = F.tril(F.triu(F.full((m, k), 1), 0), 0)
        return F.add(F.tril(left, -1), ones), F.triu(top, 0)
    mask, zero = below(F, lu, -1), F.number(0)
    lower = F.where(columns(F.bool, mask, 0, k), left, zero)
    F.copy_(diagonal(F, lower), 1)
    return lower, F.where(rows(F.bool, mask, 0, k), zero, top)


def _by_factors(F: Any, a: Any, compute: Any) -> tuple[Any, Any]:
    lu, p, info = factors(F, a)
    return compute(lu, p), info


def _solved_matrix(F: Any, g: Any, a: Any, lu: Any, p: Any, out: Any, adjoint_: bool) -> Any:
    of_b = F.solved(a, lu, p, g, not adjoint_)
    left, right = (out, of_b) if adjoint_ else (of_b, out)
    return F.neg(F.matmul(left, adjoint(F, right)))


def _factors_backward(F: Any, g: Any, lu: Any, p: Any) -> Any:
    """P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H, and what the rows or columns over add."""
    m, n = g.shape[-2:]
    k = min(m, n)
    square, of_square = block(F, lu, 0, k, 0, k), block(F, g, 0, k, 0, k)
    lower, upper = adjoint(F, F.tril(square, -1)), F.triu(square, 0)
    of_lower, of_upper, extra = F.tril(of_square, -1), F.triu(of_square, 0), None
    if m > n:
        extra = _right(F, upper, rows(F, g, k, m))
        below = F.matmul(adjoint(F, rows(F, lu, k, m)), extra)
        of_upper = F.sub(of_upper, F.triu(below, 0))
    if n > m:
        extra = F.linalg_solve_triangular(lower, columns(F, g, k, n), True, True)
        beside = F.matmul(extra, adjoint(F, columns(F, lu, k, n)))
        of_lower = F.sub(of_lower, F.tril(beside, -1))
    inner = F.add(
        F.tril(F.add(of_lower, F.matmul(lower, of_lower)), -1),
        F.triu(F.matmul(of_upper, adjoint(F, upper)), 0),
    )
    whole = F.linalg_solve_triangular(lower, _right(F, upper, inner), True, True)
    if extra is not None:
        whole = F.cat(whole, extra, len(g.shape) - (2 if m > n else 1))
    return F.exchanged(whole, p, True)


def _right(F: Any, upper: Any, x: Any) -> Any:
    """x U^-H."""
    return adjoint(F, F.linalg_solve_triangular(upper, adjoint(F, x), True, False))


# -- composition -----------------------------------------------------------------------------
def factor(F: Any, a: Any) -> tuple[Any, Any, Any]:
    """Panel by panel: exchanges and its columns one after the other, then one product."""
    m, n = a.shape[-2:]
    k = min(m, n)
    batch = tuple(a.shape[:-2])
    x, counts = F.clone(a), F.i64
    pivots = counts.zeros((*batch, k))
    last = len(batch)
    if 0 not in x.shape:
        for start in range(0, k, _PANEL):
            stop = min(start + _PANEL, k)
            for j in range(start, stop):
                column = block(F, x, j, m, j, j + 1)
                if m - j > 1:
                    found = F.real.argmax(magnitude(F, column), last)
                    _exchange_first(F, rows(F, x, j, m), found)
                    at = counts.slice(pivots, last, j, j + 1, 1)
                    counts.add(found, counts.number(j), out=at)
                    _eliminate(F, x, column, j, stop)
                else:
                    counts.copy_(counts.slice(pivots, last, j, j + 1, 1), j)
            if stop < n:
                corner, right = block(F, x, start, stop, start, stop), columns(F, x, stop, n)
                top = rows(F, right, start, stop)
                F.copy_(top, solve_triangular(F, corner, top, False, True))
                if stop < m:
                    rest = rows(F, right, stop, m)
                    F.sub(rest, F.matmul(block(F, x, stop, m, start, stop), top), out=rest)
    failed = first_failure(F, F.eq(diagonal(F, x), 0))
    return x, F.of(int32).cast(pivots, counts), failed


def _exchange_first(F: Any, x: Any, found: Any) -> None:
    """Exchange the first row with the one that *found*, (..., 1), names."""
    rank, width = len(x.shape), x.shape[-1]
    at = F.i64.unsqueeze(found, rank - 1)
    at = F.i64.expand(at, (*x.shape[:-2], 1, width))
    first = rows(F, x, 0, 1)
    before, chosen = F.clone(first), F.gather(x, rank - 2, at)
    F.scatter(x, rank - 2, at, before, "set")
    F.copy_(first, chosen)


def _eliminate(F: Any, x: Any, column: Any, j: int, stop: int) -> None:
    """Divide what is below a pivot by it, and take that off the panel's other columns."""
    m = x.shape[-2]
    pivot, below = rows(F, column, 0, 1), rows(F, column, 1, m - j)
    divisor = F.where(F.eq(pivot, 0), F.number(1), pivot)  # all below are 0 as well
    F.div(below, divisor, out=below)
    if j + 1 < stop:
        rest = block(F, x, j + 1, m, j + 1, stop)
        F.sub(rest, F.mul(below, block(F, x, j, j + 1, j + 1, stop)), out=rest)


def permutation(F: Any, pivots: Any, n: int, back: bool) -> Any:
    """The order of *n* rows after the exchanges, or, with *back*, what undoes it.

    The exchanges follow one another, so the host makes them: one copy there and one back.
    """
    if not F.has_values:
        return F.i64.empty((*pivots.shape[:-1], n))
    if F.inner is not None:
        return F.batch_of(permutation(F.inner, pivots.array, n, back))
    given = F.i64.to_host(pivots)
    if given.ndim == 1:
        order = list(range(n))
        for i, other in enumerate(given.tolist()):
            order[i], order[other] = order[other], order[i]
        made = np.array(order, np.int64)
    else:
        flat = given.reshape(math.prod(given.shape[:-1]), given.shape[-1])
        made = np.tile(np.arange(n), (len(flat), 1))
        index = np.arange(len(flat))
        for i in range(given.shape[-1]):
            other = flat[:, i]
            made[index, i], made[index, other] = made[index, other], made[index, i].copy()
        made = made.reshape(*given.shape[:-1], n)
    if back:
        made = np.argsort(made, -1)
    return F.i64.from_host(np.ascontiguousarray(made, np.int64))


def exchange(F: Any, x: Any, order: Any) -> Any:
    """The rows of *x* in an order for each matrix."""
    if 0 in x.shape:
        return F.clone(x)
    dim = len(x.shape) - 2
    if not dim:
        return F.take(x, 0, order, False)
    return F.gather(x, dim, F.i64.expand(F.i64.unsqueeze(order, dim + 1), tuple(x.shape)))


def solve(F: Any, lu: Any, pivots: Any, b: Any, adjoint_: bool) -> Any:
    """The solution of P L U x = b, or of the adjoint equation."""
    n = lu.shape[-1]
    if adjoint_:
        conjugated = adjoint(F, lu)
        x = F.linalg_solve_triangular(conjugated, b, False, False)
        x = F.linalg_solve_triangular(conjugated, x, True, True)
        return exchange(F, x, permutation(F, pivots, n, True))
    x = exchange(F, b, permutation(F, pivots, n, False))
    return F.linalg_solve_triangular(lu, F.linalg_solve_triangular(lu, x, False, True), True, False)
