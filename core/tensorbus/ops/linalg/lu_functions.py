"""``lu_factor``, ``lu``, ``lu_solve``, ``lu_unpack``: the LU factorization as users call it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorbus._base.dtypes import int32
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import empty
from tensorbus.ops.linalg.checks import check_factored, check_square, deprecated, raise_for
from tensorbus.ops.linalg.triangular import check_equation, check_same_dtype, solved
from tensorbus.rows.layouts import broadcast_shapes


class Factors(NamedTuple):
    """An LU factorization."""

    lu: Tensor
    given: Tensor
    """The row with which each was exchanged, an int32 from 0."""
    info: Tensor

    @property
    def p(self) -> Tensor:
        """The exchanges as int64."""
        return to_kind(self.given, self.lu._k.i64)

    def expanded(self, batch: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """``lu`` and ``p`` for a batch of this shape."""
        if self.lu._s[:-2] == batch:
            return self.lu, self.p
        return (
            self.lu.expand(*batch, *self.lu._s[-2:]),
            self.p.expand(*batch, self.given._s[-1]),
        )


def factors_of(x: Tensor) -> Factors:
    """The factorization of the matrices of a tensor."""
    return Factors(*core("linalg_lu")(x))


_FACTOR = result_type_of("linalg_lu_factor", "LU pivots")
_FACTOR_EX = result_type_of("linalg_lu_factor_ex", "LU pivots info")
_LU = result_type_of("linalg_lu", "P L U")
_UNPACKED = result_type_of("lu_unpack", "P L U")


def _check_matrices(name: str, x: Tensor) -> None:
    if len(x._s) < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(x._s)} instead"
        )


def _factored(x: Tensor, pivot: bool) -> Factors:
    _check_matrices("torch.lu_factor", x)
    check_factored("lu", x)
    if not pivot:
        raise RuntimeError(
            "linalg.lu_factor: LU without pivoting is not implemented: use pivot=True"
        )
    return factors_of(x)


def _pivots(found: Factors) -> Tensor:
    """The exchanges as users see them, counted from 1."""
    return core("add")(found.given, 1)


def _refuse_zero(name: str, info: Tensor) -> None:
    raise_for(
        info,
        lambda where, at: (
            f"{name}: {where}U[{at},{at}] is zero and using it on lu_solve would result in a "
            "division by zero. If you still want to perform the factorization, consider calling "
            "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        ),
        RuntimeError,
    )


@public(name="linalg_lu_factor", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """The LU factorization of matrices with row exchanges: both factors in one, and the pivots.

    (..., m, n) -> (..., m, n) and int32 (..., min(m, n)): row i was exchanged with row
    ``pivots[i]``, counted from 1. RuntimeError where U has a zero on the diagonal.
    """
    check_tensors("linalg_lu_factor", A=A)
    found = _factored(A, pivot)
    _refuse_zero("torch.linalg.lu_factor", found.info)
    return _FACTOR(found.lu, _pivots(found))


@public(name="linalg_lu_factor_ex", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """``linalg.lu_factor`` and an int32 *info* for each matrix, without waiting for the device.

    info is 0, or the place of the first zero on U's diagonal, from 1.
    """
    check_tensors("linalg_lu_factor_ex", A=A)
    found = _factored(A, pivot)
    if check_errors:
        _refuse_zero("torch.linalg.lu_factor_ex", found.info)
    return _FACTOR_EX(found.lu, _pivots(found), found.info)


def _triangles(lu: Tensor, node: str) -> tuple[Tensor, Tensor]:
    """L and U, whose nodes are called so."""
    lower, upper = core("triangular_factors")(lu)
    for t in (lower, upper):
        if t._e is not None:
            name_node(t, node)
    return lower, upper


@public(name="linalg_lu", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """The factors P, L, U with ``A = P @ L @ U``: exchanges, lower and upper triangular.

    (..., m, n) -> (..., m, m), (..., m, k) and (..., k, n), k = min(m, n).
    """
    check_tensors("linalg_lu", A=A)
    _check_matrices("linalg.lu", A)
    lu, given, _ = _factored(A, pivot)
    lower, upper = _triangles(lu, "LinalgLuBackward0")
    del lu  # P takes its memory
    return _LU(core("exchange_matrix")(A.detach(), to_kind(given, given._k.i64)), lower, upper)


def _from_zero(pivots: Tensor) -> Tensor:
    index = pivots._k.i64
    return to_kind(pivots.detach(), index) - 1


@autocasts("cpu float32")
def _lu_function(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """``linalg.lu_factor_ex`` under its older name; without *get_infos* no info is returned.

    Returns a tuple. A zero pivot is no error.
    """
    check_tensors("lu", A=A)
    deprecated("lu", "linalg.lu_factor(A, pivot)")
    found = _factored(A, pivot)
    if get_infos:
        return found.lu, _pivots(found), found.info
    return found.lu, _pivots(found)


public(name="lu", method=False)(_lu_function)


def _lu_method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """``linalg.lu_factor_ex`` under its older name; without *get_infos* no info is returned."""
    return _lu_function(self, pivot, get_infos)


METHODS["lu"] = _lu_method


def _check_pivots(pivots: Tensor, n: int, small: str, large: str) -> None:
    if not pivots._k.has_values:
        return
    found = every_value(pivots)
    if found.size and found.min() < 1:
        raise RuntimeError(small)
    if found.size and found.max() > n:
        raise RuntimeError(large)


@public(method=False, out=SAME)
@autocasts("cpu float32")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U from what ``linalg.lu_factor`` gives; what is not wanted is an empty tensor."""
    check_tensors("lu_unpack", LU_data=LU_data, LU_pivots=LU_pivots)
    check_device(LU_data, LU_pivots)
    _check_matrices("torch.lu_unpack", LU_data)
    if unpack_pivots and LU_pivots._k.dtype is not int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype."
        )
    wrong = (
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
        "Did you properly pass the result of lu_factor?"
    )
    none = empty(0, dtype=LU_data._k.dtype, device=LU_data._k.device)
    p, lower, upper = none, none, none
    if unpack_pivots:
        expected = (*LU_data._s[:-2], min(LU_data._s[-2:]))
        if LU_pivots._s != expected:
            raise RuntimeError(wrong)
        _check_pivots(LU_pivots, LU_data._s[-2], wrong, wrong)
        p = core("exchange_matrix")(LU_data.detach(), _from_zero(LU_pivots))
    if unpack_data:
        lower, upper = _triangles(LU_data, "LuUnpackBackward0")
    return _UNPACKED(p, lower, upper)


@public(name="linalg_lu_solve", function=False, method=False, out=SAME)
@composed(node="LinalgLuSolveBackward0", layout="row_major", autocast="cpu float32")
def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The solution of ``A @ X = B`` by A's factors, as ``linalg.lu_factor`` gives them.

    Without *left* of ``X @ A = B``, with *adjoint* of ``A.mH`` in A's place. (..., n, n),
    (..., n) and (..., n, k): batch dimensions broadcast. RuntimeError where shapes, dtypes or
    pivots do not fit.
    """
    check_tensors("linalg_lu_solve", LU=LU, pivots=pivots, B=B)
    name = "linalg.lu_solve"
    check_factored("lu_solve", LU)
    if pivots._k.dtype is not int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_device(LU, pivots)
    check_same_dtype(name, "LU", LU, "B", B)
    check_square("torch.linalg.lu_solve", LU)
    check_equation(name, LU, B, left)
    n = LU._s[-1]
    if not pivots._s or pivots._s[-1] != n:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix"
        )
    given, passed = "Pivots given to lu_solve must all be", "Did you properly pass the result of"
    _check_pivots(
        pivots,
        n,
        f"{given} greater or equal to 1. {passed} lu_factor?",
        f"{given} smaller or equal to LU.size(-2). {passed} lu_factor?",
    )
    batch = broadcast_shapes(tuple(LU._s[:-2]), tuple(B._s[:-2]))
    lu, b = LU.expand(*batch, n, n), B.expand(*batch, *B._s[-2:])
    p = _from_zero(pivots).expand(*batch, n)
    if left:
        return _by_factors(lu, p, b, adjoint)
    return _by_factors(lu, p, b.mH, not adjoint).mH


def _by_factors(lu: Tensor, p: Tensor, b: Tensor, adjoint: bool) -> Tensor:
    if adjoint:
        x = solved(lu.mH, solved(lu.mH, b, False), True, True, True)
        return core("exchanged")(x, p, True)
    x = core("exchanged")(b, p, False)
    return solved(lu, solved(lu, x, False, True, True), True)


@public(out=SAME)
@autocasts("cpu float32")
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """``linalg.lu_solve(LU_data, LU_pivots, input)`` under its older name."""
    check_tensors("lu_solve", input=input, LU_data=LU_data, LU_pivots=LU_pivots)
    deprecated("lu_solve", "linalg.lu_solve(LU, pivots, B)")
    return linalg_lu_solve(LU_data, LU_pivots, input)
