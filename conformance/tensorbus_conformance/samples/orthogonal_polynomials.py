"""Orthogonal polynomials against their coefficients, by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import in_floats
from tensorbus_conformance.op import BOOL, FLOATING, REAL, E, Op, S, T


def _each(evaluate: Callable[[float, int], float]) -> Callable[..., Any]:
    """The polynomial of one degree at one point, for arrays of both; 0 below degree 0."""

    def call(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(np.asarray(x, np.float64), np.trunc(np.asarray(n, np.float64)))
        pairs = zip(x.ravel().tolist(), n.ravel().tolist(), strict=True)
        found = [evaluate(a, int(k)) if k >= 0 else 0.0 for a, k in pairs]
        return np.reshape(np.asarray(found, np.float64), x.shape)

    return call


def _from_series(value: Callable[..., Any]) -> Callable[..., Any]:
    return _each(lambda x, n: float(value(x, [0.0] * n + [1.0])))


def _second(x: float, n: int) -> float:
    return float(scipy.special.eval_chebyu(n, x)) if n >= 0 else 0.0


_SERIES = {
    "chebyshev_polynomial_t": _from_series(chebyshev.chebval),
    "chebyshev_polynomial_u": _each(_second),
    "chebyshev_polynomial_v": _each(lambda x, n: _second(x, n) - _second(x, n - 1)),
    "chebyshev_polynomial_w": _each(lambda x, n: _second(x, n) + _second(x, n - 1)),
    "hermite_polynomial_h": _from_series(hermite.hermval),
    "hermite_polynomial_he": _from_series(hermite_e.hermeval),
    "laguerre_polynomial_l": _from_series(laguerre.lagval),
    "legendre_polynomial_p": _from_series(legendre.legval),
}


def _shifted(reference: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, n: reference(2 * np.asarray(x, np.float64) - 1, n)


_ALL = {
    **_SERIES,
    **{f"shifted_{n}": _shifted(f) for n, f in _SERIES.items() if n.startswith("chebyshev")},
}
_DEGREES = [-1.0, 0.0, 1.0, 2.0, 3.0, 7.0]


def _scale(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The magnitude of the terms, which cancel near the zeros."""
    return lambda x, n: np.maximum(np.abs(in_floats(reference)(x, n)), 1.0)


OPS = [
    Op(
        f"special.{name}",
        in_floats(reference),
        [
            S("degrees", T(6, 1, of="unit"), T(data=_DEGREES)).only(*FLOATING),
            S("whole", T(data=[[0], [1], [2]]), T(data=[0, 1, 2, 3])),
            S("ends", T(data=[-1.0, 0.0, 1.0, 1.5]), 4).only(*FLOATING),
            S("fraction", T(3, of="unit"), 2.9).only(*FLOATING),
            S("number", 0.5, T(data=_DEGREES)).only(*FLOATING),
            S("high", T(data=[-1.0, 0.0, 0.5, 1.0]), 40).only(formats.FLOAT64),
            S(
                "high-among",
                T(data=[-1.0, 0.0, 0.5, 0.25, 0.75]),
                T(data=[33.0, 40.0, 36.0, 2.0, 34.0]),
            ).only(formats.FLOAT64),
            S("scalar", T(of="unit"), 3).only(*FLOATING),
            S("empty", T(0, 3), T(3)).only(*FLOATING),
        ],
        dtypes=(*REAL, *BOOL),
        result="float",
        ulp=64,
        scale=_scale(reference),
        gradient=False,
        keeps_order=True,
        family="special",
        errors=[
            E("numbers", TypeError, rf"special_{name}\(\): .* must be Tensor, not float", 1.0, 2),
            E(
                "complex",
                NotImplementedError,
                f"\"{name}\" not implemented for 'ComplexFloat'",
                T(3),
                2,
                dtype=formats.COMPLEX64,
            ),
        ],
    )
    for name, reference in _ALL.items()
]
