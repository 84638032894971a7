"""The pseudo-inverse and the rank of matrices, by their singular values or eigenvalues."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_float
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg.checks import check_precise
from tensorbus.ops.linalg.eigenvalues import eigvalsh, linalg_eigh
from tensorbus.ops.linalg.matrices import adjoint
from tensorbus.ops.linalg.singular_values import linalg_svd, svdvals
from tensorbus.rows.registry import row

# fmt: off
row("pseudo_inverse", "a:T, inverse:T",
    doc="The pseudo-inverse of *a*, which *inverse* is.",
    domain="float", kernel=None, node_name="LinalgPinvBackward0",
    composite=lambda F, a, inverse: inverse,
    a=lambda F, g, a, out: backward(F, g, a, out))
# fmt: on


def backward(F: Any, g: Any, a: Any, out: Any) -> Any:
    """-P^H g P^H + (I - A P) g^H P P^H + P^H P g^H (I - P A), P being the pseudo-inverse.

    That is the derivative where the rank stays what it is.
    """
    upper, g_upper = adjoint(F, out), adjoint(F, g)
    left = F.matmul(F.matmul(g_upper, out), upper)
    right = F.matmul(upper, F.matmul(out, g_upper))
    left = F.sub(left, F.matmul(a, F.matmul(out, left)))
    right = F.sub(right, F.matmul(F.matmul(right, out), a))
    return F.sub(F.add(left, right), F.matmul(F.matmul(upper, g), upper))


# -- what counts as zero ---------------------------------------------------------------------
Tolerance = Any
"""A number, a tensor of one for each matrix, or None."""


def _tolerance(name: str, argument: str, value: Tolerance, like: Tensor) -> Any:
    """A tolerance as a number, or as a tensor that broadcasts with (..., k) values."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        if value._k.dtype.is_complex:
            raise RuntimeError(
                f"torch.{name.replace('_', '.', 1)}: {argument} tensor of complex type is not "
                f"supported. Got {scalar_name(value._k.dtype)}"
            )
        check_device(like, value)
        return value.unsqueeze(-1)
    found = as_float(value)
    if found is None:
        raise type_error(name, argument, 2, "float", value)
    return found


def significant(values: Tensor, shape: tuple[int, ...], atol: Any, rtol: Any) -> Tensor:
    """Which of the values (..., k), that are not negative, are above the tolerances.

    They are the greater of *atol* and *rtol* times the largest value. Where none is given, *rtol*
    is the precision times the larger size of the matrices.
    """
    absolute, relative = 0.0 if atol is None else atol, rtol
    if relative is None:
        relative = max(shape[-2:]) * dtypes.finfo(values._k.dtype).eps
        if isinstance(absolute, Tensor):
            relative = (absolute <= 0) * relative
        elif absolute > 0:
            relative = 0.0
    if not values._s[-1]:
        return values != 0
    bound = relative * values.amax(-1, keepdim=True)
    if isinstance(absolute, Tensor):
        bound = absolute.maximum(bound)
    elif absolute > 0:
        bound = bound.clamp(min=absolute)
    return values > bound


# -- public ----------------------------------------------------------------------------------
@public(name="linalg_matrix_rank", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def matrix_rank(
    input: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """How many singular values are not 0: (..., m, n) -> (...), int64.

    Those count that are greater than *atol* and than *rtol* times the largest; *tol* is an *atol*
    without an *rtol*. Where none is given, *rtol* is the precision of the dtype times the larger of
    m and n. A tolerance is a number or a tensor that broadcasts with the result. With *hermitian*
    the absolute eigenvalues of the lower triangles are taken. LinAlgError for elements that are not
    finite.
    """
    check_tensors("linalg_matrix_rank", input=input)
    name = "torch.linalg.matrix_rank"
    if len(input._s) < 2:
        raise RuntimeError(f"{name}: The input tensor input must have at least 2 dimensions.")
    check_precise(name, input)
    x = input.detach()
    values = eigvalsh(x).abs() if hermitian else svdvals(x)
    called = "linalg_matrix_rank"
    atol = _tolerance(called, "atol", atol, values)
    rtol = _tolerance(called, "rtol", rtol, values)
    if tol is not None:
        atol, rtol = _tolerance(called, "tol", tol, values), 0.0
    return significant(values, tuple(input._s), atol, rtol).sum(-1)


@composed(node="LinalgPinvBackward0", layout="row_major", autocast="cpu float32")
def _inverted(input: Tensor, hermitian: bool, atol: Tolerance, rtol: Tolerance) -> Tensor:
    d = input._k.dtype
    if len(input._s) < 2 or d.category < dtypes.FLOAT or d.to_real().itemsize < 4:
        raise RuntimeError(
            f"linalg.pinv({scalar_name(d)}{{{list(input._s)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    x = input.detach()
    if hermitian:
        values, right = linalg_eigh(x)
        left, sizes = right.mH, values.abs()
    else:
        u, values, vh = linalg_svd(x, False)
        left, right, sizes = u.mH, vh.mH, values
    atol = _tolerance("linalg_pinv", "atol", atol, sizes)
    rtol = _tolerance("linalg_pinv", "rtol", rtol, sizes)
    counts = significant(sizes, tuple(input._s), atol, rtol)
    inverses = values.reciprocal().where(counts, 0.0)
    return core("pseudo_inverse")(input, right * inverses.unsqueeze(-2) @ left)


@public(name="linalg_pinv", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_pinv(
    input: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """The pseudo-inverses of matrices (Moore-Penrose): (..., m, n) -> (..., n, m).

    Singular values count as 0 up to the tolerances, which are those of ``linalg.matrix_rank``;
    *rcond* is an *rtol*. With *hermitian* eigenvalues take their place. The gradient is that of
    matrices of the same rank. LinAlgError for elements that are not finite; RuntimeError for less
    than two dimensions, for integers and for half precision.
    """
    check_tensors("linalg_pinv", input=input)
    return _inverted(input, hermitian, atol, rtol if rcond is None else rcond)


@public()
@autocasts("cpu float32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """``linalg.pinv`` under its older name: *rcond* is relative to the largest singular value."""
    check_tensors("pinverse", input=input)
    return _inverted(input, False, None, rcond)
