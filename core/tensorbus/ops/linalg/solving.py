"""Systems of equations and inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import eye
from tensorbus.ops.linalg.checks import (
    check_factored,
    check_floating,
    check_precise,
    check_square,
    raise_for,
)
from tensorbus.ops.linalg.lu_functions import factors_of
from tensorbus.ops.linalg.triangular import (
    check_equation,
    check_older,
    check_same_dtype,
    equal_batches,
    solved,
)
from tensorbus.rows.layouts import broadcast_shapes

_SOLVED = result_type_of("linalg_solve_ex", "result info")
_INVERTED = result_type_of("linalg_inv_ex", "inverse info")


def _refuse_singular(name: str, info: Tensor) -> None:
    raise_for(
        info,
        lambda where, _: f"{name}: {where}The solver failed because the input matrix is singular.",
    )


def _refuse_no_inverse(name: str, info: Tensor) -> None:
    raise_for(
        info,
        lambda where, at: (
            f"{name}: {where}The diagonal element {at} is zero, the inversion could not be "
            "completed because the input matrix is singular."
        ),
    )


@composed(node="LinalgSolveExBackward0", layout="row_major", autocast="cpu float32")
def _solve(A: Tensor, B: Tensor, left: bool, checked_as: str) -> tuple[Tensor, Tensor]:
    """The solution and info; *checked_as* is the name under which singular matrices are errors."""
    name = "linalg.solve"
    check_floating(name, A)
    check_same_dtype(name, "A", A, "B", B)
    check_square(name, A)
    vector = len(B._s) == 1 or (len(A._s) - 1 == len(B._s) and A._s[:-1] == B._s)
    b = B.unsqueeze(-1) if vector else B
    check_equation(name, A, b, left)
    check_factored("lu", A)
    batch = broadcast_shapes(tuple(b._s[:-2]), tuple(A._s[:-2]))
    if left and A._s[:-2] == b._s[:-2]:
        x, info = core("linalg_solve")(A, b)
        if checked_as:
            _refuse_singular(checked_as, info)
        return x.squeeze(-1) if vector else x, info
    found = factors_of(A.detach())
    if checked_as:
        _refuse_singular(checked_as, found.info)
    lu, p = found.expanded(batch)
    a = A if A._s[:-2] == batch else A.expand(*batch, *A._s[-2:])
    b = b if b._s[:-2] == batch else b.expand(*batch, *b._s[-2:])
    x = core("solved")(a, lu, p, b, False) if left else core("solved")(a, lu, p, b.mH, True).mH
    return x.squeeze(-1) if vector else x, found.info


@public(name="linalg_solve", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution of ``A @ X = B`` for square *A*; without *left* that of ``X @ A = B``.

    (..., n, n) and (..., n, k), or vectors (..., n): batch dimensions broadcast. LinAlgError for a
    singular matrix; RuntimeError where shapes or dtypes do not fit.
    """
    check_tensors("linalg_solve", A=A, B=B)
    return _solve(A, B, left, "torch.linalg.solve")[0]


@public(name="linalg_solve_ex", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """``linalg.solve`` and an int32 *info* for each matrix of *A*: 0, or a zero pivot's place."""
    check_tensors("linalg_solve_ex", A=A, B=B)
    return _SOLVED(*_solve(A, B, left, "torch.linalg.solve_ex" if check_errors else ""))


def _inverse(A: Tensor, checked_as: str) -> tuple[Tensor, Tensor]:
    check_square("linalg.inv", A)
    check_precise("linalg.inv", A)
    x, info = core("linalg_inv")(A)
    if checked_as:
        _refuse_no_inverse(checked_as, info)
    return x, info


@public(name="linalg_inv", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def linalg_inv(A: Tensor) -> Tensor:
    """The inverses of square matrices (..., n, n); LinAlgError for one that has none."""
    check_tensors("linalg_inv", A=A)
    return _inverse(A, "linalg.inv")[0]


@public(name="linalg_inv_ex", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """``linalg.inv`` and an int32 *info* for each matrix: 0, or the place of a zero pivot."""
    check_tensors("linalg_inv_ex", A=A)
    return _INVERTED(*_inverse(A, "linalg.inv_ex" if check_errors else ""))


@public(out=SAME)
@autocasts("cpu float32")
def inverse(input: Tensor) -> Tensor:
    """``linalg.inv`` under its older name."""
    check_tensors("inverse", input=input)
    return _inverse(input, "linalg.inv")[0]


@public(out=SAME)
@composed(node="CholeskySolveBackward0", layout="row_major", autocast="cpu float32")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The solution of ``A @ X = input`` by A's Cholesky factor *input2*, lower or *upper*.

    (..., n, k) and (..., n, n): batch dimensions broadcast.
    """
    check_tensors("cholesky_solve", input=input, input2=input2)
    check_older("cholesky_solve", "cholesky_solve", input2, input)
    check_factored("cholesky_solve", input2)
    a, b = equal_batches(input2, input)
    first, second = (a.mH, a) if upper else (a, a.mH)
    return solved(second, solved(first, b, False), True)


@public(out=SAME)
@composed(node="CholeskyInverseBackward0", layout="row_major", autocast="cpu float32")
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is *input*, lower or *upper*.

    LinAlgError for a factor with a zero on its diagonal.
    """
    check_tensors("cholesky_inverse", input=input)
    check_square("cholesky_inverse", input)
    check_factored("cholesky_inverse", input)
    failed = input.detach().diagonal(0, -2, -1).eq(0)
    if failed._k.has_values and every_value(failed).any():
        first = failed.long().argmax(-1) + failed.any(-1)
        _refuse_no_inverse("cholesky_inverse", first)
    one = eye(input._s[-1], dtype=input._k.dtype, device=input._k.device)
    factor = input.mH if upper else input
    half = solved(factor, one, False)
    return half.mH @ half


# -- tensors as matrices ---------------------------------------------------------------------
@public(name="linalg_tensorinv", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of ``tensordot(input, x, input.ndim - ind)``: its last dimensions come first.

    The first *ind* dimensions have as many elements together as the others, else RuntimeError.
    LinAlgError where there is no inverse.
    """
    check_tensors("linalg_tensorinv", input=input)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, last = tuple(input._s[:ind]), tuple(input._s[ind:])
    rows, n = math.prod(first), math.prod(last)
    if rows != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {n} != {rows}"
        )
    check_floating("linalg.inv", input)
    return _inverse(input.reshape(rows, n), "inv")[0].reshape(*last, *first)


@public(name="linalg_tensorsolve", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """The x with ``tensordot(input, x, x.ndim)`` = *other*; *dims* of *input* go to its end first.

    The other dimensions of *input* have as many elements together as x, else RuntimeError.
    """
    check_tensors("linalg_tensorsolve", input=input, other=other)
    a = input
    if dims is not None:
        moved = [wrap_dim(d, len(a._s)) for d in dims]
        a = a.permute(*(d for d in range(len(a._s)) if d not in moved), *moved)
    last = tuple(a._s[len(other._s) :])
    rows, n = other._s.numel(), math.prod(last)
    if rows != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {n} != {rows}"
        )
    return linalg_solve(a.reshape(rows, n), other.reshape(-1)).reshape(last)
