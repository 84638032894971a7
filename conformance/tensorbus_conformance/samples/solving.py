"""The LU factorization, systems of equations, inverses, determinants, powers of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus.linalg import LinAlgError
from tensorbus_conformance.formats import FLOAT16, FLOAT32, FLOAT64, INT32, INT64
from tensorbus_conformance.op import E, Op, S, T
from tensorbus_conformance.samples.factorizations import (
    NAMED,
    PRECISE,
    RANKS,
    adjoint,
    regular,
)

_REALS = (FLOAT32, FLOAT64)


def turned(*shape: int) -> np.ndarray:
    """Regular matrices with their rows in the opposite order, so that pivots are sought."""
    *batch, m, n = shape
    k = max(m, n)
    return regular(*batch, k, k)[..., :m, :n][..., ::-1, :]


def _lu_of(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One matrix's factors and exchanges, by the textbook."""
    x, (m, n) = a.copy(), a.shape
    pivots = np.zeros(min(m, n), np.int64)
    for j in range(len(pivots)):
        chosen = j + int(np.argmax(np.abs(x[j:, j])))
        pivots[j] = chosen
        x[[j, chosen]] = x[[chosen, j]]
        if x[j, j] != 0:
            x[j + 1 :, j] /= x[j, j]
        x[j + 1 :, j + 1 :] -= np.outer(x[j + 1 :, j], x[j, j + 1 :])
    return x, pivots


def _lu_factor(a: Any, *, pivot: bool = True) -> Any:
    k = min(a.shape[-2:])
    factors, pivots = np.empty_like(a), np.empty((*a.shape[:-2], k), np.int32)
    for at in np.ndindex(a.shape[:-2]):
        factors[at], pivots[at] = _lu_of(a[at])
    return factors, pivots + np.int32(1)


def _lu_factor_ex(a: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    lu, pivots = _lu_factor(a)
    failed = np.diagonal(lu, axis1=-2, axis2=-1) == 0
    info = np.where(failed.any(-1), failed.argmax(-1) + 1, 0) if failed.shape[-1] else 0
    return lu, pivots, np.broadcast_to(np.int32(info), a.shape[:-2])


def _exchanged(pivots: np.ndarray, m: int) -> np.ndarray:
    """P with ``A = P L U``."""
    made = np.empty((*pivots.shape[:-1], m, m))
    for at in np.ndindex(pivots.shape[:-1]):
        rows = np.eye(m)
        for i, chosen in enumerate(pivots[at] - 1):
            rows[[i, chosen]] = rows[[chosen, i]]
        made[at] = rows.T
    return made


def _lu(a: Any, *, pivot: bool = True) -> Any:
    return _unpack(*_lu_factor(a))


def _unpack(lu: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    m, n = lu.shape[-2:]
    k, none = min(m, n), np.zeros(0, lu.dtype)
    lower = np.tril(lu[..., :k], -1) + np.eye(m, k)
    p = _exchanged(pivots, m).astype(lu.dtype) if unpack_pivots else none
    return (p, lower, np.triu(lu[..., :k, :])) if unpack_data else (p, none, none)


def _lu_solve(lu: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    p, lower, upper = _unpack(lu, pivots)
    a = p @ lower @ upper
    return _solve(_adjoint(a) if adjoint else a, b, left=left)


_adjoint = adjoint


def _solve(a: Any, b: Any, *, left: bool = True) -> Any:
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        return np.linalg.solve(a, b[..., None])[..., 0]
    if left:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def _solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    return _solve(a, b, left=left), np.zeros(a.shape[:-2], np.int32)


def _inv_ex(a: Any, *, check_errors: bool = False) -> Any:
    return np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)


def _cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    factor = adjoint(np.triu(factor)) if upper else np.tril(factor)
    return np.linalg.solve(factor @ adjoint(factor), b)


def _cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    factor = adjoint(np.triu(factor)) if upper else np.tril(factor)
    return np.linalg.inv(factor @ adjoint(factor))


def _tensorinv(a: Any, ind: int = 2) -> Any:
    n = math.prod(a.shape[:ind])
    return np.linalg.inv(a.reshape(n, n)).reshape(*a.shape[ind:], *a.shape[:ind])


SOLVING: dict[str, Any] = {
    "dtypes": PRECISE, "ulp": 64.0, "measure": "norm", "family": "linalg", "grad_ulp": 256.0,
    "layouts": ("transposed", "strided"),
}  # fmt: skip
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
_ZERO_IN_BATCH = np.stack([np.eye(2), np.zeros((2, 2))])
_FAILED = r"torch\.linalg\.solve: {}The solver failed because the input matrix is singular\."
INVERSE = (
    "linalg.inv{}: {}The diagonal element {} is zero, the inversion could not be completed because "
    r"the input matrix is singular\."
)
_ZERO_PIVOT = (
    r"torch\.linalg\.lu_factor{}: {}U\[{},{}\] is zero and using it on lu_solve would result in a "
    "division by zero. If you still want to perform the factorization, consider calling "
    r"linalg\.lu\(A, pivot\) or linalg\.lu_factor_ex\(A, pivot\)"
)
_EQUATION = r"{}Incompatible shapes of A and B for the equation {} = B \({}\)"
LOW = "{}: Low precision dtypes not supported. Got Half"
_WHOLE = "{}: Expected a floating point or complex tensor as input. Got Long"


def square_errors(name: str) -> list[Any]:
    return [
        E("vector", RuntimeError, RANKS.format(f"{name}: ", "A"), T(3)),
        E("oblong", RuntimeError, NAMED.format(f"{name}: "), T(2, 3)),
        E("integers", RuntimeError, _WHOLE.format(name), T(2, 2), dtype=INT64),
    ]


def _inverse_errors(name: str) -> list[Any]:
    return [
        *square_errors("linalg.inv"),
        E("half", RuntimeError, LOW.format("linalg.inv"), T(2, 2), dtype=FLOAT16),
        E("singular", LinAlgError, INVERSE.format(name, "", 2), T(data=SINGULAR)),
        E("batch", LinAlgError, INVERSE.format(name, r"\(Batch element 1\): ", 1),
          T(data=_ZERO_IN_BATCH)),
    ]  # fmt: skip


MATRICES = [
    S("three", T(data=turned(3, 3))),
    S("one", T(data=turned(1, 1))),
    S("batch", T(data=turned(2, 1, 4, 4))),
    S("many", T(data=turned(100, 3, 3), grad=False)),
    S("blocks", T(data=turned(40, 40), grad=False)),
    S("no-matrix", T(0, 3, 3)),
    S("no-rows", T(2, 0, 0)),
]
_OBLONG = [
    S("square", T(data=turned(3, 3))),
    S("tall", T(data=turned(5, 3))),
    S("wide", T(data=turned(3, 5))),
    S("batch", T(data=turned(2, 1, 4, 4))),
    S("blocks", T(data=turned(40, 70), grad=False)),
    S("many", T(data=turned(100, 3, 2), grad=False)),
    S("no-matrix", T(0, 3, 2)),
    S("no-columns", T(2, 3, 0)),
]
_EQUATIONS = [
    S("columns", T(data=turned(3, 3)), T(3, 2)),
    S("vector", T(data=turned(3, 3)), T(3)),
    S("vectors", T(data=turned(2, 3, 3)), T(2, 3)),
    S("right", T(data=turned(3, 3)), T(2, 3), left=False),
    S("batches", T(data=turned(2, 1, 3, 3)), T(4, 3, 2)),
    S("one-matrix", T(data=turned(3, 3)), T(2, 3, 2)),
    S("many", T(data=turned(100, 3, 3), grad=False), T(100, 3, 2, grad=False)),
    S("blocks", T(data=turned(40, 40), grad=False), T(40, 3, grad=False)),
    S("no-columns", T(data=turned(3, 3)), T(3, 0)),
    S("no-rows", T(0, 0), T(0, 2)),
]
_PIVOTS = T(data=np.array([3, 2, 3]), dtype=INT32)


def _older(name: str, upper: bool = False) -> list[Any]:
    return [
        E("vector", RuntimeError, "b should have at least 2 dimensions, but has 1 dimensions "
          "instead", T(3), T(3, 3)),
        E("oblong", RuntimeError, NAMED.format(""), T(2, 2), T(2, 3)),
        E("shapes", RuntimeError, f"Incompatible matrix sizes for {name}: each A matrix is 3 by 3 "
          "but each b matrix is 4 by 2", T(4, 2), T(3, 3)),
    ]  # fmt: skip


OPS = [
    Op("linalg.lu_factor", _lu_factor, _OBLONG, result=("same", INT32), **SOLVING,
       errors=[
           E("vector", RuntimeError, r"torch\.lu_factor: Expected tensor with 2 or more "
             r"dimensions\. Got size: \[3\] instead", T(3)),
           E("half", NotImplementedError, "\"lu\" not implemented for 'Half'", T(2, 2),
             dtype=FLOAT16),
           E("zero", RuntimeError, _ZERO_PIVOT.format("", "", 2, 2), T(data=SINGULAR)),
           E("batch", RuntimeError, _ZERO_PIVOT.format("", r"\(Batch element 1\): ", 1, 1),
             T(data=_ZERO_IN_BATCH)),
           E("pivot", RuntimeError, r"linalg\.lu_factor: LU without pivoting is not implemented: "
             "use pivot=True", T(2, 2), pivot=False),
       ]),
    Op("linalg.lu_factor_ex", _lu_factor_ex,
       [*_OBLONG, S("zero", T(data=SINGULAR, grad=False)),
        S("zeros", T(data=np.zeros((2, 3, 3)), grad=False)),
        S("many-zeros", T(data=turned(100, 3, 3) * np.arange(100)[:, None, None], grad=False))],
       result=("same", INT32, INT32), **SOLVING,
       errors=[E("checked", RuntimeError, _ZERO_PIVOT.format("_ex", "", 1, 1),
                 T(data=np.zeros((2, 2))), check_errors=True)]),
    Op("lu", lambda a, pivot=True, get_infos=False: (_lu_factor_ex if get_infos else _lu_factor)(a),
       [*_OBLONG, S("infos", T(data=turned(3, 3)), get_infos=True),
        S("zero", T(data=SINGULAR, grad=False))],
       result=("same", INT32, INT32), inplace=False, **SOLVING),
    Op("linalg.lu", _lu, _OBLONG, result=("same", "same", "same"), **SOLVING,
       errors=[E("vector", RuntimeError, r"linalg\.lu: Expected tensor with 2 or more dimensions\."
                 r" Got size: \[3\] instead", T(3))]),
    Op("lu_unpack", _unpack,
       [
           S("square", T(data=turned(3, 3)), _PIVOTS),
           S("tall", T(data=turned(4, 3)), _PIVOTS),
           S("wide", T(data=turned(3, 4)), _PIVOTS),
           S("pivots", T(data=turned(3, 3), grad=False), _PIVOTS, False),
           S("data", T(data=turned(3, 3)), _PIVOTS, True, False),
       ],
       result=("same", "same", "same"), **SOLVING,
       errors=[
           E("dtype", RuntimeError, r"torch\.lu_unpack: LU_pivots is expected to be a contiguous "
             r"tensor of torch\.int32 dtype\.", T(3, 3), T(3, dtype=INT64)),
           E("range", RuntimeError, r"pivots passed to lu_unpack must be between 1 and "
             r"LU\.size\(-2\) inclusive\.Did you properly pass the result of lu_factor\?",
             T(2, 2), T(data=np.array([1, 3]), dtype=INT32)),
           E("pivots", RuntimeError, r"pivots passed to lu_unpack must be between 1 and "
             r"LU\.size\(-2\) inclusive\.Did you properly pass the result of lu_factor\?",
             T(2, 2), T(data=np.array([1]), dtype=INT32)),
       ]),
    Op("linalg.lu_solve", _lu_solve,
       [
           S("columns", T(data=regular(3, 3)), _PIVOTS, T(3, 2)),
           S("adjoint", T(data=regular(3, 3)), _PIVOTS, T(3, 2), adjoint=True),
           S("right", T(data=regular(3, 3)), _PIVOTS, T(2, 3), left=False),
           S("right-adjoint", T(data=regular(3, 3)), _PIVOTS, T(2, 3), left=False, adjoint=True),
           S("one-matrix", T(data=regular(3, 3)), _PIVOTS, T(2, 3, 2)),
       ],
       **SOLVING,
       errors=[
           E("dtype", RuntimeError, r"linalg\.lu_solve: pivots should be a Tensor of scalar type "
             r"torch\.int32", T(3, 3), T(3, dtype=INT64), T(3, 2)),
           E("pivots", RuntimeError, r"linalg\.lu_solve: Number of pivots per batch should be same "
             "as the dimension of the matrix", T(2, 2), _PIVOTS, T(2, 2)),
           E("range", RuntimeError, "Pivots given to lu_solve must all be smaller or equal to "
             r"LU\.size\(-2\)\. Did you properly pass the result of lu_factor\?",
             T(2, 2), T(data=np.array([1, 3]), dtype=INT32), T(2, 2)),
           E("vector", RuntimeError, RANKS.format(r"linalg\.lu_solve: ", "B"), T(3, 3), _PIVOTS,
             T(3)),
           E("shapes", RuntimeError, _EQUATION.format("linalg.lu_solve: ", "AX", "3x3 and 4x2"),
             T(3, 3), _PIVOTS, T(4, 2)),
       ]),
    Op("lu_solve", lambda b, lu, pivots: _lu_solve(lu, pivots, b),
       [S("columns", T(3, 2), T(data=regular(3, 3)), _PIVOTS)], **SOLVING,
       errors=[E("vector", RuntimeError, RANKS.format(r"linalg\.lu_solve: ", "B"), T(3), T(3, 3),
                 _PIVOTS)]),
    Op("linalg.solve", _solve, _EQUATIONS, **SOLVING,
       errors=[
           E("oblong", RuntimeError, NAMED.format("linalg.solve: "), T(2, 3), T(2, 1)),
           E("vector", RuntimeError, RANKS.format("linalg.solve: ", "A"), T(3), T(3, 1)),
           E("integers", RuntimeError, _WHOLE.format("linalg.solve"), T(2, 2), T(2, 2),
             dtype=INT64),
           E("half", NotImplementedError, "\"lu\" not implemented for 'Half'", T(2, 2), T(2, 2),
             dtype=FLOAT16),
           E("shapes", RuntimeError, _EQUATION.format("linalg.solve: ", "AX", "3x3 and 4x2"),
             T(3, 3), T(4, 2)),
           E("vector-shapes", RuntimeError,
             _EQUATION.format("linalg.solve: ", "AX", "3x3 and 4x1"), T(3, 3), T(4)),
           E("right", RuntimeError, _EQUATION.format("linalg.solve: ", "XA", "3x3 and 3x2"),
             T(3, 3), T(3, 2), left=False),
           E("dtypes", RuntimeError, r"linalg\.solve: Expected A and B to have the same dtype, but "
             "found A of type Float and B of type Long instead", T(3, 3), T(3, 2, dtype=INT64)),
           E("batches", RuntimeError, r"The size of tensor a \(5\) must match the size of tensor b "
             r"\(2\) at non-singleton dimension 0", T(2, 3, 3), T(5, 3, 1)),
           E("singular", LinAlgError, _FAILED.format(""), T(data=SINGULAR), T(2, 1)),
           E("batch", LinAlgError, _FAILED.format(r"\(Batch element 1\): "),
             T(data=_ZERO_IN_BATCH), T(2, 2)),
       ]),
    Op("linalg.solve_ex", _solve_ex, _EQUATIONS[:6], result=("same", INT32), **SOLVING,
       errors=[E("checked", LinAlgError, _FAILED.format("").replace("solve:", "solve_ex:"),
                 T(data=SINGULAR), T(2, 1), check_errors=True)]),
    Op("linalg.inv", np.linalg.inv, MATRICES, **SOLVING, errors=_inverse_errors("")),
    Op("inverse", np.linalg.inv, MATRICES, **SOLVING, errors=_inverse_errors("")),
    Op("linalg.inv_ex", _inv_ex, MATRICES, result=("same", INT32), **SOLVING,
       errors=[E("checked", LinAlgError, INVERSE.format("_ex", "", 2), T(data=SINGULAR),
                 check_errors=True)]),
    Op("cholesky_solve", _cholesky_solve,
       [
           S("lower", T(3, 2), T(data=regular(3, 3))),
           S("upper", T(3, 2), T(data=regular(3, 3)), True),
           S("batches", T(4, 3, 2), T(data=regular(2, 1, 3, 3))),
           S("no-columns", T(3, 0), T(data=regular(3, 3))),
       ], **SOLVING, errors=_older("cholesky_solve")),
    Op("cholesky_inverse", _cholesky_inverse,
       [S("lower", T(data=regular(3, 3))), S("upper", T(data=regular(3, 3)), upper=True),
        S("batch", T(data=regular(2, 3, 3))), S("no-rows", T(0, 0))], **SOLVING,
       errors=[
           *square_errors("cholesky_inverse")[:2],
           E("zero", LinAlgError, "cholesky_inverse: The diagonal element 2 is zero, the inversion "
             r"could not be completed because the input matrix is singular\.",
             T(data=np.diag([1.0, 0.0]))),
       ]),
    Op("linalg.tensorinv", _tensorinv,
       [S("two", T(data=turned(6, 6).reshape(2, 3, 6))),
        S("one", T(data=turned(6, 6).reshape(6, 3, 2)), ind=1)], **SOLVING,
       errors=[
           E("zero", RuntimeError, "Expected a strictly positive integer for 'ind', but got 0",
             T(2, 2), ind=0),
           E("shapes", RuntimeError, r"Expected self to satisfy the requirement "
             r"prod\(self\.shape\[ind:\]\) == prod\(self\.shape\[:ind\]\), but got 3 != 12",
             T(6, 2, 3)),
           E("singular", LinAlgError, INVERSE.format("", "", 1).replace("linalg.", "", 1),
             T(data=np.zeros((2, 1, 2)))),
       ]),
    Op("linalg.tensorsolve",
       lambda a, b, dims=None: np.linalg.tensorsolve(a, b, axes=dims),
       [S("plain", T(data=turned(6, 6).reshape(2, 3, 6)), T(2, 3)),
        S("vector", T(data=turned(6, 6).reshape(6, 2, 3)), T(6)),
        S("dims", T(data=turned(6, 6).reshape(6, 3, 2)), T(3, 2), dims=(0,))], **SOLVING,
       errors=[E("shapes", RuntimeError, r"Expected self to satisfy the requirement "
                 r"prod\(self\.shape\[other\.ndim:\]\) == prod\(self\.shape\[:other\.ndim\]\), but "
                 "got 5 != 6", T(2, 3, 5), T(2, 3))]),
]  # fmt: skip
