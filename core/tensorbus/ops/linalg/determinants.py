"""Determinants, by the LU factorization."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import eye
from tensorbus.ops.linalg.checks import (
    check_factored,
    check_floating,
    check_precise,
    check_square,
)
from tensorbus.ops.linalg.lu import factors
from tensorbus.ops.linalg.lu_functions import factors_of
from tensorbus.ops.linalg.matrices import adjoint, conjugated, diagonal
from tensorbus.rows.registry import row

# fmt: off
row("linalg_det", "a:T",
    doc="The determinants of square matrices.",
    domain="float",
    composite=lambda F, a: F.determinant(a, *factors(F, a)[:2]))
row("linalg_slogdet", "a:T",
    doc="The signs and the logarithms of the absolute values of the determinants of real matrices.",
    results="sign:same logabsdet:same", domain="ordered float",
    composite=lambda F, a: _sign_and_logarithm(F, a, *factors(F, a)[:2]))
row("determinant", "a:T, lu:T, p:int64",
    doc="The determinant of *a* by the factors that *lu* and *p* are.",
    domain="float", kernel=None, node_name="LinalgDetBackward0",
    composite=lambda F, a, lu, p: F.mul(
        F.prod(diagonal(F, lu), (len(lu.shape) - 2,)), _exchange_sign(F, p)),
    a=lambda F, g, a, lu, p: _determinant_backward(F, g, a, lu, p))
row("log_determinant", "a:T, lu:T, p:int64",
    doc="The logarithm of the absolute determinant of *a* by the factors that *lu* and *p* are.",
    domain="ordered float", kernel=None, node_name="LinalgSlogdetBackward0",
    composite=lambda F, a, lu, p: F.sum(
        F.log(F.abs(diagonal(F, lu))), (len(lu.shape) - 2,)),
    a=lambda F, g, a, lu, p: F.mul(_spread(F, g), adjoint(F, F.inverted(a, lu, p))))
row("determinant_sign", "lu:T, p:int64",
    doc="The sign of the determinant whose matrix has the factors that *lu* and *p* are.",
    domain="ordered float", kernel=None,
    composite=lambda F, lu, p: F.mul(
        F.prod(F.sign(diagonal(F, lu)), (len(lu.shape) - 2,)), _exchange_sign(F, p)))
row("without_zero_pivots", "lu:T",
    doc="*lu* with the precision of its dtype in place of zeros on the diagonal.",
    domain="float", kernel=None,
    composite=lambda F, lu: _without_zero_pivots(F, lu))
# fmt: on


def _sign_and_logarithm(F: Any, a: Any, lu: Any, p: Any) -> tuple[Any, Any]:
    return F.determinant_sign(lu, p), F.log_determinant(a, lu, p)


def _exchange_sign(F: Any, p: Any) -> Any:
    """-1 for an odd number of exchanges of two different rows, else 1."""
    index = F.i64
    n, last = p.shape[-1], len(p.shape) - 1
    moved = index.cast(index.ne(p, index.arange(n, 0, 1)), F.bool)
    odd = index.bitwise_and(index.sum(moved, (last,)), index.number(1))
    sign = index.sub(index.number(1), index.mul(index.as_array(odd), index.number(2)))
    return F.cast(index.as_array(sign), index)


def _without_zero_pivots(F: Any, lu: Any) -> Any:
    made = F.clone(lu)
    pivots = diagonal(F, made)
    least = F.number(dtypes.finfo(F.dtype).eps)
    F.copy_(pivots, F.where(F.eq(pivots, 0), least, pivots))
    return made


def _spread(F: Any, g: Any) -> Any:
    """A number for each matrix as matrices that broadcast."""
    return F.reshape(g, (*g.shape, 1, 1))


def _determinant_backward(F: Any, g: Any, a: Any, lu: Any, p: Any) -> Any:
    """The determinant times the inverse: of a singular matrix both are of one close to it."""
    lu = F.without_zero_pivots(lu)
    scale = F.mul(g, conjugated(F, F.determinant(a, lu, p)))
    return F.mul(_spread(F, scale), adjoint(F, F.inverted(a, lu, p)))


# -- public ----------------------------------------------------------------------------------
def _determinant(name: str, A: Tensor) -> Tensor:
    check_square(name, A)
    check_floating(name, A)
    check_factored("lu", A)
    return core("linalg_det")(A)


@public(name="linalg_det", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_det(A: Tensor) -> Tensor:
    """The determinants of square matrices: (..., n, n) -> (...)."""
    check_tensors("linalg_det", A=A)
    return _determinant("linalg.det", A)


@public()
@autocasts("cpu float32")
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices: (..., n, n) -> (...)."""
    check_tensors("det", input=input)
    return _determinant("linalg.det", input)


_SIGNED = result_type_of("linalg_slogdet", "sign logabsdet")
_OLDER = result_type_of("slogdet", "sign logabsdet")


def _signed(name: str, A: Tensor) -> tuple[Tensor, Tensor]:
    check_square(name, A)
    check_precise(name, A)
    if not A._k.dtype.is_complex:
        return core("linalg_slogdet")(A)
    found = factors_of(A)  # which records
    pivots = found.lu.diagonal(0, -2, -1)
    size = pivots.abs()
    unit = (pivots / size.where(size != 0, 1)).prod(-1)
    one = eye(A._s[-1], dtype=size._k.dtype, device=A._k.device).expand(A._s)
    return unit * core("determinant_sign")(one, found.p), size.log().sum(-1)


@public(name="linalg_slogdet", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The signs and the logarithms of the absolute values of the determinants.

    (..., n, n) -> (...) and (...): 0 and -inf for a singular matrix.
    """
    check_tensors("linalg_slogdet", A=A)
    made: tuple[Tensor, Tensor] = _SIGNED(*_signed("linalg.slogdet", A))
    return made


@public(out=SAME)
@autocasts("cpu float32")
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """``linalg.slogdet``."""
    check_tensors("slogdet", input=input)
    made: tuple[Tensor, Tensor] = _OLDER(*_signed("linalg.slogdet", input))
    return made


@public()
@composed(node="WhereBackward0", autocast="cpu float32")
def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants: NaN for a negative one, -inf for 0."""
    check_tensors("logdet", input=input)
    sign, size = _signed("logdet", input)
    return size + sign.log()
