"""Equations with more or fewer rows than unknowns: the solutions of least squares."""

from __future__ import annotations

from typing import Any

from tensorbus import return_types
from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import empty
from tensorbus.ops.linalg import pseudo_inverse
from tensorbus.ops.linalg.checks import check_precise, raise_for
from tensorbus.ops.linalg.matrices import adjoint, first_failure
from tensorbus.ops.linalg.triangular import equal_batches, solved
from tensorbus.rows.registry import row

# fmt: off
row("linalg_lstsq", "a:T, b:T, rcond",
    doc="The least x for which *a* times x is closest to *b*, the singular values of *a*, how many "
        "of them are above *rcond* times the largest, and 0 where that went well.",
    results="x:same S:real rank:int32 info:int32", domain="float",
    composite=lambda F, a, b, rcond: _by_singular_values(F, a, b, rcond))
row("least_squares", "a:T, b:T, x:T, inverse:T",
    doc="*x*, the least for which *a* times it is closest to *b*; *inverse* is the pseudo-inverse "
        "of *a*.",
    domain="float", kernel=None, node_name="LinalgLstsqBackward0",
    composite=lambda F, a, b, x, inverse: x,
    a=lambda F, g, a, b, inverse: pseudo_inverse.backward(
        F, F.matmul(g, adjoint(F, b)), a, F.pseudo_inverse(a, inverse)),
    b=lambda F, g, a, inverse: F.matmul(adjoint(F, F.pseudo_inverse(a, inverse)), g))
# fmt: on


def _by_singular_values(F: Any, a: Any, b: Any, rcond: float) -> tuple[Any, Any, Any, Any]:
    """V S^+ U^H b."""
    real, counts = F.real, F.of(dtypes.int32)
    u, s, vh, info = F.linalg_svd(a, False)
    k, last = s.shape[-1], len(s.shape) - 1
    if not k:
        return F.matmul(adjoint(F, vh), F.matmul(adjoint(F, u), b)), s, counts.zeros(
            tuple(s.shape[:-1])), info  # fmt: skip
    bound = real.mul(real.slice(s, last, 0, 1, 1), rcond)
    kept = real.gt(s, bound)
    inverses = real.where(kept, real.reciprocal(s), real.number(0.0))
    scales = F.cast(real.as_array(real.unsqueeze(inverses, last + 1)), real)
    x = F.matmul(adjoint(F, vh), F.mul(scales, F.matmul(adjoint(F, u), b)))
    rank = F.i64.sum(F.i64.cast(kept, F.bool), (last,))
    return x, s, counts.cast(F.i64.as_array(rank), F.i64), info


# -- public ----------------------------------------------------------------------------------
_RESULTS = result_type_of("linalg_lstsq", "solution residuals rank singular_values")
_NAME = "torch.linalg.lstsq"
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _check(a: Tensor, b: Tensor, driver: str) -> None:
    """Errors for what *driver*, dtypes and ranks can't be."""
    if len(a._s) < 2:
        raise RuntimeError(f"{_NAME}: input must have at least 2 dimensions.")
    if not b._s:
        raise RuntimeError(f"{_NAME}: other must have at least 1 dimension.")
    if a._k.dtype is not b._k.dtype:
        raise RuntimeError(
            f"{_NAME}: Expected input and other to have the same dtype, but got input's dtype "
            f"{scalar_name(a._k.dtype)} and other's dtype {scalar_name(b._k.dtype)}"
        )
    if len(a._s) - len(b._s) not in (0, 1):
        raise RuntimeError(
            f"{_NAME}: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    check_device(a, b)
    check_precise(_NAME, a)
    if driver not in _DRIVERS:
        raise RuntimeError(
            f"{_NAME}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )


def _of_full_rank(a: Tensor, b: Tensor) -> Tensor:
    """The solution by QR; LinAlgError for a matrix whose columns, or rows, depend on others."""
    m, n = a._s[-2:]
    wide = m < n
    q, r = core("linalg_qr")(a.mH if wide else a, False)
    sizes = r.diagonal(0, -2, -1).abs()
    if sizes._s[-1]:
        tiny = sizes.amax(-1, keepdim=True) * (max(m, n) * dtypes.finfo(a._k.dtype).eps)
        failed = (sizes > tiny).logical_not()  # NaN too
        found = first_failure(sizes._k, failed._a)
        raise_for(
            from_array(found, sizes._k.of(dtypes.int32)),
            lambda where, at: (
                f"{_NAME}: {where}The least squares solution could not be computed because the "
                f"input matrix does not have full rank (error code: {at})."
            ),
        )
    return q @ solved(r.mH, b, False) if wide else solved(r, q.mH @ b, True)


@public(name="linalg_lstsq", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> return_types.linalg_lstsq:
    """The solutions X of least squares: those for which the norm of ``input @ X - b`` is least.

    (..., m, n) and (..., m, k), or (..., m) -> (solution, residuals, rank, singular_values):
    (..., n, k) or (..., n); the squared norms (..., k) where m > n and the rank is n; int64 (...);
    and (..., min(m, n)). Where several X do, that of the least norm. The *driver* ``gelsy``, which
    is meant where none is given, has no residuals and no singular values; ``gelsd`` and ``gelss``
    have all; ``gels``, for matrices of full rank, has no rank, and raises LinAlgError for others.
    Singular values up to *rcond* times the largest count as 0; by default that is the dtype's
    precision times the larger of m and n. What a driver does not have is empty. RuntimeError where
    shapes or dtypes do not fit; LinAlgError for elements of *input* that are not finite.
    """
    check_tensors("linalg_lstsq", input=input, b=b)
    driver = "gelsy" if driver is None else driver
    _check(input, b, driver)
    vector = len(input._s) > len(b._s)
    other, a = equal_batches(b.unsqueeze(-1) if vector else b, input)
    m, n = a._s[-2:]
    if other._s[-2] != m:
        raise RuntimeError(
            f"{_NAME}: input.size(-2) should match other.size({-1 if vector else -2})"
        )
    k = a._k
    rank = empty(0, dtype=dtypes.int64, device=k.device)
    values = empty(0, dtype=k.dtype.to_real(), device=k.device)
    if rcond is None:
        rcond = max(m, n) * dtypes.finfo(k.dtype).eps
    plain, right = a.detach(), other.detach()
    if driver == "gels":
        x = _of_full_rank(plain, right)
    else:
        x, found, counted, info = core("linalg_lstsq")(plain, right, rcond)
        raise_for(
            info,
            lambda where, _: (
                f"{_NAME}: {where}The least squares solution could not be computed because the "
                "input matrix contained non-finite values."
            ),
        )
        rank = _of_each(to_kind(counted, k.i64), input)
        values = values if driver == "gelsy" else _of_each(found, input)
    if is_grad_enabled() and (input.requires_grad or b.requires_grad):
        inverse = pseudo_inverse.linalg_pinv(plain, rcond)
        x = core("least_squares")(a, other, x, inverse)
    residuals = empty(0, dtype=k.dtype.to_real(), device=k.device)
    if m > n and driver != "gelsy" and (driver == "gels" or _is_full(rank, n)):
        residuals = (a @ x - other).abs().square().sum(-2)
    return _RESULTS(x.squeeze(-1) if vector else x, residuals, rank, values)


def _of_each(found: Tensor, x: Tensor) -> Tensor:
    """What was found for each matrix of *x*, without the dimensions that broadcasting repeated."""
    for d, n in enumerate(x._s[:-2]):
        if n != found._s[d]:
            found = found.narrow(d, 0, 1)
    return found.contiguous()


def _is_full(rank: Tensor, n: int) -> bool:
    return not rank._k.has_values or bool((rank == n).all())
