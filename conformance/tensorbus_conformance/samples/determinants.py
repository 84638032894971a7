"""Determinants, powers of matrices, and e to the power of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from tensorbus.linalg import LinAlgError
from tensorbus_conformance.formats import FLOAT16, FLOAT32, FLOAT64
from tensorbus_conformance.op import COMPLEX, E, Op, S, T
from tensorbus_conformance.samples.factorizations import definite, regular
from tensorbus_conformance.samples.solving import (
    INVERSE,
    LOW,
    MATRICES,
    SINGULAR,
    SOLVING,
    square_errors,
    turned,
)

_REALS = (FLOAT32, FLOAT64)


def _exponential(a: Any) -> Any:
    return scipy.linalg.expm(a) if a.size else a


_TWO_EQUAL_ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 2.0, 3.0]])
_DETERMINANTS = [
    *(s for s in MATRICES if s.variant != "blocks"),
    S("blocks", T(data=turned(40, 40) / 8, grad=False)),
    S("odd", T(data=turned(2, 2))),
    S(
        "singular",
        T(data=_TWO_EQUAL_ROWS, grad=False),
    ),
]

OPS = [
    Op("linalg.det", np.linalg.det, _DETERMINANTS, **SOLVING,
       errors=[*square_errors("linalg.det"),
               E("half", NotImplementedError, "\"lu\" not implemented for 'Half'", T(2, 2),
                 dtype=FLOAT16)]),
    Op("det", np.linalg.det, _DETERMINANTS, **SOLVING, errors=square_errors("linalg.det")),
    Op("linalg.slogdet", lambda a: tuple(np.linalg.slogdet(a)),
       MATRICES, result=("same", "real"), **SOLVING,
       errors=[*square_errors("linalg.slogdet"),
               E("half", RuntimeError, LOW.format("linalg.slogdet"), T(2, 2), dtype=FLOAT16)]),
    Op("slogdet", lambda a: tuple(np.linalg.slogdet(a)),
       MATRICES, result=("same", "real"), **SOLVING, errors=square_errors("linalg.slogdet")),
    Op("logdet", lambda a: np.log(np.linalg.det(a)),
       [S("definite", T(data=definite(3, 3))), S("batch", T(data=definite(2, 1, 3, 3))),
        S("negative", T(data=np.diag([1.0, -1.0]), grad=False)),
        S("singular", T(data=SINGULAR, grad=False))],
       **(SOLVING | {"dtypes": _REALS}), errors=square_errors("logdet")),
    Op("linalg.matrix_exp", _exponential,
       [
           S("three", T(3, 3, of="unit")),
           S("one", T(1, 1, of="unit")),
           S("sizes", T(data=np.stack([regular(3, 3) * 0.01, regular(3, 3) * 3]))),
           S("none", T(0, 3, 3)),
       ],
       **(SOLVING | {"ulp": 128.0, "dtypes": (FLOAT32, FLOAT64, *COMPLEX)}),
       errors=square_errors("linalg.matrix_exp")),
    Op("matrix_exp", _exponential, [S("three", T(3, 3, of="unit"))],
       **(SOLVING | {"ulp": 128.0}), errors=square_errors("linalg.matrix_exp")),
    Op("linalg.matrix_power", np.linalg.matrix_power,
       [S("inverse", T(data=turned(3, 3)), -1), S("minus-three", T(data=turned(2, 3, 3)), -3)],
       **SOLVING,
       errors=[E("singular", LinAlgError, INVERSE.format("", "", 2), T(data=SINGULAR), -1)]),
]  # fmt: skip
