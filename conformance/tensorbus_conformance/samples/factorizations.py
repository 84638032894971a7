"""Cholesky, and equations with triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.formats import FLOAT16, FLOAT32, FLOAT64, INT32, INT64
from tensorbus_conformance.op import COMPLEX, E, Op, S, T
from tensorbus_conformance.values import rng

PRECISE = (FLOAT32, FLOAT64, *COMPLEX)
"""The dtypes that matrices are factored in."""


def regular(*shape: int) -> np.ndarray:
    """Square matrices that are far from singular, and whose elements are all different."""
    n = shape[-1]
    return rng("regular", shape).uniform(-1, 1, shape) + 1.5 * np.sqrt(n) * np.eye(n)


def definite(*shape: int) -> np.ndarray:
    """Symmetric positive definite matrices."""
    a = regular(*shape)
    return a @ a.swapaxes(-1, -2) / shape[-1]


def adjoint(a: Any) -> Any:
    """The conjugated transposes."""
    return np.conj(np.swapaxes(a, -1, -2))


def cholesky(a: Any, upper: bool = False) -> Any:
    found = np.linalg.cholesky((a + adjoint(a)) / 2)
    return adjoint(found) if upper else found


def _cholesky_ex(a: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    return cholesky(a, upper), np.zeros(a.shape[:-2], np.int32)


def _triangle(a: Any, upper: bool, unit: bool) -> Any:
    found = np.triu(a) if upper else np.tril(a)
    if unit:
        eye = np.eye(a.shape[-1])
        found = found * (1 - eye) + eye
    return found


def _solve_triangular(
    a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    a = _triangle(a, upper, unitriangular)
    if left:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def _triangular_solve(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    copied = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    a = _triangle(a, upper, unitriangular)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transpose else a, b), copied


NAMED = r"{}A must be batches of square matrices, but they are 2 by 3 matrices"
RANKS = r"{}The input tensor {} must have at least 2 dimensions\."
_MINOR = (
    "{}The factorization could not be completed because the input is not positive-definite "
    r"\(the leading minor of order {} is not positive-definite\)\."
)
_HALF = "\"{}\" not implemented for 'Half'"
_BROKEN = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])


def failing(*names: str) -> list[Any]:
    """Matrices without a Cholesky factor, as each function says it."""
    from tensorbus.linalg import LinAlgError

    name = names[0]
    return [
        E("negative", LinAlgError, _MINOR.format(f"{name}: ", 2), T(data=np.diag([1.0, -1.0]))),
        E("zeros", LinAlgError, _MINOR.format(f"{name}: ", 1), T(data=np.zeros((2, 2)))),
        E("nan", LinAlgError, _MINOR.format(f"{name}: ", 1), T(data=np.full((2, 2), np.nan))),
        E("batch", LinAlgError, _MINOR.format(rf"{name}: \(Batch element 1\): ", 2),
          T(data=_BROKEN)),
        E("vector", RuntimeError, RANKS.format(f"{name}: ", "A"), T(3)),
        E("oblong", RuntimeError, NAMED.format(f"{name}: "), T(2, 3)),
        E("half", NotImplementedError, _HALF.format("cholesky"), T(2, 2), dtype=FLOAT16),
    ]  # fmt: skip


_FACTORED = [
    S("one", T(data=definite(1, 1))),
    S("three", T(data=definite(3, 3))),
    S("batch", T(data=definite(2, 1, 4, 4))),
    S("upper", T(data=definite(3, 3)), upper=True),
    S("blocks", T(data=definite(40, 40), grad=False)),
    S("no-matrix", T(0, 3, 3)),
    S("no-rows", T(2, 0, 0)),
]
_WRONG = "linalg.solve_triangular: "

OPS = [
    Op("linalg.cholesky", cholesky, _FACTORED, PRECISE, ulp=16.0, measure="norm",
       layouts=("transposed", "strided"), family="linalg", grad_ulp=64.0,
       errors=[*failing("linalg.cholesky"),
               E("integers", RuntimeError, "linalg.cholesky: Expected a floating point or complex "
                 "tensor as input. Got Long", T(2, 2), dtype=INT64)]),
    Op("cholesky", cholesky, _FACTORED, PRECISE, ulp=16.0, measure="norm",
       layouts=("transposed", "strided"), family="linalg", grad_ulp=64.0,
       errors=failing("cholesky")),
    Op("linalg.cholesky_ex", _cholesky_ex, _FACTORED, PRECISE, ulp=16.0, measure="norm",
       result=("same", INT32), layouts=("transposed", "strided"), family="linalg",
       grad_ulp=64.0,
       errors=[E("checked", failing("x")[0].error, _MINOR.format("linalg.cholesky_ex: ", 1),
                 T(data=-np.eye(2)), check_errors=True)]),
    Op("linalg.solve_triangular", _solve_triangular,
       [
           S("upper", T(data=regular(3, 3)), T(3, 2), upper=True),
           S("lower", T(data=regular(3, 3)), T(3, 2), upper=False),
           S("right", T(data=regular(3, 3)), T(2, 3), upper=True, left=False),
           S("right-lower", T(data=regular(3, 3)), T(2, 3), upper=False, left=False),
           S("unit", T(data=regular(3, 3)), T(3, 2), upper=True, unitriangular=True),
           S("unit-lower", T(data=regular(3, 3)), T(3, 1), upper=False, unitriangular=True),
           S("batches", T(data=regular(2, 1, 3, 3)), T(2, 3, 2), upper=True),
           S("one-matrix", T(data=regular(3, 3)), T(2, 3, 2), upper=False),
           S("blocks", T(data=regular(70, 70), grad=False), T(70, 2, grad=False), upper=True),
           S("blocks-lower", T(data=regular(70, 70), grad=False), T(70, 2, grad=False),
             upper=False),
           S("no-columns", T(data=regular(3, 3)), T(3, 0), upper=True),
           S("no-rows", T(0, 0), T(0, 2), upper=True),
           S("no-matrix", T(0, 3, 3), T(3, 2), upper=True),
       ],
       PRECISE, ulp=32.0, measure="norm", layouts=("transposed", "strided"), family="linalg",
       grad_ulp=64.0,
       errors=[
           E("vector", RuntimeError, RANKS.format(_WRONG, "B"), T(3, 3), T(3), upper=True),
           E("oblong", RuntimeError, NAMED.format(_WRONG), T(2, 3), T(2, 1), upper=True),
           E("shapes", RuntimeError, _WRONG + r"Incompatible shapes of A and B for the equation "
             r"AX = B \(3x3 and 4x2\)", T(3, 3), T(4, 2), upper=True),
           E("shapes-right", RuntimeError, _WRONG + r"Incompatible shapes of A and B for the "
             r"equation XA = B \(3x3 and 3x2\)", T(3, 3), T(3, 2), upper=True, left=False),
           E("batches", RuntimeError, r"The size of tensor a \(4\) must match the size of tensor b "
             r"\(2\) at non-singleton dimension 0", T(2, 3, 3), T(4, 3, 2), upper=True),
           E("half", NotImplementedError, _HALF.format("triangular_solve"), T(2, 2), T(2, 2),
             upper=True, dtype=FLOAT16),
           E("upper", TypeError, r"linalg_solve_triangular\(\) missing 1 required positional "
             'arguments: "upper"', T(2, 2), T(2, 2)),
       ]),
    Op("triangular_solve", _triangular_solve,
       [
           S("upper", T(3, 2), T(data=regular(3, 3))),
           S("lower", T(3, 2), T(data=regular(3, 3)), False),
           S("transpose", T(3, 2), T(data=regular(3, 3)), transpose=True),
           S("unit", T(3, 2), T(data=regular(3, 3)), unitriangular=True),
           S("batches", T(2, 3, 2), T(data=regular(2, 1, 3, 3))),
           S("no-columns", T(3, 0), T(data=regular(3, 3))),
       ],
       PRECISE, ulp=32.0, measure="norm", layouts=("transposed", "strided"), family="linalg",
       grad_ulp=64.0, result=("same", "same"),
       errors=[
           E("vector", RuntimeError, r"torch\.triangular_solve: Expected b to have at least 2 "
             "dimensions, but it has 1 dimensions instead", T(3), T(3, 3)),
           E("oblong", RuntimeError, NAMED.format(""), T(2, 2), T(2, 3)),
           E("shapes", RuntimeError, "Incompatible matrix sizes for triangular_solve: each A "
             "matrix is 3 by 3 but each b matrix is 4 by 2", T(4, 2), T(3, 3)),
           E("dtypes", RuntimeError, "Expected b and A to have the same dtype, but found b of type "
             r"Long and A of type Float instead\.", T(3, 2, dtype=INT64), T(3, 3)),
       ]),
]  # fmt: skip
