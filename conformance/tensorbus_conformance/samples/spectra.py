"""Eigenvalues of any square matrices; ranks, pseudo-inverses and condition numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT64
from tensorbus_conformance.op import E, Op, S, T
from tensorbus_conformance.samples.factorizations import NAMED, PRECISE, RANKS, regular
from tensorbus_conformance.samples.orthogonal import apart, symmetric

_INF = float("inf")


# -- eigenvalues -----------------------------------------------------------------------------
def spread(*shape: int) -> np.ndarray:
    """Square matrices whose eigenvalues have different real parts."""
    return 0.3 * regular(*shape) + np.diag(2.0 * np.arange(shape[-1]))


def turning() -> np.ndarray:
    """A matrix with a pair of complex eigenvalues."""
    return np.array([[1.0, -2.0, 0.3], [1.5, 0.5, -0.2], [0.1, 0.4, 4.0]])


def _ordered(values: Any, vectors: Any = None) -> Any:
    """The values by a number that differs, and their vectors with positive weighted sums."""
    order: Any
    weights: Any
    key = values.real + 0.1 * values.imag
    if isinstance(values, tensorbus.Tensor):
        order = key.detach().argsort(-1)
        values = values.gather(-1, order)
        n, like = values.shape[-1] + 1, values.real
        weights = tensorbus.arange(1.0, n, dtype=like.dtype, device=like.device).sqrt()
    else:
        order = np.argsort(key, -1)
        values = np.take_along_axis(values, order, -1)
        weights = np.sqrt(np.arange(1.0, values.shape[-1] + 1))
    if vectors is None:
        return values
    if isinstance(values, tensorbus.Tensor):
        vectors = vectors.gather(-1, order.unsqueeze(-2).expand(vectors.shape))
        weights = weights.to(vectors.dtype)
    else:
        vectors = np.take_along_axis(vectors, order[..., None, :], -1)
    total = (vectors * weights[:, None]).sum(-2)
    return values, vectors * (total.conj() / abs(total))[..., None, :]


def _eig(a: Any) -> Any:
    xp: Any = tensorbus if isinstance(a, tensorbus.Tensor) else np
    return _ordered(*xp.linalg.eig(a))


def _eigvals(a: Any) -> Any:
    xp: Any = tensorbus if isinstance(a, tensorbus.Tensor) else np
    return _ordered(xp.linalg.eigvals(a))


def complex_of(dtype: Any) -> Any:
    return dtype.to_complex()


_SQUARE = [
    S("one", T(data=spread(1, 1))),
    S("two", T(data=spread(2, 2))),
    S("three", T(data=spread(3, 3))),
    S("turning", T(data=turning())),
    S("batch", T(data=spread(2, 1, 4, 4))),
]
_NONE = [S("no-rows", T(0, 0)), S("no-matrix", T(0, 3, 3)), S("batch-no-rows", T(2, 0, 0))]


def _eig_errors(name: str) -> list[Any]:
    text = rf"torch\.{name}: input tensor should not contain infs or NaNs\."
    broken = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    half = "\"linalg_eig_out_cpu\" not implemented for 'Half'"
    return [
        E("vector", RuntimeError, RANKS.format(f"{name}: ", "A"), T(3)),
        E("oblong", RuntimeError, NAMED.format(f"{name}: "), T(2, 3)),
        E("nan", RuntimeError, text, T(data=broken[1]), dtype=COMPLEX64),
        E("batch", RuntimeError, text, T(data=broken), dtype=COMPLEX64),
        E("half", NotImplementedError, half, T(2, 2), dtype=FLOAT16),
    ]


# -- ranks and pseudo-inverses ---------------------------------------------------------------
def low(*shape: int) -> np.ndarray:
    """Matrices of rank 2."""
    *batch, m, n = shape
    return apart(*batch, m, 2) @ apart(*batch, 2, n)


_LOW = "{}: Low precision dtypes not supported. Got Half"
_NO_PINV = (
    r"linalg\.pinv\({}\): expected a tensor with 2 or more dimensions of float, double, cfloat or "
    "cdouble types"
)
_WRONG = r"linalg\.cond"


def _svd_error() -> Any:
    from tensorbus.linalg import LinAlgError

    text = (
        r"linalg\.svd: The algorithm failed to converge because the input matrix contained "
        r"non-finite values\."
    )
    return E("nan", LinAlgError, text, T(data=np.full((2, 2), np.nan)))


def _bound(s: Any, shape: Any, atol: Any, rtol: Any) -> Any:
    """The tolerances in float32's precision, far from which the samples' values lie."""
    if rtol is None:
        rtol = 0.0 if atol else 1e-5
    return np.maximum(0.0 if atol is None else np.expand_dims(atol, -1),
                      np.expand_dims(rtol, -1) * s.max(-1, keepdims=True))  # fmt: skip


def _matrix_rank(
    a: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    s = np.abs(np.linalg.eigvalsh(a)) if hermitian else np.linalg.svd(a, compute_uv=False)
    if not s.shape[-1]:
        return np.zeros(s.shape[:-1], np.int64)
    atol, rtol = (atol, rtol) if tol is None else (tol, 0.0)
    return (s > _bound(s, a.shape, atol, rtol)).sum(-1)


def _pinv(
    a: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    rtol = rtol if rcond is None else rcond
    if 0 in a.shape:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]))
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    inverses = np.where(s > _bound(s, a.shape, atol, rtol), 1 / s, 0)
    return (
        np.conj(np.swapaxes(vh, -1, -2)) * inverses[..., None, :] @ np.conj(np.swapaxes(u, -1, -2))
    )


def _cond(a: Any, p: Any = None) -> Any:
    if 0 in a.shape[-2:]:
        return np.zeros(a.shape[:-2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if p == "nuc":
            s = np.linalg.svd(a, compute_uv=False)
            return s.sum(-1) * (1 / s).sum(-1)
        found: Any = np.linalg.cond(a, p)
    return found


_DIAGONALS = [np.diag([3.0, 0.2, 0.01]), np.diag([1.0, 0.9, 0.8])]
_EMPTY = [S("no-rows", T(2, 0, 3)), S("no-columns", T(3, 0)), S("no-matrix", T(0, 3, 2))]
_ANY: Any = {"ulp": 64.0, "measure": "norm", "layouts": ("transposed", "strided"),
             "family": "linalg", "grad_ulp": 512.0}  # fmt: skip

OPS = [
    Op("linalg.eig", _eig, _SQUARE, PRECISE, call=_eig, result=(complex_of, complex_of),
       errors=[], **{**_ANY, "ulp": 256.0}),
    Op("linalg.eigvals", _eigvals, _SQUARE, PRECISE, call=_eigvals, result=complex_of, **_ANY),
    Op("linalg.eig-errors", _eig, [], PRECISE, call=lambda a: tensorbus.linalg.eig(a),
       errors=_eig_errors("linalg.eig"), **_ANY),
    Op("linalg.eigvals-errors", _eigvals, _NONE, PRECISE,
       call=lambda a: tensorbus.linalg.eigvals(a), result=complex_of,
       errors=_eig_errors("linalg.eigvals"), **_ANY),
    Op("linalg.matrix_rank", _matrix_rank,
       [
           S("full", T(data=apart(3, 4))),
           S("low", T(data=low(4, 3))),
           S("batch", T(data=low(2, 1, 3, 3))),
           S("zeros", T(data=np.zeros((2, 3)))),
           S("hermitian", T(data=symmetric(3, 3) - np.eye(3)), hermitian=True),
           S("tol", T(data=_DIAGONALS[0]), 0.1),
           S("tols", T(data=_DIAGONALS), T(data=[0.005, 0.85], dtype=FLOAT32)),
           S("atol", T(data=_DIAGONALS), atol=0.1),
           S("rtol", T(data=_DIAGONALS), rtol=0.03),
           S("both", T(data=_DIAGONALS), atol=0.85, rtol=0.03),
           *_EMPTY,
       ],
       PRECISE, result=INT64, gradient=False, **{**_ANY, "ulp": 0.0, "measure": "element"},
       errors=[
           _svd_error(),
           E("vector", RuntimeError, RANKS.format(r"torch\.linalg\.matrix_rank: ", "input"), T(3)),
           E("half", RuntimeError, _LOW.format(r"torch\.linalg\.matrix_rank"), T(2, 2),
             dtype=FLOAT16),
           E("tolerance", TypeError, r"linalg_matrix_rank\(\): argument 'tol' .*", T(2, 2), "x"),
           E("batches", RuntimeError, r"The size of tensor a \(2\) must match the size of tensor b "
             r"\(3\) at non-singleton dimension 0", T(3, 2, 2), atol=T(2)),
       ]),
    Op("linalg.pinv", _pinv,
       [
           S("square", T(data=regular(3, 3))),
           S("tall", T(data=apart(4, 2))),
           S("wide", T(data=apart(2, 4))),
           S("batch", T(data=apart(2, 1, 3, 2))),
           S("low", T(data=low(4, 3), grad=False)),
           S("zeros", T(data=np.zeros((2, 3)), grad=False)),
           S("equal", T(data=np.eye(3))),
           S("hermitian", T(data=symmetric(3, 3), grad=False), hermitian=True).only(
               FLOAT32, FLOAT64),
           S("rcond", T(data=_DIAGONALS[0], grad=False), 0.03),
           S("atol", T(data=_DIAGONALS, grad=False), atol=0.1),
           S("rtols", T(data=_DIAGONALS, grad=False), rtol=T(data=[0.03, 0.95], grad=False)).only(
               FLOAT32, FLOAT64),
           *_EMPTY,
       ],
       PRECISE, **_ANY,
       errors=[
           _svd_error(),
           E("vector", RuntimeError, _NO_PINV.format(r"Float\{\[3\]\}"), T(3)),
           E("half", RuntimeError, _NO_PINV.format(r"Half\{\[2, 2\]\}"), T(2, 2), dtype=FLOAT16),
       ]),
    Op("pinverse", _pinv,
       [S("square", T(data=regular(3, 3))), S("wide", T(data=apart(2, 4)))],
       PRECISE, **_ANY,
       errors=[E("vector", RuntimeError, _NO_PINV.format(r"Float\{\[3\]\}"), T(3))]),
    Op("linalg.cond", _cond,
       [
           S("two", T(data=apart(3, 3))),
           S("oblong", T(data=apart(2, 4))),
           S("batch", T(data=apart(2, 1, 3, 3)), "fro"),
           *(S(f"order-{p}", T(data=apart(3, 3)), p)
             for p in ("nuc", 1, -1, 2, -2, _INF, -_INF)),
           S("singular", T(data=[[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 1.0]]], grad=False),
             1),
           S("no-rows", T(2, 0, 0), -1),
           S("no-matrix", T(0, 3, 3)),
       ],
       PRECISE, result="real", **{**_ANY, "ulp": 256.0, "grad_ulp": 2048.0},
       errors=[
           _svd_error(),
           E("vector", RuntimeError, _WRONG + r": The input tensor must have at least 2 dimensions"
             r"\.", T(3)),
           E("oblong", RuntimeError, NAMED.format(_WRONG + r"\(ord=1\): "), T(2, 3), 1),
           E("order", RuntimeError, _WRONG + " got an invalid norm type: 3", T(2, 2), 3),
           E("name", RuntimeError, _WRONG + " got an invalid norm type: x", T(2, 2), "x"),
       ]),
    Op("linalg.diagonal", lambda a, *, offset=0, dim1=-2, dim2=-1: np.diagonal(
           a, offset, dim1, dim2),
       [
           S("plain", T(2, 3)),
           S("batch", T(2, 3, 4), offset=1),
           S("dims", T(2, 3, 4), offset=-1, dim1=0, dim2=2),
       ],
       PRECISE, ulp=0.0, view=True, fresh=False, family="views",
       errors=[
           E("vector", IndexError, r"Dimension out of range \(expected to be in range of \[-1, 0\],"
             r" but got -2\)", T(3)),
           E("same", RuntimeError, "diagonal dimensions cannot be identical 0, 0", T(2, 2), dim1=0,
             dim2=0),
       ]),
]  # fmt: skip
