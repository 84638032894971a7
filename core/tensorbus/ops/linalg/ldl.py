"""The factorization L D L^T of symmetric or Hermitian matrices that need not be definite."""

from __future__ import annotations

from typing import Any

from tensorbus import return_types
from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg import pivoted_ldl
from tensorbus.ops.linalg.checks import check_factored, check_floating, check_square, raise_for
from tensorbus.ops.linalg.triangular import check_older
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import row


def refuse(F: Any, g: Any) -> Any:
    raise NotImplementedError(
        "the derivative of linalg.ldl_factor and linalg.ldl_solve is not implemented. "
        "Differentiate linalg.solve instead."
    )


# fmt: off
row("linalg_ldl", "a:T, hermitian",
    doc="The factors L and D of *a* in one matrix, the row with which each was exchanged, counted "
        "from 1 and negative for blocks of 2, and the number of the first zero in D, or 0.",
    results="LD:same pivots:int32 info:int32", column_major="LD", domain="float",
    composite=lambda F, a, hermitian: pivoted_ldl.factor(F, a, hermitian),
    a=refuse)
row("linalg_ldl_solve", "ld:T, pivots:int64, b:T, hermitian",
    doc="The solution of equations with the matrix whose factors *ld* and *pivots* are.",
    domain="float",
    composite=lambda F, ld, pivots, b, hermitian:
        pivoted_ldl.solve(F, ld, pivots, b, hermitian),
    ld=refuse, b=refuse)
# fmt: on

_FACTORS = result_type_of("linalg_ldl_factor", "LD pivots")
_FACTORS_EX = result_type_of("linalg_ldl_factor_ex", "LD pivots info")
_NAME = "torch.linalg.ldl_factor_ex"


def _factored(x: Tensor, hermitian: bool, checked_as: str) -> tuple[Tensor, Tensor, Tensor]:
    """The factors, pivots and info; *checked_as* is the name under which a zero is an error."""
    check_square(_NAME, x)
    check_floating(_NAME, x)
    check_factored("ldl_factor_kernel_cpu", x)
    made: tuple[Tensor, Tensor, Tensor] = core("linalg_ldl")(x, hermitian)
    if checked_as:
        raise_for(
            made[2],
            lambda where, at: (
                f"{checked_as}: {where}D[{at},{at}] is zero or not finite: the input matrix is "
                "singular, and using it on ldl_solve would result in a division by zero. "
                "linalg.ldl_factor_ex gives the factors all the same."
            ),
        )
    return made


@public(name="linalg_ldl_factor", function=False, method=False, out=SAME)
def ldl_factor(input: Tensor, *, hermitian: bool = False) -> return_types.linalg_ldl_factor:
    """(LD, pivots) with ``input = P L D L^T P^T``: L unit lower triangular, D of blocks of 1 or 2.

    (..., n, n) -> (..., n, n) and int32 (..., n), as ``linalg.ldl_solve`` takes them; LAPACK's
    form. Only the lower triangle is read. With *hermitian* complex matrices are Hermitian, else
    symmetric. There is no derivative. LinAlgError where D has a zero on its diagonal; RuntimeError
    for matrices that are not square and for integers.
    """
    check_tensors("linalg_ldl_factor", input=input)
    return _FACTORS(*_factored(input, hermitian, "torch.linalg.ldl_factor")[:2])


@public(name="linalg_ldl_factor_ex", function=False, method=False, out=SAME)
def ldl_factor_ex(
    input: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> return_types.linalg_ldl_factor_ex:
    """``linalg.ldl_factor`` and an int32 *info* for each matrix, without waiting for the device.

    info is 0, or the number of the first zero on D's diagonal, from 1.
    """
    check_tensors("linalg_ldl_factor_ex", input=input)
    return _FACTORS_EX(*_factored(input, hermitian, _NAME if check_errors else ""))


@public(name="linalg_ldl_solve", function=False, method=False, out=SAME)
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution of ``A @ X = B`` by A's factors, as ``linalg.ldl_factor`` gives them.

    (..., n, n), (..., n) and (..., n, k): batch dimensions broadcast. *hermitian* is that of the
    factorization. There is no derivative. RuntimeError where shapes, dtypes or pivots do not fit.
    """
    check_tensors("linalg_ldl_solve", LD=LD, pivots=pivots, B=B)
    name = "torch.linalg.ldl_solve"
    check_square(name, LD)
    check_floating(name, LD)
    check_older(name, name, LD, B)
    check_factored("ldl_solve_kernel_cpu", LD)
    check_device(LD, pivots)
    if tuple(pivots._s) != tuple(LD._s[:-1]):
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots._s)} instead"
        )
    if pivots._k.dtype.category != dtypes.INTEGER:
        raise RuntimeError(
            f"{name}: Expected pivots to be integers. Got {scalar_name(pivots._k.dtype)}"
        )
    n = LD._s[-1]
    index = to_kind(pivots, pivots._k.i64)
    _check_pivots(index, n)
    batch = broadcast_shapes(tuple(LD._s[:-2]), tuple(B._s[:-2]))
    made: Tensor = core("linalg_ldl_solve")(
        LD.expand(*batch, n, n), index.expand(*batch, n), B.expand(*batch, *B._s[-2:]), hermitian
    )
    return made


def _check_pivots(pivots: Tensor, n: int) -> None:
    """RuntimeError for rows that are not there, and for half a block, in any of a batch."""
    if not pivots._k.has_values or not pivots._s.numel():
        return
    found = every_value(pivots)
    wrong = "Did you properly pass the result of ldl_factor?"
    if abs(found).max() > n:
        raise RuntimeError(
            f"Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). {wrong}"
        )
    if abs(found).min() < 1:
        raise RuntimeError(f"Pivots given to ldl_solve must all satisfy |pivot| >= 1. {wrong}")
    for one in found.reshape(-1, n).tolist():
        k = 0
        while k < n:
            if one[k] < 0 and (k + 1 == n or one[k + 1] != one[k]):
                raise RuntimeError(
                    f"Negative pivots given to ldl_solve must come in pairs that are equal. {wrong}"
                )
            k += 1 if one[k] > 0 else 2
