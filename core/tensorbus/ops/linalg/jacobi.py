"""Eigenvalues and singular values composed of primitives, by Jacobi's rotations.

A rotation makes one pair of rows or columns orthogonal. Half of the indices are paired with the
other half, so that a round of launches rotates all pairs at once; then the pairs change as in a
tournament. After n - 1 rounds, a sweep, each index has met every other; and all are in their places
again. The host looks once a sweep whether enough have been made.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus._base.dtypes import finfo, int32
from tensorbus._base.float_warnings import quietly
from tensorbus.ops.linalg.matrices import (
    adjoint,
    block,
    columns,
    diagonal,
    identity,
    rows,
    transposed,
)

_SWEEPS = 40
"""Six to ten are enough; for NaN none are."""


def eigh(F: Any, a: Any) -> tuple[Any, Any, Any]:
    """The ascending eigenvalues of symmetric matrices, their vectors in columns, and info."""
    batch, n = tuple(a.shape[:-2]), a.shape[-1]
    if 0 in a.shape:
        return F.real.zeros((*batch, n)), F.clone(a), F.of(int32).zeros(batch)
    _refuse_complex(F, "eigh")
    lower = F.tril(a, 0)
    x = F.add(lower, adjoint(F, F.tril(a, -1)))
    size = n + n % 2
    if size > n:  # an index without a partner meets one that nothing turns
        padded = F.zeros((*batch, size, size))
        F.copy_(block(F, padded, 0, n, 0, n), x)
        x = padded
    vectors = identity(F, (*batch, size, size))
    turn = _tournament(F, size)
    half, last = size // 2, len(batch) + 1
    coupling, before = _coupling(F, x), np.full(batch, np.inf)
    for _ in range(_SWEEPS):
        if _settled(F, coupling, before):
            break
        for _ in range(size - 1):
            first, second = diagonal(F, columns(F, x, 0, half)), diagonal(F, _lower_right(F, x))
            c, s = _rotation(F, first, second, diagonal(F, columns(F, x, half, size)))
            x = _rotated(F, x, c, s, last)
            vectors = F.take(_rotated(F, vectors, c, s, last), last, turn, False)
            x = _rotated(F, x, c, s, last - 1)
            F.copy_(diagonal(F, columns(F, rows(F, x, 0, half), half, size)), 0)
            F.copy_(diagonal(F, columns(F, rows(F, x, half, size), 0, half)), 0)
            x = F.take(F.take(x, last, turn, False), last - 1, turn, False)
        before, coupling = coupling, _coupling(F, x)
    values = F.clone(F.slice(diagonal(F, x), len(batch), 0, n, 1))
    order = F.argsort(values, len(batch))
    values = F.gather(values, len(batch), order)
    vectors = _chosen_columns(F, F.contiguous(block(F, vectors, 0, n, 0, n)), order)
    return values, vectors, _info(F, ~(coupling <= _small(F)))


def svd(F: Any, a: Any, complete: bool) -> tuple[Any, Any, Any, Any]:
    """The factors u, s, vh of matrices, s descending, and info: columns made orthogonal."""
    m, n = a.shape[-2:]
    if m < n:
        u, s, vh, info = svd(F, transposed(F, a), complete)
        return transposed(F, vh), s, transposed(F, u), info
    batch = tuple(a.shape[:-2])
    if 0 in a.shape:
        u = identity(F, (*batch, m, m if complete else n))
        return u, F.real.zeros((*batch, n)), identity(F, (*batch, n, n)), F.of(int32).zeros(batch)
    _refuse_complex(F, "svd")
    size = n + n % 2
    x, scale = _scaled(F, a)
    if size > n:
        padded = F.zeros((*batch, m, size))
        F.copy_(columns(F, padded, 0, n), x)
        x = padded
    v = identity(F, (*batch, size, size))
    turn = _tournament(F, size)
    half, last = size // 2, len(batch) + 1
    coupling, before = np.full(batch, 0.0 if n == 1 else 1.0), np.full(batch, np.inf)
    for _ in range(_SWEEPS):
        if _settled(F, coupling, before):
            break
        worst = None
        for _ in range(size - 1):
            left, right = columns(F, x, 0, half), columns(F, x, half, size)
            sums = [F.sum(F.mul(p, q), (last - 1,))
                    for p, q in ((left, left), (right, right), (left, right))]  # fmt: skip
            angle = _cosine(F, *sums)
            worst = angle if worst is None else F.maximum(worst, angle)
            c, s = _rotation(F, *sums)
            x = F.take(_rotated(F, x, c, s, last), last, turn, False)
            v = F.take(_rotated(F, v, c, s, last), last, turn, False)
        found = F.to_host(F.as_array(F.amax(worst, (last - 1,))))
        before, coupling = coupling, found.astype(np.float64)
    x, v = columns(F, x, 0, n), F.contiguous(block(F, v, 0, n, 0, n))
    s = F.sqrt(F.sum(F.mul(x, x), (last - 1,)))
    order = F.argsort(F.neg(s), last - 1)
    s = F.gather(s, last - 1, order)
    x, v = _chosen_columns(F, F.contiguous(x), order), _chosen_columns(F, v, order)
    norms = F.unsqueeze(s, last - 1)
    u = F.div(x, F.where(F.gt(norms, 0.0), norms, F.number(1)))
    if (complete and m > n) or (F.to_host(s) == 0).any():
        u = _completed(F, u, complete)
    return u, F.mul(s, scale), transposed(F, v), _info(F, ~(coupling <= _small(F)))


def _refuse_complex(F: Any, name: str) -> None:
    if F.dtype.is_complex:
        raise NotImplementedError(
            f"linalg.{name} of complex matrices needs a kernel of the device {F.device}: move the "
            "tensor with .to('cpu')"
        )


def _tournament(F: Any, size: int) -> Any:
    """The index that takes each place after a round: the first stays, the others go round."""
    half = size // 2
    top, bottom = list(range(half)), list(range(half, size))
    turned = [*top[:1], *bottom[:1], *top[1:-1], *bottom[1:], *top[-1:]] if half > 1 else [0, 1]
    return F.i64.from_host(np.array(turned, np.int64))


def _lower_right(F: Any, x: Any) -> Any:
    n = x.shape[-1]
    return block(F, x, n // 2, n, n // 2, n)


def _rotation(F: Any, first: Any, second: Any, product: Any) -> tuple[Any, Any]:
    """Cosine and sine of the smaller angle that makes *product* 0: (..., pairs)."""
    none = F.eq(product, 0)
    safe = F.where(none, F.number(1), product)
    slope = F.div(F.sub(second, first), F.mul(safe, 2.0))
    size = F.add(F.abs(slope), F.hypot(slope, F.number(1)))
    tangent = F.div(F.where(F.lt(slope, 0.0), F.number(-1), F.number(1)), size)
    tangent = F.where(none, F.number(0), tangent)
    cosine = F.div(F.number(1), F.hypot(tangent, F.number(1)))
    return cosine, F.mul(cosine, tangent)


def _rotated(F: Any, x: Any, c: Any, s: Any, dim: int) -> Any:
    """The two halves of a dimension turned by the angles of their pairs."""
    half = x.shape[dim] // 2
    first, second = F.slice(x, dim, 0, half, 1), F.slice(x, dim, half, 2 * half, 1)
    at = len(x.shape) - 2 if dim == len(x.shape) - 1 else len(x.shape) - 1
    c, s = F.unsqueeze(c, at), F.unsqueeze(s, at)
    made = F.empty(tuple(x.shape))
    F.sub(F.mul(first, c), F.mul(second, s), out=F.slice(made, dim, 0, half, 1))
    F.add(F.mul(first, s), F.mul(second, c), out=F.slice(made, dim, half, 2 * half, 1))
    return made


def _small(F: Any) -> float:
    """A coupling that sweeps may end with: rounding leaves more than the precision in places."""
    return math.sqrt(float(finfo(F.dtype).eps)) / 64


def _settled(F: Any, coupling: np.ndarray, before: np.ndarray) -> bool:
    """Whether nothing is left to turn, or sweeps only turn what rounding leaves."""
    left = coupling > 4 * float(finfo(F.dtype).eps)
    shrinks = ~((coupling <= _small(F)) & (coupling > before / 4))
    return not (left & shrinks).any()


def _coupling(F: Any, x: Any) -> np.ndarray:
    """The largest element beside the diagonal, against the largest of all, of each matrix."""
    rank = len(x.shape)
    beside = F.abs(F.sub(x, F.mul(x, identity(F, tuple(x.shape[-2:])))))
    sizes = [F.to_host(F.as_array(F.amax(part, (rank - 2, rank - 1)))).astype(np.float64)
             for part in (beside, F.abs(x))]  # fmt: skip
    found: np.ndarray = sizes[0] / np.where(sizes[1] == 0, 1, sizes[1])
    return found


def _cosine(F: Any, first: Any, second: Any, product: Any) -> Any:
    """The size of the cosine between two columns; 0 where one is 0."""
    lengths = F.mul(F.sqrt(first), F.sqrt(second))
    some = F.gt(lengths, 0.0)
    found = F.div(F.abs(product), F.where(some, lengths, F.number(1)))
    return F.where(F.eq(lengths, lengths), F.where(some, found, F.number(0)), lengths)


def _chosen_columns(F: Any, x: Any, order: Any) -> Any:
    rank = len(x.shape)
    index = F.i64.expand(F.i64.unsqueeze(order, rank - 2), tuple(x.shape))
    return F.gather(x, rank - 1, index)


def _scaled(F: Any, a: Any) -> tuple[Any, Any]:
    """The matrices with a largest element of about 1, and the powers of two that they were
    divided by: (..., 1). Sums of squares then neither overflow nor vanish."""
    rank = len(a.shape)
    sizes = F.to_host(F.as_array(F.amax(F.abs(a), (rank - 2, rank - 1)))).astype(np.float64)
    found = quietly(lambda: np.exp2(np.floor(np.log2(sizes))))
    power = np.where((sizes > 0) & np.isfinite(sizes), found, 1.0)
    scale = F.from_host(np.ascontiguousarray(power[..., None].astype(F.dtype.name)))
    return F.div(a, F.unsqueeze(scale, rank - 1)), scale


def _completed(F: Any, u: Any, complete: bool) -> Any:
    """Orthonormal columns in place of those that are 0, and, if *complete*, beyond the last."""
    q, r = F.linalg_qr(u, complete)
    n = u.shape[-1]
    sign = F.where(F.lt(diagonal(F, rows(F, r, 0, n)), 0.0), F.number(-1), F.number(1))
    part = columns(F, q, 0, n)
    F.mul(part, F.unsqueeze(sign, len(u.shape) - 2), out=part)
    return q


def _info(F: Any, failed: np.ndarray) -> Any:
    return F.of(int32).from_host(failed.astype(np.int32))
