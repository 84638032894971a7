"""Factorizations with orthonormal columns: QR."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import FLOAT16, FLOAT32, FLOAT64, INT64
from tensorbus_conformance.op import COMPLEX, E, Op, S, T
from tensorbus_conformance.samples.factorizations import RANKS, regular

REAL = (FLOAT32, FLOAT64)


def tall(*shape: int) -> np.ndarray:
    """Matrices of any shape whose leading columns are far from dependent."""
    *batch, m, n = shape
    return regular(*batch, max(m, n), max(m, n))[..., :m, :n]


# -- QR --------------------------------------------------------------------------------------
def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return np.zeros(0, a.dtype), np.linalg.qr(a, "r")
    return tuple(np.linalg.qr(a, mode))


def _old_qr(a: Any, some: bool = True) -> Any:
    return _qr(a, "reduced" if some else "complete")


def _without_phases(a: Any, mode: str = "reduced") -> Any:
    """Q and R with positive numbers on R's diagonal, which makes complex ones unique."""
    xp = tensorbus if isinstance(a, tensorbus.Tensor) else np
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
]  # fmt: skip
