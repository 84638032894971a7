"""Products of Householder's reflections: what QR is before its factors are formed.

Reflection i is ``I - tau[i] v v^H``, where v is column i of a matrix below its diagonal, 1 on it
and 0 above. The product of all is ``I - V T V^H`` with an upper triangular T, for which
``(I + diag(tau) S) T = diag(tau)`` holds, S being what is above the diagonal of ``V^H V``.
"""

from __future__ import annotations

from typing import Any

from tensorbus import return_types
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import eye
from tensorbus.ops.linalg.checks import check_factored
from tensorbus.ops.linalg.matrices import adjoint, block, magnitude, real_part, rows
from tensorbus.rows.registry import row


def refuse(F: Any, g: Any) -> Any:
    raise NotImplementedError(
        "the derivative for 'geqrf' is not implemented. Differentiate linalg.qr instead."
    )


# fmt: off
row("linalg_geqrf", "a:T",
    doc="R of the QR factorization of *a*, below it the reflections whose product is Q, and what "
        "scales each of them.",
    results="packed:same tau:same", column_major="packed", domain="float",
    node_name="GeqrfBackward0",
    composite=lambda F, a: factor(F, a),
    a=refuse)
# fmt: on


def factor(F: Any, a: Any) -> tuple[Any, Any]:
    """Column by column, as LAPACK's: R's diagonal is real."""
    *batch, m, n = a.shape
    k = min(m, n)
    x, tau = F.clone(a), F.zeros((*batch, 1, k))
    if 0 in a.shape:
        return x, F.reshape(tau, (*batch, k))
    for j in range(k):
        column = block(F, x, j, m, j, j + 1)
        scale = _reflect(F, column)
        F.copy_(block(F, tau, 0, 1, j, j + 1), scale)
        if j + 1 < n:
            rest = block(F, x, j, m, j + 1, n)
            first, below = rows(F, rest, 0, 1), rows(F, column, 1, m - j)
            along = F.add(first, F.matmul(adjoint(F, below), rows(F, rest, 1, m - j)))
            along = F.mul(along, F.conj(scale) if F.dtype.is_complex else scale)
            F.sub(first, along, out=first)
            if j + 1 < m:
                under = rows(F, rest, 1, m - j)
                F.sub(under, F.matmul(below, along), out=under)
    return x, F.reshape(tau, (*batch, k))


def _reflect(F: Any, column: Any) -> Any:
    """Write the number that is left of a column and the reflection's vector; give its scale.

    The column is divided by its largest element first, so that squares neither overflow nor vanish.
    """
    real = F.real
    dim, m = len(column.shape) - 2, column.shape[-2]
    sizes = magnitude(F, column)
    first, below = rows(F, column, 0, 1), rows(F, column, 1, m)
    alpha = real_part(F, first) if F.dtype.is_complex else first
    largest = real.reshape(real.as_array(real.amax(sizes, (dim,))), tuple(first.shape))
    unit = real.where(real.gt(largest, 0.0), largest, real.number(1.0))
    shares = real.div(sizes, unit)
    tail = real.sum(real.mul(rows(real, shares, 1, m), rows(real, shares, 1, m)), (dim,))
    tail = real.reshape(real.as_array(tail), tuple(first.shape))
    lead = rows(real, shares, 0, 1)
    norm = real.mul(unit, real.sqrt(real.add(real.mul(lead, lead), tail)))
    idle = real.eq(tail, 0.0)
    if F.dtype.is_complex:
        idle = real.bool.bitwise_and(idle, real.eq(real.abs(alpha), rows(real, sizes, 0, 1)))
    beta = real.where(real.lt(alpha, 0.0), norm, real.neg(norm))
    beta = F.cast(real.where(idle, real.number(1.0), beta), real)
    scale = F.where(idle, F.number(0), F.div(F.sub(beta, first), beta))
    divisor = F.where(idle, F.number(1), F.sub(first, beta))
    F.div(below, divisor, out=below)
    F.copy_(first, F.where(idle, first, beta))
    return scale


# -- public ----------------------------------------------------------------------------------
_RESULTS = result_type_of("geqrf", "a tau")


def _products(x: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """V and ``I + diag(tau) S``, which times T is diag(tau)."""
    m, k = x._s[-2], tau._s[-1]
    one = eye(m, k, dtype=x._k.dtype, device=x._k.device)
    vectors = x.narrow(-1, 0, k).tril(-1) + one
    return vectors, tau.unsqueeze(-1) * (vectors.mH @ vectors)  # above the diagonal


def _applied(vectors: Tensor, inner: Tensor, tau: Tensor, x: Tensor, turned: bool) -> Tensor:
    """``V T V^H x``, or with T's adjoint."""
    along = vectors.mH @ x
    scales = tau.unsqueeze(-1)
    solve = core("linalg_solve_triangular")
    if turned:  # T^H = diag(tau)^H ((I + diag(tau) S)^H)^-1
        return vectors @ (scales.conj() * solve(inner.mH, along, False, True))
    return vectors @ solve(inner, scales * along, True, True)


@public(name="linalg_householder_product", function=False, method=False, out=SAME)
@composed(node="LinalgHouseholderProductBackward0", layout="row_major", autocast="cpu float32")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of Householder's reflections, as ``geqrf`` gives them.

    (..., m, n) and (..., k) -> (..., m, n) with m >= n >= k. Reflection i is
    ``I - tau[i] v v^H``, v being column i of *input* below its diagonal, with 1 on it.
    RuntimeError where shapes or dtypes do not fit.
    """
    check_tensors("linalg_householder_product", input=input, tau=tau)
    name = "torch.linalg.householder_product"
    if len(input._s) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    m, n = input._s[-2:]
    if m < n:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if tau._s and n < tau._s[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    _check_tau(name, input, tau)
    if tau._k.dtype is not input._k.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {scalar_name(tau._k.dtype)} does not match input dtype "
            f"{scalar_name(input._k.dtype)}"
        )
    check_device(input, tau)
    check_factored("orgqr_cpu", input)
    one = eye(m, n, dtype=input._k.dtype, device=input._k.device)
    if not tau._s[-1] or not m:
        return one.expand(input._s).clone()
    vectors, inner = _products(input, tau)
    return one - _applied(vectors, inner, tau, one.expand(input._s), False)


def _check_tau(name: str, x: Tensor, tau: Tensor) -> None:
    if len(tau._s) != len(x._s) - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {len(tau._s)} and input.ndim is equal to {len(x._s)}"
        )
    if tau._s[:-1] != x._s[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau._s[:-1])}"
        )


@public(out=SAME)
@autocasts("cpu float32")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """``linalg.householder_product`` under its older name."""
    check_tensors("orgqr", input=input, input2=input2)
    return householder_product(input, input2)


@public(out=SAME)
@autocasts("cpu float32")
def geqrf(input: Tensor) -> return_types.geqrf:
    """(a, tau): the QR factorization with Q as a product of reflections.

    (..., m, n) -> (..., m, n) and (..., k), k = min(m, n). R is the upper triangle of *a*; what is
    below, and *tau*, are for ``linalg.householder_product`` and ``ormqr``. There is no derivative.
    RuntimeError for less than two dimensions.
    """
    check_tensors("geqrf", input=input)
    if len(input._s) < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_factored("geqrf_cpu", input)
    return _RESULTS(*core("linalg_geqrf")(input))


@public(out=SAME)
@composed(node="OrmqrBackward0", layout="row_major", autocast="cpu float32")
def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """``Q @ input3``, Q being the square product of the reflections of *input* and tau, *input2*.

    (..., m, n), (..., k) and (..., m, p), without *left* ``input3 @ Q`` for (..., p, m); with
    *transpose* Q's adjoint in its place. RuntimeError where shapes or dtypes do not fit.
    """
    check_tensors("ormqr", input=input, input2=input2, input3=input3)
    x, tau, other = input, input2, input3
    name = "torch.ormqr"
    for shown, t in (("input", x), ("other", other)):
        if len(t._s) < 2:
            raise RuntimeError(f"{name}: {shown} must have at least 2 dimensions.")
    at = -2 if left else -1
    if other._s[at] != x._s[-2]:
        raise RuntimeError(f"{name}: other.shape[{at}] must be equal to input.shape[-2]")
    if tau._s and tau._s[-1] != min(other._s[at], x._s[-1]):
        raise RuntimeError(
            f"{name}: tau.shape[-1] must be equal to min(other.shape[{at}], input.shape[-1])"
        )
    _check_tau(name, x, tau)
    _check_other(name, x, other)
    for shown, t in (("tau", tau), ("other", other)):
        if t._k.dtype is not x._k.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {shown} to have the same dtype, but input has dtype "
                f"{scalar_name(x._k.dtype)} and {shown} has dtype {scalar_name(t._k.dtype)}"
            )
    check_device(x, tau, other)
    check_factored("ormqr_cpu", x)
    if not tau._s[-1] or 0 in other._s:
        return other.clone()
    vectors, inner = _products(x, tau)
    if left:
        return other - _applied(vectors, inner, tau, other, transpose)
    return other - _applied(vectors, inner, tau, other.mH, not transpose).mH


def _check_other(name: str, x: Tensor, other: Tensor) -> None:
    if len(other._s) != len(x._s):
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {len(other._s)} and input.ndim is equal to {len(x._s)}"
        )
    if other._s[:-2] != x._s[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(other._s[:-2])}"
        )
