"""Linear algebra under names that PyTorch has removed."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import INT64
from tensorbus_conformance.op import E, Op, S, T
from tensorbus_conformance.samples.factorizations import (
    NAMED,
    PRECISE,
    adjoint,
    cholesky,
    definite,
    regular,
)
from tensorbus_conformance.samples.orthogonal import REAL, apart, symmetric
from tensorbus_conformance.samples.spectra import complex_of


def _symeig(a: Any, upper: bool = True) -> Any:
    """Values, and the matrix that they and the vectors make up."""
    if isinstance(a, tensorbus.Tensor):
        values, vectors = tensorbus.symeig(a, eigenvectors=True, upper=upper)
        return values, (vectors * values.unsqueeze(-2)) @ vectors.mH
    one = np.triu(a) if upper else np.tril(a)
    whole = one + adjoint(one) - np.real(np.diagonal(a, 0, -2, -1))[..., None] * np.eye(a.shape[-1])
    return np.linalg.eigvalsh(whole), whole


def _eig(a: Any) -> Any:
    """Eigenvalues, and one and what is wrong with the vectors, and the squares of their norms."""
    if not isinstance(a, tensorbus.Tensor):
        found = np.linalg.eigvals(a)
        ones = np.ones(a.shape)
        return found, ones, ones[0]
    values, packed = tensorbus.eig(a, eigenvectors=True)
    scale, rotation = values.unbind(1)
    other = tensorbus.where(rotation > 0, packed.roll(-1, 1), packed.roll(1, 1))
    wrong = a @ packed - scale * packed + rotation * other
    squares = packed.square().sum(0)
    return (
        tensorbus.view_as_complex(values),
        wrong + 1,
        squares + (rotation != 0) * other.square().sum(0),
    )


def _solve(b: Any, a: Any) -> Any:
    return np.linalg.solve(a, b), _lu(a)


def _lu(a: Any) -> Any:
    """Both factors in one matrix, the largest element of a column first."""
    a = a.copy()
    for x in a.reshape(-1, *a.shape[-2:]):
        for j in range(x.shape[0]):
            p = j + np.argmax(np.abs(x[j:, j]))
            x[[j, p]] = x[[p, j]]
            x[j + 1 :, j] /= x[j, j]
            x[j + 1 :, j + 1 :] -= np.outer(x[j + 1 :, j], x[j, j + 1 :])
    return a


def _lstsq(b: Any, a: Any) -> Any:
    """The solution, and the sums of squares of the other rows."""
    n = a.shape[-1]
    if isinstance(a, tensorbus.Tensor):
        solution, factors = tensorbus.lstsq(b, a)
        assert factors.shape == a.shape
        return solution[:n], solution[n:].square().sum(0)
    solution = np.linalg.lstsq(a, b, rcond=None)[0]
    return solution, np.square(b - a @ solution).sum(0) if a.shape[0] > n else 0 * b[0]


def _trtrs(b: Any, a: Any, upper: bool = True, transpose: bool = False) -> Any:
    one = np.triu(a) if upper else np.tril(a)
    return np.linalg.solve(one.swapaxes(-1, -2) if transpose else one, b), a


def _product(u: Any, upper: bool) -> Any:
    return adjoint(np.triu(u)) @ np.triu(u) if upper else np.tril(u) @ adjoint(np.tril(u))


def _potrs(b: Any, u: Any, upper: bool = True) -> Any:
    return np.linalg.solve(_product(u, upper), b)


def _potri(u: Any, upper: bool = True) -> Any:
    return np.linalg.inv(_product(u, upper))


def _batches(name: str) -> Any:
    """A solution by factors, of an equation that is known."""

    def call(b: Any, a: Any) -> Any:
        lu, pivots, *_ = getattr(tensorbus, name)(a)
        return tensorbus.btrisolve(b, lu, pivots)

    return call


def _bsolve(b: Any, a: Any) -> Any:
    vectors = b.ndim == a.ndim - 1
    return np.linalg.solve(a, b[..., None])[..., 0] if vectors else np.linalg.solve(a, b)


def _unpacked(lu: Any) -> Any:
    pivots = tensorbus.tensor([2, 2], dtype=tensorbus.int32, device=lu.device)
    return tensorbus.btriunpack(lu, pivots)


def _unpack(lu: Any) -> Any:
    return np.eye(2)[::-1], np.tril(lu, -1) + np.eye(2), np.triu(lu)


def _rank(a: Any, tol: Any = None, symmetric: bool = False) -> Any:
    return np.linalg.matrix_rank(a, tol)


def _without_derivative(name: str, text: str) -> Op:
    """Factors that may be recorded, but not differentiated."""

    def call(a: Any) -> Any:
        factors = operator.attrgetter(name)(tensorbus)(a.requires_grad_())[0]
        return factors.sum().backward()

    error = E("backward", NotImplementedError, text, T(2, 2))
    return Op(f"{name}-derivative", lambda a: a, [], REAL, call=call, errors=[error],
              family="linalg")  # fmt: skip


_MATRIX = "{}: {} should be 2 dimensional, but has 3"
_ANY: Any = {"ulp": 64.0, "measure": "norm", "layouts": ("transposed", "strided"),
             "family": "linalg", "grad_ulp": 256.0}  # fmt: skip
_EQUATIONS = [
    S("columns", T(3, 2), T(data=regular(3, 3))),
    S("batch", T(2, 3, 1), T(data=regular(2, 3, 3))),
]
_NO_EQUATION = [
    E("vector", RuntimeError, "b should have at least 2 dimensions, but has 1 dimensions instead",
      T(3), T(3, 3)),
    E("oblong", RuntimeError, NAMED.format(""), T(2, 2), T(2, 3)),
]  # fmt: skip
_FACTORED = [
    S("upper", T(data=regular(3, 3))),
    S("lower", T(data=regular(3, 3)), False),
]

OPS = [
    _without_derivative("linalg.ldl_factor", r"the derivative of linalg\.ldl_factor and "
                        r"linalg\.ldl_solve is not implemented\. .*"),
    _without_derivative("geqrf", r"the derivative for 'geqrf' is not implemented\. .*"),
    Op("symeig", _symeig,
       [
           S("upper", T(data=apart(3, 3), grad=False)),
           S("lower", T(data=apart(2, 3, 3), grad=False), upper=False),
       ],
       REAL, call=_symeig, result=("same", "same"), gradient=False, **_ANY),
    Op("symeig-values", lambda a: (np.linalg.eigvalsh(a), np.zeros(0)),
       [S("values", T(data=symmetric(3, 3), grad=False))], REAL, gradient=False,
       call=lambda a: tensorbus.symeig(a), result=("same", "same"), **_ANY,
       errors=[E("oblong", RuntimeError, NAMED.format("symeig: "), T(2, 3))]),
    Op("eig", _eig,
       [
           S("real", T(data=[[2.0, 1.0], [0.5, -1.0]], grad=False)),
           S("rotation", T(data=[[0.0, -2.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 3.0]], grad=False)),
       ],
       REAL, call=_eig, result=(complex_of, "same", "same"), gradient=False, **_ANY,
       errors=[E("batch", RuntimeError, _MATRIX.format("eig", "input"), T(2, 3, 3))]),
    Op("solve", _solve, _EQUATIONS, PRECISE, result=("same", "same"), errors=_NO_EQUATION,
       **_ANY),
    Op("gesv", _solve, _EQUATIONS, PRECISE, result=("same", "same"), errors=_NO_EQUATION,
       **_ANY),
    Op("lstsq", _lstsq,
       [
           S("tall", T(5, 2, grad=False), T(data=apart(5, 3), grad=False)),
           S("square", T(3, 2, grad=False), T(data=regular(3, 3), grad=False)),
           S("wide", T(2, 2, grad=False), T(data=apart(2, 4), grad=False)),
       ],
       REAL, call=_lstsq, result=("same", "same"), gradient=False, **_ANY,
       errors=[E("batch", RuntimeError, _MATRIX.format("lstsq", "A"), T(3, 2), T(2, 3, 3))]),
    Op("trtrs", _trtrs,
       [*_EQUATIONS, S("lower", T(3, 2), T(data=regular(3, 3)), False),
        S("transpose", T(3, 2), T(data=regular(3, 3)), transpose=True)],
       PRECISE, result=("same", "same"), **_ANY,
       errors=[E("oblong", RuntimeError, NAMED.format(""), T(2, 2), T(2, 3))]),
    Op("potrf", lambda a, upper=True: cholesky(a, upper),
       [S("upper", T(data=definite(3, 3))), S("lower", T(data=definite(2, 3, 3)), False)],
       PRECISE, **_ANY),
    Op("potrs", _potrs,
       [S("upper", T(3, 2), T(data=regular(3, 3))),
        S("lower", T(3, 2), T(data=regular(3, 3)), False)],
       PRECISE, **_ANY),
    Op("potri", _potri, _FACTORED, PRECISE, **_ANY),
    Op("btrifact", _bsolve,
       [S("vectors", T(2, 3), T(data=regular(2, 3, 3))), _EQUATIONS[1]],
       PRECISE, call=_batches("btrifact"), **_ANY),
    Op("btrifact_with_info", _bsolve, [_EQUATIONS[1]], PRECISE,
       call=_batches("btrifact_with_info"), **_ANY),
    Op("btrisolve", _bsolve, [_EQUATIONS[1]], PRECISE, call=_batches("btrifact"), **_ANY),
    Op("btriunpack", _unpack, [S("two", T(data=regular(2, 2)))], PRECISE, call=_unpacked,
       result=("same", "same", "same"), **_ANY),
    Op("matrix_rank", _rank,
       [
           S("full", T(data=apart(3, 4))),
           S("tol", T(data=np.diag([3.0, 0.1, 0.01])), 0.05),
           S("symmetric", T(data=symmetric(3, 3)), symmetric=True),
       ],
       PRECISE, result=INT64, gradient=False, **{**_ANY, "ulp": 0.0, "measure": "element"},
       errors=[E("batch", RuntimeError, _MATRIX.format("matrix_rank", "input"), T(2, 3, 3))]),
]  # fmt: skip
