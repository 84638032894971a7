"""Activations with a weight, and those that work along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tensorbus_conformance.formats import FLOAT32, INT64
from tensorbus_conformance.op import E, I, Op, S, T
from tensorbus_conformance.samples.activations import functional

_F = "nn.functional."


def _prelu(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    if weight.size > 1:
        weight = weight.reshape(-1, *(1,) * (x.ndim - 2))
    return np.where(x > 0, x, x * weight).reshape(x.shape)


def _glu(x: np.ndarray, dim: int = -1) -> np.ndarray:
    a, b = np.split(x, 2, axis=dim)
    return a * special.expit(b)


def _softmax(x: np.ndarray, dim: int) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=dim, keepdims=True, initial=-np.inf))
    return np.asarray(shifted / shifted.sum(axis=dim, keepdims=True))


def _log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    shifted = x - x.max(axis=dim, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True)))


def _softmin(x: np.ndarray, dim: int) -> np.ndarray:
    return _softmax(-x, dim)


def _along(name: str, reference: Callable[..., Any], **settings: Any) -> Op:
    """A function of the softmax family."""
    errors = [
        E(
            "dim",
            IndexError,
            r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
            T(3, 4),
            2,
        )
    ]
    return Op(
        name,
        reference,
        [
            S("dim0", T(3, 4), 0),
            S("last", T(2, 3, 4), -1),
            S("middle", T(2, 3, 4), 1),
            S("keyword", T(3, 4), dim=1),
            S("one", T(3, 1), 1),
            S("scalar", T(), 0),
            S("empty", T(0, 3), 1),
            S("large", T(data=[[200.0, -150.0, 199.0], [-300.0, -301.0, -302.5]]), 1),
        ],
        errors=errors,
        family="nn",
        **settings,
    )


def _of_integers(name: str, reference: Callable[..., Any], ulp: float) -> Op:
    """The function of an int64 operand with ``dtype=``."""

    def call(x: Any, dim: int) -> Any:
        return functional(name)(x, dim, dtype=FLOAT32)

    samples = [S("plain", I([[1, 5, -2], [0, 3, 4]]), 1)]
    return Op(
        f"{_F}{name}-dtype",
        lambda x, dim: reference(x.astype(np.float64), dim),
        samples,
        dtypes=(INT64,),
        result=FLOAT32,
        ulp=ulp,
        measure="norm",
        gradient=False,
        call=call,
        family="nn",
    )


def _normalize(x: np.ndarray, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> np.ndarray:
    length = np.sum(np.abs(x) ** p, axis=dim, keepdims=True) ** (1 / p)
    return np.asarray(x / np.maximum(length, eps))


ALONG = [
    _along(name, reference, ulp=ulp, measure="norm")
    for prefix in ("", _F)
    for name, reference, ulp in (
        (f"{prefix}softmax", _softmax, 4),
        (f"{prefix}log_softmax", _log_softmax, 3),
        (f"{prefix}softmin", _softmin, 4),
    )
    if name != "softmin"
]

OPS = [
    *ALONG,
    _of_integers("softmax", _softmax, 4),
    _of_integers("log_softmax", _log_softmax, 3),
    _of_integers("softmin", _softmin, 4),
    Op(
        _F + "prelu",
        _prelu,
        [
            S("one", T(3, 4), T(1, of="positive")),
            S("channels", T(2, 3, 4), T(3)),
            S("vector", T(5), T(1)),
            S("scalar", T(), T(1)),
            S("empty", T(0, 3), T(3)),
        ],
        ulp=1,
        errors=[
            E(
                "channels",
                RuntimeError,
                r"Mismatch of parameter numbers and input channel size\. Found parameter numbers = "
                r"4 and channel size = 3\.",
                T(2, 3),
                T(4),
            )
        ],
        family="nn",
    ),
    Op(
        _F + "glu",
        _glu,
        [S("last", T(3, 4)), S("dim0", T(4, 3), 0), S("vector", T(6)), S("empty", T(0, 4))],
        ulp=4,
        errors=[
            E(
                "odd",
                RuntimeError,
                "Halving dimension must be even, but dimension 1 is size 3",
                T(2, 3),
            )
        ],
        family="nn",
    ),
    Op(
        _F + "normalize",
        _normalize,
        [
            # eps is 0 in float16, in PyTorch too, and a row of zeros divided by itself.
            S("plain", T(3, 4, of="nonzero")),
            S("p1", T(3, 4, of="nonzero"), 1.0, 0),
            S("p3", T(2, 3, 4, of="nonzero"), 3.0, -1),
            S("eps", T(3, 4), eps=5.0),
            S("zeros", T(data=np.zeros((2, 3)), grad=False), eps=0.01),
            S("empty", T(0, 3)),
        ],
        ulp=4,
        measure="norm",
        family="nn",
    ),
]
