"""L D L^T with the pivots of Bunch and Kaufman (1977), composed of primitives.

The matrices of a batch take blocks of 1 or 2 at different columns, so each step does both and
chooses by truth values; a matrix whose block of 2 began one step before rests. Nothing is read on
the host.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base.dtypes import int32
from tensorbus.ops.linalg.matrices import (
    block,
    columns,
    conjugated,
    diagonal,
    real_part,
    rows,
    transposed,
)

_ALPHA = (1 + 17**0.5) / 8
"""The share of a column's largest element from which its diagonal one is a good pivot."""


def factor(F: Any, a: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """L and D in one matrix, the pivots and the number of the first zero in D, as LAPACK's."""
    *batch, n = a.shape[:-1]
    count, index, small = math.prod(batch), F.i64, F.of(int32)
    hermitian = hermitian and F.dtype.is_complex
    if not count * n:
        return F.clone(a), small.zeros((*batch, n)), small.zeros(tuple(batch))
    x = _whole(F, F.view(F.contiguous(a), (count, n, n)), hermitian)
    made, pivots = F.zeros((count, n, n)), index.zeros((count, n))
    info, resting = index.zeros((count, 1)), F.bool.full((count, 1), False)
    for k in range(n):
        x, resting = _step(F, x, made, pivots, info, resting, k, hermitian)
    return (
        F.view(made, tuple(a.shape)),
        small.view(small.cast(pivots, index), (*batch, n)),
        small.view(small.cast(info, index), tuple(batch)),
    )


def _whole(F: Any, a: Any, hermitian: bool) -> Any:
    """The matrices whose lower triangles are given, with both."""
    lower, strict = F.tril(a, 0), F.tril(a, -1)
    x = F.add(lower, transposed(F, conjugated(F, strict) if hermitian else strict))
    return _with_real_diagonal(F, x) if hermitian else x


def _with_real_diagonal(F: Any, x: Any) -> Any:
    on = diagonal(F, x)
    F.copy_(on, F.cast(F.real.clone(real_part(F, on)), F.real))
    return x


def _sizes(F: Any, x: Any) -> Any:
    """What LAPACK takes for magnitudes here, the sums of both parts'; 0 for NaN."""
    real = F.real
    if F.dtype.is_complex:
        parts = real.abs(F.view_as_real(x))
        rank = len(x.shape)
        found = real.add(real.select(parts, rank, 0), real.select(parts, rank, 1))
    else:
        found = F.abs(x)
    return real.where(real.ge(found, 0), found, real.number(0))


def _step(
    F: Any, x: Any, made: Any, pivots: Any, info: Any, resting: Any, k: int, hermitian: bool
) -> tuple[Any, Any]:
    """Write column k of the factors; what is left to factor, and who began a block of 2."""
    m, n, index, truth = x.shape[-1], made.shape[-1], F.i64, F.bool
    other, two, pivotal = _pivot(F, x, resting)
    last = index.where(two, index.number(1), index.number(0))
    x = _exchanged(F, x, last, other)
    down = index.view(index.arange(m, 0, 1), (1, m, 1))
    beneath = index.gt(down, _cube(index, last))
    first, both = columns(F, x, 0, 1), _cube(truth, two)
    one = _cube(truth, truth.bitwise_and(pivotal, truth.logical_not(two)))
    zero, unit = F.number(0), F.number(1)
    corner = block(F, x, 0, 1, 0, 1)
    left = F.where(one, F.div(first, F.where(one, corner, unit)), zero)
    rest = x
    if m > 1:
        second = columns(F, x, 1, 2)
        p, q, t, d21, d12 = _inverse(F, both, x)
        of_two = F.div(F.sub(F.div(F.mul(first, p), d21), F.div(second, d12)), t)
        right = F.div(F.sub(F.div(F.mul(second, q), d12), F.div(first, d21)), t)
        left = F.where(beneath, F.where(both, of_two, left), zero)
        right = F.where(truth.bitwise_and(beneath, both), right, zero)
        rest = F.sub(x, F.mul(left, rows(F, x, 0, 1)))
        rest = F.sub(rest, F.mul(right, rows(F, x, 1, 2)))
        if hermitian:
            rest = _with_real_diagonal(F, rest)
        rest = block(F, rest, 1, m, 1, m)
        beside = F.where(index.gt(down, 1), right, second)
        beside = F.where(both, rows(F, beside, 1, m), zero)
    column, at = block(F, made, k, n, k, k + 1), index.slice(pivots, 1, k, k + 1, 1)
    moving = truth.bitwise_and(beneath, _cube(truth, pivotal))
    new = F.where(moving, left, first)
    F.copy_(column, F.where(_cube(truth, resting), column, new))
    number = index.add(other, k + 1)
    number = index.where(two, index.neg(number), number)
    index.copy_(at, index.where(resting, at, number))
    if m > 1:
        F.copy_(block(F, made, k + 1, n, k + 1, k + 2), beside)
        number = index.where(two, number, index.number(0))
        index.copy_(index.slice(pivots, 1, k + 1, k + 2, 1), number)
    failed = truth.bitwise_or(truth.bitwise_or(resting, pivotal), index.ne(info, 0))
    index.copy_(info, index.where(failed, info, index.number(k + 1)))
    return rest, two


def _pivot(F: Any, x: Any, resting: Any) -> tuple[Any, Any, Any]:
    """(count, 1) each: the row to exchange with, whether the block is of 2, and whether there is
    a pivot: not where all of the column is zero, nor in a matrix that rests."""
    count, m = x.shape[0], x.shape[-1]
    real, index, truth = F.real, F.i64, F.bool

    def largest(values: Any) -> Any:
        return real.view(real.amax(values, (1,)), (count, 1))

    column = real.view(real.contiguous(_sizes(F, columns(F, x, 0, 1))), (count, m))
    pivotal = truth.bitwise_and(real.gt(largest(column), 0), truth.logical_not(resting))
    if m == 1:
        return index.zeros((count, 1)), truth.full((count, 1), False), pivotal
    own, below = real.slice(column, 1, 0, 1, 1), real.slice(column, 1, 1, m, 1)
    most = largest(below)
    i = index.add(index.view(real.argmax(below, 1), (count, 1)), 1)
    line = F.gather(x, 1, index.expand(_cube(index, i), (count, 1, m)))
    line = real.view(real.contiguous(_sizes(F, line)), (count, m))
    at = index.eq(index.view(index.arange(m, 0, 1), (1, m)), i)
    beside = largest(real.where(at, real.number(0), line))
    there = largest(real.where(at, line, real.number(0)))
    share = real.div(most, real.where(real.gt(beside, 0), beside, real.number(1)))
    stays = truth.bitwise_or(
        truth.logical_not(real.lt(own, real.mul(most, _ALPHA))),
        real.ge(own, real.mul(real.mul(most, _ALPHA), share)),
    )
    good = truth.bitwise_or(stays, real.ge(there, real.mul(beside, _ALPHA)))
    stays = truth.bitwise_or(stays, truth.logical_not(pivotal))
    two = truth.bitwise_and(pivotal, truth.logical_not(good))
    return index.where(stays, index.number(0), i), two, pivotal


def _cube(F: Any, x: Any) -> Any:
    """(count, 1) -> (count, 1, 1)."""
    return F.view(x, (x.shape[0], 1, 1))


def _exchanged(F: Any, x: Any, i: Any, j: Any) -> Any:
    """The rows i and j of each matrix exchanged, and then the columns."""
    count, m = x.shape[0], x.shape[-1]
    order = _order(F, i, j, m)
    x = F.gather(x, 1, F.i64.expand(F.i64.view(order, (count, m, 1)), (count, m, m)))
    return F.gather(x, 2, F.i64.expand(F.i64.view(order, (count, 1, m)), (count, m, m)))


def _order(F: Any, i: Any, j: Any, m: int) -> Any:
    """The indices 0 to m - 1 with i and j, (count, 1), exchanged: (count, m)."""
    index = F.i64
    at = index.expand(index.view(index.arange(m, 0, 1), (1, m)), (i.shape[0], m))
    return index.where(index.eq(at, i), j, index.where(index.eq(at, j), i, at))


def _inverse(F: Any, both: Any, x: Any) -> tuple[Any, ...]:
    """Of the block D of 2 in the corner, where *both*: d22/d12, d11/d21, their product less 1, and
    d21 and d12; so what divides is large, and neither overflows nor vanishes."""
    unit = F.number(1)
    d11, d22 = block(F, x, 0, 1, 0, 1), block(F, x, 1, 2, 1, 2)
    d21 = F.where(both, block(F, x, 1, 2, 0, 1), unit)
    d12 = F.where(both, block(F, x, 0, 1, 1, 2), unit)
    p, q = F.div(d22, d12), F.div(d11, d21)
    return p, q, F.where(both, F.sub(F.mul(p, q), unit), unit), d21, d12


# -- solving ---------------------------------------------------------------------------------
def solve(F: Any, ld: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """The solution for right-hand sides *b* by the factors; pivots are int64."""
    n, width = b.shape[-2:]
    count, index, truth = math.prod(b.shape[:-2]), F.i64, F.bool
    hermitian = hermitian and F.dtype.is_complex
    if not count * n * width:
        return F.clone(b)
    ld = F.view(F.contiguous(ld), (count, n, n))
    given = index.view(index.contiguous(pivots), (count, n))
    x = F.view(F.contiguous(F.clone(b)), (count, n, width))
    resting, steps = truth.full((count, 1), False), []
    for k in range(n):
        here = index.slice(given, 1, k, k + 1, 1)
        two = truth.bitwise_and(index.lt(here, 0), truth.logical_not(resting))
        other = index.where(resting, index.number(k), index.sub(index.abs(here), 1))
        last = index.where(two, index.number(k + 1), index.number(k))
        steps.append((_lower(F, ld, k, last, two, resting), _order(F, last, other, n)))
        x = _divided(F, _moved(F, x, steps[-1][1]), ld, steps[-1][0], two, resting, k, hermitian)
        resting = two
    for k in reversed(range(n)):
        lower, order = steps[k]
        turned = transposed(F, conjugated(F, lower) if hermitian else lower)
        step = rows(F, x, k, min(k + 2, n))
        F.copy_(step, F.sub(step, F.matmul(turned, x)))
        x = _moved(F, x, order)
    return F.view(x, tuple(b.shape))


def _lower(F: Any, ld: Any, k: int, last: Any, two: Any, resting: Any) -> Any:
    """The columns k and k + 1 of L below the block; zeros where they are no columns of it."""
    n, index, truth = ld.shape[-1], F.i64, F.bool
    down = index.view(index.arange(n, 0, 1), (1, n, 1))
    beneath = index.gt(down, _cube(index, last))
    begun = truth.bitwise_and(beneath, _cube(truth, truth.logical_not(resting)))
    left = F.where(begun, columns(F, ld, k, k + 1), F.number(0))
    if k + 1 == n:
        return left
    both = truth.bitwise_and(beneath, _cube(truth, two))
    return F.cat(left, F.where(both, columns(F, ld, k + 1, k + 2), F.number(0)), 2)


def _moved(F: Any, x: Any, order: Any) -> Any:
    """The rows of right-hand sides in an order for each."""
    index = F.i64.view(order, (*order.shape, 1))
    return F.gather(x, 1, F.i64.expand(index, tuple(x.shape)))


def _divided(
    F: Any, x: Any, ld: Any, lower: Any, two: Any, resting: Any, k: int, hermitian: bool
) -> Any:
    """One step down: what L says is taken off, and the step's rows are divided by the block."""
    n, unit = ld.shape[-1], F.number(1)
    both, rests = _cube(F.bool, two), _cube(F.bool, resting)
    step = rows(F, x, k, min(k + 2, n))
    x = F.sub(x, F.matmul(lower, step))
    first, corner = rows(F, x, k, k + 1), block(F, ld, k, k + 1, k, k + 1)
    alone = F.where(rests, first, F.div(first, F.where(rests, unit, corner)))
    if k + 1 == n:
        F.copy_(first, alone)
        return x
    second, end = rows(F, x, k + 1, k + 2), block(F, ld, k + 1, k + 2, k + 1, k + 2)
    d21 = F.where(both, block(F, ld, k + 1, k + 2, k, k + 1), unit)
    d12 = conjugated(F, d21) if hermitian else d21
    p, q = F.div(end, d12), F.div(corner, d21)
    t = F.where(both, F.sub(F.mul(p, q), unit), unit)
    upper = F.div(F.div(F.sub(F.mul(p, first), second), d21), t)
    under = F.div(F.div(F.sub(F.mul(q, second), first), d12), t)
    upper, under = F.where(both, upper, alone), F.where(both, under, second)
    F.copy_(first, upper)
    F.copy_(second, under)
    return x
