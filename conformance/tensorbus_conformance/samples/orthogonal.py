"""Factorizations with orthonormal columns: QR, eigenvectors, singular vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import FLOAT16, FLOAT32, FLOAT64, INT64
from tensorbus_conformance.op import COMPLEX, E, Op, S, T
from tensorbus_conformance.samples.factorizations import NAMED, PRECISE, RANKS, adjoint, regular

REAL = (FLOAT32, FLOAT64)


def tall(*shape: int) -> np.ndarray:
    """Matrices of any shape whose leading columns are far from dependent."""
    *batch, m, n = shape
    return regular(*batch, max(m, n), max(m, n))[..., :m, :n]


# -- QR --------------------------------------------------------------------------------------
def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return np.zeros(0, a.dtype), np.linalg.qr(a, "r")
    made: Any = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    return tuple(made)


def _old_qr(a: Any, some: bool = True) -> Any:
    return _qr(a, "reduced" if some else "complete")


def _without_phases(a: Any, mode: str = "reduced") -> Any:
    """Q and R with positive numbers on R's diagonal, which makes complex ones unique."""
    xp: Any = tensorbus if isinstance(a, tensorbus.Tensor) else np
    q, r = xp.linalg.qr(a, mode)
    phase = xp.sgn(r.diagonal(0, -2, -1)) if xp is tensorbus else _phase(r)
    return q * phase[..., None, :], r * phase.conj()[..., :, None]


def _phase(r: Any) -> Any:
    found = np.diagonal(r, axis1=-2, axis2=-1)
    return found / np.abs(found)


_SHAPES = [
    S("one", T(data=tall(1, 1))),
    S("square", T(data=tall(3, 3))),
    S("tall", T(data=tall(4, 2))),
    S("wide", T(data=tall(2, 4))),
    S("batch", T(data=tall(2, 1, 4, 3))),
]
_EMPTY = [
    S("no-matrix", T(0, 3, 2)),
    S("no-rows", T(2, 0, 3)),
    S("no-columns", T(3, 0)),
]
_BIG = [
    S("panels", T(data=tall(70, 40), grad=False)),
    S("panels-wide", T(data=tall(40, 70), grad=False)),
]
_MODE = (
    r"qr received unrecognized mode 'economic' but expected one of 'reduced' \(default\), 'r', or "
    "'complete'"
)


# -- eigenvalues -----------------------------------------------------------------------------
def symmetric(*shape: int) -> np.ndarray:
    """Symmetric matrices whose eigenvalues differ."""
    a = regular(*shape)
    return a + a.swapaxes(-1, -2) + np.diag(np.arange(shape[-1]) * 1.5)


def half(*shape: int) -> np.ndarray:
    """The lower triangles of symmetric matrices, with NaN above."""
    a = symmetric(*shape)
    a[..., *np.triu_indices(shape[-1], 1)] = np.nan
    return a


def _whole(a: Any) -> Any:
    a = np.where(np.isnan(a), adjoint(a), a)
    return (a + adjoint(a)) / 2


def _unit(total: Any) -> Any:
    """The numbers over their magnitudes."""
    return total / abs(total)


def _weights(x: Any) -> Any:
    """Weights for the rows of matrices, such that no column's weighted sum is near 0."""
    weights = 1.0 + np.sqrt(np.arange(x.shape[-2]))[:, None]
    if isinstance(x, tensorbus.Tensor):
        return tensorbus.tensor(weights, dtype=x.dtype, device=x.device)
    return weights


def _eigh(a: Any, UPLO: str = "L") -> Any:
    """Values and vectors, whose signs are free, with positive weighted sums."""
    values: Any
    vectors: Any
    if isinstance(a, tensorbus.Tensor):
        values, vectors = tensorbus.linalg.eigh(a, UPLO)
    else:
        values, vectors = np.linalg.eigh(_whole(a))
    phases = _unit((vectors * _weights(vectors)).sum(-2))
    return values, vectors * phases.conj()[..., None, :]


def _eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return np.linalg.eigvalsh(_whole(a))


_SYMMETRIC = [
    S("one", T(data=symmetric(1, 1))),
    S("two", T(data=symmetric(2, 2))),
    S("three", T(data=symmetric(3, 3))),
    S("batch", T(data=symmetric(2, 1, 4, 4))),
    S("upper", T(data=symmetric(3, 3)), "U"),
    S("many", T(data=symmetric(17, 17), grad=False)),
    S("half", T(data=half(3, 3), grad=False)),
    S("half-batch", T(data=half(2, 4, 4).swapaxes(-1, -2), grad=False), "U"),
]
_NO_MATRIX = [S("no-rows", T(0, 0)), S("no-matrix", T(0, 3, 3)), S("batch-no-rows", T(2, 0, 0))]


def _eigh_errors() -> list[Any]:
    from tensorbus.linalg import LinAlgError

    text = (
        r"linalg\.eigh: {}The algorithm failed to converge because the input matrix is "
        r"ill-conditioned or has too many repeated eigenvalues \(error code: 2\)\."
    )
    broken = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    half = "\"linalg_eigh_cpu\" not implemented for '{}'"
    return [
        E("vector", RuntimeError, RANKS.format("linalg.eigh: ", "A"), T(3)),
        E("oblong", RuntimeError, NAMED.format("linalg.eigh: "), T(2, 3)),
        E("uplo", RuntimeError, "Expected UPLO argument to be 'L' or 'U', but got X", T(2, 2), "X"),
        E("nan", LinAlgError, text.format(""), T(data=broken[1])),
        E("batch", LinAlgError, text.format(r"\(Batch element 1\): "), T(data=broken)),
        E("integers", NotImplementedError, half.format("Long"), T(2, 2), dtype=INT64),
        E("half", NotImplementedError, half.format("Half"), T(2, 2), dtype=FLOAT16),
    ]


# -- singular values -------------------------------------------------------------------------
def apart(*shape: int) -> np.ndarray:
    """Matrices whose singular values differ."""
    *batch, m, n = shape
    k = min(m, n)
    left, right = np.linalg.qr(tall(*batch, m, k))[0], np.linalg.qr(tall(*batch, n, k))[0]
    return (left * (1.0 + np.arange(k)[::-1])) @ right.swapaxes(-1, -2)


def _svd(a: Any, full_matrices: bool = True) -> Any:
    """The factors, whose signs are free together, with positive weighted sums."""
    xp: Any = tensorbus if isinstance(a, tensorbus.Tensor) else np
    u, s, vh = xp.linalg.svd(a, full_matrices)
    k = s.shape[-1]
    u, vh = u[..., :k], vh[..., :k, :]  # the others are any that are orthonormal
    phases = _unit((u * _weights(u)).sum(-2))
    return u * phases.conj()[..., None, :], s, vh * phases[..., :, None]


def _old_svd(a: Any) -> Any:
    """``svd`` in the same form."""
    if not isinstance(a, tensorbus.Tensor):
        return _svd(a)
    u, s, v = tensorbus.svd(a)
    phases = _unit((u * _weights(u)).sum(-2))
    return u * phases.conj()[..., None, :], s, (v * phases.conj()[..., None, :]).mH


def _svdvals(a: Any) -> Any:
    return np.linalg.svd(a, compute_uv=False)


_APART = [
    S("one", T(data=apart(1, 1))),
    S("square", T(data=apart(3, 3))),
    S("tall", T(data=apart(4, 2))),
    S("wide", T(data=apart(2, 4))),
    S("batch", T(data=apart(2, 1, 4, 3))),
    S("many", T(data=apart(17, 12), grad=False)),
]
_REDUCED = [S(f"{s.variant}-reduced", *s.args, full_matrices=False) for s in _APART]


def _svd_errors() -> list[Any]:
    from tensorbus.linalg import LinAlgError

    text = (
        r"linalg\.svd: {}The algorithm failed to converge because the input matrix contained "
        r"non-finite values\."
    )
    broken = np.stack([np.eye(3), np.full((3, 3), np.inf)])
    driver = (
        "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
        r"cuSOLVER backend\."
    )
    return [
        E("vector", RuntimeError, RANKS.format("linalg.svd: ", "A"), T(3)),
        E("infinite", LinAlgError, text.format(""), T(data=broken[1])),
        E("batch", LinAlgError, text.format(r"\(Batch element 1\): "), T(data=broken)),
        E("driver", RuntimeError, driver, T(2, 2), driver="gesvd"),
        E("integers", RuntimeError, "linalg.svd: Expected a floating point or complex tensor as "
          "input. Got Long", T(2, 2), dtype=INT64),
        E("half", NotImplementedError, "\"linalg_svd_cpu\" not implemented for 'Half'", T(2, 2),
          dtype=FLOAT16),
    ]  # fmt: skip


_ANY: Any = {"ulp": 64.0, "measure": "norm", "layouts": ("transposed", "strided"),
             "family": "linalg", "grad_ulp": 512.0}  # fmt: skip

OPS = [
    Op("linalg.qr", _qr,
       [
           *_SHAPES,
           *_EMPTY,
           *_BIG,
           S("complete", T(data=tall(4, 2), grad=False), "complete"),
           S("complete-square", T(data=tall(3, 3)), mode="complete"),
           S("complete-wide", T(data=tall(2, 4)), mode="complete"),
           S("complete-no-columns", T(3, 0), "complete"),
           S("r", T(data=tall(4, 3), grad=False), "r"),
           S("r-wide", T(data=tall(2, 3, 4), grad=False), mode="r"),
           S("signs", T(data=np.diag([2.0, -3.0, 0.5]), grad=False)),
           S("dependent", T(data=[[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]], grad=False)),
           S("zeros", T(data=np.zeros((3, 2)), grad=False)),
           S("large", T(data=1e30 * tall(3, 2), grad=False)),
           S("small", T(data=1e-30 * tall(3, 2), grad=False)),
       ],
       REAL, result=("same", "same"), ulp=32.0, measure="norm", layouts=("transposed", "strided"),
       family="linalg", grad_ulp=128.0,
       errors=[
           E("vector", RuntimeError, RANKS.format("linalg.qr: ", "A"), T(3)),
           E("mode", RuntimeError, _MODE, T(3, 3), "economic"),
           E("integers", RuntimeError, "linalg.qr: Expected a floating point or complex tensor as "
             "input. Got Long", T(3, 3), dtype=INT64),
           E("half", NotImplementedError, "\"geqrf_cpu\" not implemented for 'Half'", T(3, 3),
             dtype=FLOAT16),
       ]),
    Op("linalg.qr-complex", _without_phases,
       [*_SHAPES, S("complete-wide", T(data=tall(2, 4)), mode="complete")],
       COMPLEX, call=_without_phases, result=("same", "same"), ulp=64.0, measure="norm",
       layouts=("transposed", "strided"), family="linalg", gradient=False),
    Op("qr", _old_qr, [*_SHAPES, S("complete", T(data=tall(4, 2), grad=False), False)],
       REAL, result=("same", "same"), ulp=32.0, measure="norm", layouts=("transposed", "strided"),
       family="linalg", grad_ulp=128.0,
       errors=[E("vector", RuntimeError, RANKS.format("linalg.qr: ", "A"), T(3))]),
    Op("linalg.eigh", _eigh, _SYMMETRIC, PRECISE, call=_eigh, result=("real", "same"),
       **{**_ANY, "ulp": 256.0}),  # vectors: the precision times the size over the least gap
    Op("linalg.eigvalsh", _eigvalsh, [*_SYMMETRIC, *_NO_MATRIX], PRECISE, result="real",
       errors=_eigh_errors(), **_ANY),
    Op("linalg.svd", _svd, [*_APART, *_REDUCED], PRECISE, call=_svd,
       result=("same", "real", "same"), **_ANY),
    Op("svd", _old_svd, _APART, REAL, call=_old_svd, result=("same", "real", "same"), **_ANY),
    Op("linalg.svdvals", _svdvals, [*_APART, *_EMPTY], PRECISE, result="real",
       errors=_svd_errors(), **_ANY),
]  # fmt: skip
