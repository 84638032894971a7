"""Activation functions and their kind."""

from __future__ import annotations

import numpy as np

from tensorbus_conformance.op import Op, S, T


def _softmax(x: np.ndarray, dim: int) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=dim, keepdims=True, initial=-np.inf))
    return np.asarray(shifted / shifted.sum(axis=dim, keepdims=True))


OPS = [
    Op(
        "softmax",
        _softmax,
        [
            S("dim0", T(3, 4), 0),
            S("last", T(2, 3, 4), -1),
            S("scalar", T(), 0),
            S("empty", T(0, 3), 1),
        ],
        ulp=4,
        measure="norm",
        family="nn",
    ),
]
