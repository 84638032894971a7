"""L D L^T of symmetric matrices, and functions of low rank."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import FLOAT16, INT32, INT64
from tensorbus_conformance.op import COMPLEX, E, Op, S, T
from tensorbus_conformance.samples.factorizations import NAMED, PRECISE, RANKS, adjoint, definite
from tensorbus_conformance.samples.orthogonal import REAL, symmetric
from tensorbus_conformance.samples.spectra import low
from tensorbus_conformance.values import rng


def indefinite(*shape: int) -> np.ndarray:
    """Symmetric matrices with small diagonals, so that D has blocks of 2."""
    a = rng("indefinite", shape).uniform(-1, 1, shape)
    return a + a.swapaxes(-1, -2) - 1.9 * np.eye(shape[-1]) * np.diagonal(a, 0, -2, -1)[..., None]


def _multiplied(ld: Any, pivots: Any, hermitian: bool) -> Any:
    """The matrix whose factors these are, from its last block to its first."""
    turn = np.conj if hermitian else np.asarray
    made = np.zeros_like(ld)
    for at in np.ndindex(ld.shape[:-2]):
        n, whole, starts, k = ld.shape[-1], np.zeros(ld.shape[-2:], ld.dtype), [], 0
        while k < n:
            starts.append(k)
            k += 1 if pivots[at][k] > 0 else 2
        for k in reversed(starts):
            size = 1 if pivots[at][k] > 0 else 2
            lower = np.eye(n, dtype=ld.dtype)
            lower[k + size :, k : k + size] = ld[at][k + size :, k : k + size]
            block = np.tril(ld[at][k : k + size, k : k + size])
            whole[k : k + size, k : k + size] = block + turn(np.tril(block, -1)).T
            whole = lower @ whole @ turn(lower).T
            rows = np.arange(n)
            last, other = k + size - 1, abs(int(pivots[at][k])) - 1
            rows[[last, other]] = rows[[other, last]]
            whole = whole[rows][:, rows]
        made[at] = whole
    return made


def _factored(a: Any, hermitian: bool = False) -> Any:
    """The matrix again: factors are LAPACK's, whichever rows it exchanges."""
    if not isinstance(a, tensorbus.Tensor):
        lower = np.tril(a)
        turn = np.conj if hermitian else np.asarray
        whole = lower + np.swapaxes(turn(np.tril(a, -1)), -1, -2)
        if hermitian:
            whole = whole - 1j * np.eye(a.shape[-1]) * whole.imag
        return whole
    found = tensorbus.linalg.ldl_factor(a, hermitian=hermitian)
    if a.is_meta:
        return found.LD
    made = _multiplied(found.LD.cpu().numpy(), found.pivots.cpu().numpy(), hermitian)
    return found.LD.copy_(tensorbus.tensor(made, device=a.device))  # where the factors lie


def _solved(a: Any, b: Any, hermitian: bool = False) -> Any:
    if not isinstance(a, tensorbus.Tensor):
        return np.linalg.solve(_factored(a, hermitian), b)
    found = tensorbus.linalg.ldl_factor(a, hermitian=hermitian)
    return tensorbus.linalg.ldl_solve(*found, b, hermitian=hermitian)


_EXACT = np.array([[4.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.25, 2.0, 0.0]])
"""Factors of a matrix with a block of 1 and a block of 2."""
_EXACT_PIVOTS = T(data=[1, -3, -3], dtype=INT32)


def _ldl_solve(ld: Any, pivots: Any, b: Any, *, hermitian: bool = False) -> Any:
    return np.linalg.solve(_multiplied(ld, pivots, hermitian), b)


_FACTOR = r"torch\.linalg\.ldl_factor_ex: "
_SOLVE = r"torch\.linalg\.ldl_solve: "
_PASS = r"Did you properly pass the result of ldl_factor\?"


def _ldl_errors() -> list[Any]:
    from tensorbus.linalg import LinAlgError

    zero = (
        r"torch\.linalg\.ldl_factor: {}D\[{},{}\] is zero or not finite: the input matrix is "
        "singular, and using it on ldl_solve would result in a division by zero. "
        "linalg.ldl_factor_ex gives the factors all the same."
    )
    half = "\"ldl_factor_kernel_cpu\" not implemented for 'Half'"
    return [
        E("singular", LinAlgError, zero.format("", 1, 1), T(data=np.zeros((2, 2)))),
        E("batch", LinAlgError, zero.format(r"\(Batch element 1\): ", 2, 2),
          T(data=[np.eye(2), np.diag([1.0, 0.0])])),
        E("vector", RuntimeError, RANKS.format(_FACTOR, "A"), T(3)),
        E("oblong", RuntimeError, NAMED.format(_FACTOR), T(2, 3)),
        E("integers", RuntimeError, _FACTOR + "Expected a floating point or complex tensor as "
          "input. Got Long", T(2, 2), dtype=INT64),
        E("half", NotImplementedError, half, T(2, 2), dtype=FLOAT16),
    ]  # fmt: skip


def _pivots(*values: int) -> T:
    return T(data=values, dtype=INT32)


_SOLVE_ERRORS = [
    E("vector", RuntimeError, RANKS.format(_SOLVE, "A"), T(3), _pivots(1, 2, 3), T(3, 1)),
    E("rows", RuntimeError, r"Incompatible matrix sizes for torch\.linalg\.ldl_solve: each A "
      "matrix is 2 by 2 but each b matrix is 3 by 1", T(2, 2), _pivots(1, 2), T(3, 1)),
    E("pivots", RuntimeError, _SOLVE + r"Expected LD\.shape\[:-1\] and pivots\.shape to be the "
      r"same, but got pivots with shape \[3\] instead", T(2, 2), _pivots(1, 2, 3), T(2, 1)),
    E("fractions", RuntimeError, _SOLVE + r"Expected pivots to be integers\. Got Float", T(2, 2),
      T(2), T(2, 1)),
    E("beyond", RuntimeError, r"Pivots given to ldl_solve must all satisfy \|pivot\| <= LD\.size\("
      r"-2\)\. " + _PASS, T(2, 2), _pivots(5, 2), T(2, 1)),
    E("zero", RuntimeError, r"Pivots given to ldl_solve must all satisfy \|pivot\| >= 1\. " + _PASS,
      T(2, 2), _pivots(0, 2), T(2, 1)),
    E("half-block", RuntimeError, "Negative pivots given to ldl_solve must come in pairs that are "
      r"equal\. " + _PASS, T(2, 2), _pivots(1, -2), T(2, 1)),
]  # fmt: skip


# -- low rank --------------------------------------------------------------------------------
def _values(name: str) -> Any:
    """The product of the factors, which are random, and the values."""

    def call(a: Any, *args: Any, **named: Any) -> Any:
        u, s, v = getattr(tensorbus, name)(a, *args, **named)
        return (u * s.unsqueeze(-2)) @ v.mH, s

    return call


def _low_rank(a: Any, q: int, M: Any = None, center: bool = False, **_: Any) -> Any:
    a = a - a.mean(-2, keepdims=True) if center else a
    a = a if M is None else a - M
    return a, np.linalg.svd(a, compute_uv=False)[..., :q]


def _centered(a: Any, q: int, center: bool = True, **_: Any) -> Any:
    return _low_rank(a, q, center=center)


def _lobpcg(a: Any, k: int, b: Any = None, largest: bool = True) -> Any:
    """Values, and vectors times their adjoints, which have no sign."""
    values: Any
    vectors: Any
    if isinstance(a, tensorbus.Tensor):
        values, vectors = tensorbus.lobpcg(a, k, b, largest=largest, tol=_TOLERANCE[a.dtype])
        return values, vectors @ vectors.mH
    factor = np.eye(a.shape[-1]) if b is None else np.linalg.cholesky(b)
    inverse = np.linalg.inv(factor)
    values, vectors = np.linalg.eigh(inverse @ a @ adjoint(inverse))
    at = slice(-1, -k - 1, -1) if largest else slice(0, k)
    vectors = adjoint(inverse) @ vectors[..., at]
    return values[..., at], vectors @ adjoint(vectors)


_TOLERANCE = {d: tensorbus.finfo(d).eps for d in (tensorbus.float32, tensorbus.float64)}
_MANY = "LOBPCG algorithm is not applicable when the number of A rows .=2. is smaller than 3 x .*"


_ANY: Any = {"ulp": 64.0, "measure": "norm", "layouts": ("transposed", "strided"),
             "family": "linalg"}  # fmt: skip

OPS = [
    Op("linalg.ldl_factor", _factored,
       [
           S("one", T(data=[[2.5]])),
           S("two", T(data=[[0.0, 1.0], [1.0, 0.0]])),
           S("three", T(data=indefinite(3, 3))),
           S("batch", T(data=indefinite(2, 1, 6, 6))),
           S("many", T(data=indefinite(70, 70))),
           S("hermitian", T(5, 5), True).only(*COMPLEX),
       ],
       PRECISE, call=_factored, gradient=False, **{**_ANY, "ulp": 512.0}),
    Op("linalg.ldl_factor-errors", lambda a: None, [], PRECISE,
       call=lambda a: tensorbus.linalg.ldl_factor(a), errors=_ldl_errors(), **_ANY),
    Op("linalg.ldl_factor_ex", lambda a, **_: (a, np.array([1, 2], np.int32), np.int32(2)),
       [S("singular", T(data=np.diag([2.0, 0.0])))],
       PRECISE, result=("same", INT32, INT32), gradient=False, **_ANY,
       errors=[E("checked", _ldl_errors()[0].error, "torch.linalg.ldl_factor_ex: .*",
                 T(data=np.zeros((2, 2))), check_errors=True)]),
    Op("linalg.ldl_solve", _ldl_solve,
       [
           S("blocks", T(data=_EXACT), _EXACT_PIVOTS, T(3, 2)),
           S("broadcast", T(data=_EXACT), _EXACT_PIVOTS, T(2, 3, 1)),
           S("no-columns", T(data=_EXACT), _EXACT_PIVOTS, T(3, 0)),
       ],
       PRECISE, gradient=False, **_ANY, errors=_SOLVE_ERRORS),
    Op("linalg.ldl_solve-factored", _solved,
       [
           S("plain", T(data=indefinite(5, 5)), T(5, 2)),
           S("batch", T(data=indefinite(2, 4, 4)), T(2, 4, 1)),
           S("hermitian", T(5, 5), T(5, 2), True).only(*COMPLEX),
       ],
       PRECISE, call=_solved, gradient=False, **{**_ANY, "ulp": 4096.0}),
    Op("svd_lowrank", _low_rank,
       [
           S("tall", T(data=low(6, 4), grad=False), 2),
           S("wide", T(data=low(2, 4, 6), grad=False), 2),
           S("less", T(data=low(5, 4) + np.arange(4.0), grad=False), 2,
             M=T(data=np.arange(4.0), grad=False)),
           S("whole", T(data=low(4, 3), grad=False), 3, niter=0),
       ],
       PRECISE, call=_values("svd_lowrank"), result=("same", "real"), gradient=False,
       **{**_ANY, "ulp": 256.0}),
    Op("svd_lowrank-errors", _low_rank, [], REAL, call=lambda a: tensorbus.svd_lowrank(a),
       family="linalg",
       errors=[
           E("vector", ValueError, "svd_lowrank: A must have at least 2 dimensions, but has 1",
             T(5)),
           E("integers", RuntimeError, "svd_lowrank: Expected a floating point or complex tensor "
             "as input. Got Long", T(5, 4), dtype=INT64),
       ]),
    Op("pca_lowrank", _centered,
       [
           S("tall", T(data=low(6, 4), grad=False), 2),
           S("wide", T(data=low(2, 4, 6), grad=False), 2),
           S("not-centered", T(data=low(5, 4), grad=False), 2, center=False),
       ],
       PRECISE, call=_values("pca_lowrank"), result=("same", "real"), gradient=False,
       **{**_ANY, "ulp": 256.0}),
    Op("pca_lowrank-errors", _low_rank, [], REAL, family="linalg",
       call=lambda a, *args: tensorbus.pca_lowrank(a, *args),
       errors=[
           E("many", ValueError, r"q\(=5\) must be non-negative integer and not greater than "
             r"min\(m, n\)=4", T(5, 4), 5),
           E("niter", ValueError, r"niter\(=-1\) must be non-negative integer", T(5, 4), 2, True,
             -1),
       ]),
    Op("lobpcg", _lobpcg,
       [
           S("largest", T(data=symmetric(9, 9)), 2),
           S("smallest", T(data=symmetric(2, 9, 9)), 1, largest=False),
           S("weighted", T(data=symmetric(9, 9)), 2, T(data=definite(9, 9))),
       ],
       REAL, call=_lobpcg, result=("same", "same"), gradient=False, **{**_ANY, "ulp": 1024.0},
       ),
    Op("lobpcg-errors", _lobpcg, [], REAL, family="linalg",
       call=lambda *args, **named: tensorbus.lobpcg(*args, **named),
       errors=[
           E("small", ValueError, _MANY, T(2, 2)),
           E("oblong", AssertionError, r"A must be square, got shape torch\.Size\(\[3, 4\]\)",
             T(3, 4)),
           E("start", AssertionError, r"X shape mismatch: got torch\.Size\(\[8, 2\]\), expected "
             r"\(9, 2\)", T(9, 9), X=T(8, 2)),
           E("more", ValueError, "lobpcg: k must be from 1 to n=2, but is 3", T(9, 9), 3,
             X=T(9, 2)),
       ]),
]  # fmt: skip
