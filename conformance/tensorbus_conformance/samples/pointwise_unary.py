"""Powers, exponentials, logarithms, trigonometry: smooth functions of one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.elementwise import unary
from tensorbus_conformance.op import ANY, BOOL, COMPLEX, FLOATING, REAL


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _of(name: str, reference: Any, of: str = "spread", *, ulp: float, **fields: Any) -> Any:
    """A function that gives floating point numbers for every dtype."""
    return unary(
        name,
        reference,
        of=of,
        dtypes=fields.pop("dtypes", ANY),
        result="float",
        ulp=ulp,
        family="pointwise",
        **fields,
    )


OPS = [
    _of("sqrt", np.sqrt, "positive", ulp=0.5),
    _of("rsqrt", lambda x: 1.0 / np.sqrt(x), "positive", ulp=2),
    _of("reciprocal", lambda x: 1.0 / x, "positive", ulp=0.5),
    _of("exp", np.exp, ulp=3),
    _of("exp2", lambda x: np.exp(x * np.log(2.0)) if np.iscomplexobj(x) else np.exp2(x), ulp=4),
    _of("expm1", np.expm1, ulp=3),
    _of("log", np.log, "positive", ulp=3),
    _of("log2", np.log2, "positive", ulp=4),
    _of("log10", np.log10, "positive", ulp=4),
    _of("log1p", np.log1p, "positive", ulp=2),
    _of("sin", np.sin, ulp=4),
    _of("cos", np.cos, ulp=4),
    _of("tan", np.tan, "unit", ulp=5),
    _of("asin", np.arcsin, "unit", ulp=4),
    _of("acos", np.arccos, "unit", ulp=4),
    _of("atan", np.arctan, ulp=5),
    _of("sinh", np.sinh, ulp=4),
    _of("cosh", np.cosh, ulp=4),
    _of("tanh", np.tanh, ulp=5),
    _of("asinh", np.arcsinh, ulp=4),
    _of("acosh", np.arccosh, "above one", ulp=4),
    _of("atanh", np.arctanh, "unit", ulp=5),
    _of("sigmoid", _sigmoid, ulp=4),
    _of("silu", lambda x: x * _sigmoid(x), ulp=5, dtypes=(*FLOATING, *COMPLEX)),
    _of("deg2rad", np.deg2rad, ulp=1, dtypes=(*REAL, *BOOL)),
    _of("rad2deg", np.rad2deg, ulp=1, dtypes=(*REAL, *BOOL)),
]
