"""Products with weights, and look-ups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance.op import COMPLEX, FLOATING, E, I, Op, S, T

_F = "nn.functional."


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> Any:
    """The product with each row of the weight, summed term by term."""
    y = (x[..., None, :] * weight).sum(-1)
    if weight.ndim == 1:
        y = y[..., 0]
    return y if bias is None else y + bias


def _linear_terms(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> Any:
    return linear(np.abs(x), np.abs(weight), None if bias is None else np.abs(bias))


def bilinear(
    a: np.ndarray, b: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> Any:
    """The sum over both features of a[i] w[o, i, j] b[j]."""
    terms = a[..., None, :, None] * weight * b[..., None, None, :]
    y = terms.sum((-1, -2))
    return y if bias is None else y + bias


def _bilinear_terms(
    a: np.ndarray, b: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> Any:
    shift = None if bias is None else np.abs(bias)
    return bilinear(np.abs(a), np.abs(b), np.abs(weight), shift)


def _embedding(i: np.ndarray, weight: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    out = np.zeros((*i.shape, *weight.shape[1:]), weight.dtype)
    for at in np.ndindex(*i.shape):
        out[at] = weight[i[at]]
    return out


def embedding_max_norm(
    i: np.ndarray, weight: np.ndarray, max_norm: float, norm_type: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """(rows, weight afterwards): rows that are looked up get at most the norm."""
    weight = weight.copy()
    for row in set(i.reshape(-1).tolist()):
        norm = (np.abs(weight[row]) ** norm_type).sum() ** (1 / norm_type)
        if norm > max_norm:
            weight[row] *= max_norm / (norm + 1e-7)
    return _embedding(i, weight), weight


def _call_max_norm(i: Any, weight: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    weight = weight.clone()
    rows = _functional("embedding")(i, weight, None, max_norm, norm_type)
    return rows, weight


def _functional(name: str) -> Callable[..., Any]:
    import tensorbus.nn.functional

    found: Callable[..., Any] = getattr(tensorbus.nn.functional, name)
    return found


OPS = [
    Op(
        _F + "linear",
        linear,
        [
            S("plain", T(3, 4), T(2, 4), T(2)),
            S("no-bias", T(3, 4), T(2, 4)),
            S("vector", T(4), T(2, 4), T(2)),
            S("batch", T(2, 3, 4), T(5, 4), T(5)),
            S("one-row", T(1, 4), T(3, 4), T(3)),
            S("one-output", T(3, 4), T(1, 4), T(1)),
            S("vector-weight", T(3, 4), T(4)),
            S("empty", T(0, 4), T(2, 4), T(2)),
            S("no-features", T(3, 0), T(2, 0), T(2)),
        ],
        dtypes=(*FLOATING, *COMPLEX),
        scale=_linear_terms,
        ulp=2,
        grad_ulp=8,
        errors=[
            E(
                "bias-dtype",
                RuntimeError,
                "self and mat2 must have the same dtype, but got Long and Float",
                T(3, 4),
                T(2, 4),
                I([0, 1]),
            ),
            E(
                "weight-dtype",
                RuntimeError,
                "expected m1 and m2 to have the same dtype, but got: float != long int",
                T(3, 4),
                I([[1, 2, 3, 4]]),
            ),
            E(
                "shapes",
                RuntimeError,
                r"mat1 and mat2 shapes cannot be multiplied \(3x4 and 5x2\)",
                T(3, 4),
                T(2, 5),
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "bilinear",
        bilinear,
        [
            S("plain", T(3, 2), T(3, 4), T(2, 2, 4), T(2)),
            S("no-bias", T(3, 2), T(3, 4), T(2, 2, 4)),
            S("batch", T(2, 3, 2), T(2, 3, 3), T(2, 2, 3), T(2)),
            S("vector", T(2), T(3), T(2, 2, 3), T(2)),
        ],
        (*FLOATING, *COMPLEX),
        scale=_bilinear_terms,
        ulp=3,
        grad_ulp=8,
        family="nn",
    ),
    Op(
        _F + "embedding",
        _embedding,
        [
            S("plain", I([1, 0, 3, 1]), T(4, 3)),
            S("matrix", I([[1, 0], [2, 2]]), T(3, 4)),
            S("scalar", I(2), T(3, 4)),
            S("padding", I([1, 0, 2]), T(3, 4, grad=False), 0),
            S("padding-behind", I([1, 0, 2]), T(3, 4, grad=False), padding_idx=-1),
            S("empty", I(np.zeros((0, 2), np.int64)), T(3, 4)),
        ],
        ulp=0,
        errors=[
            E(
                "dtype",
                RuntimeError,
                "Expected tensor for argument #1 'indices' to have one of the following scalar "
                r"types: Long, Int; but got torch\.(\w+\.)?FloatTensor instead "
                r"\(while checking arguments for embedding\)",
                T(3),
                T(3, 4),
            ),
            E(
                "range",
                IndexError,
                "index out of range in self: index 3 is out of bounds for dimension 0 with size 3",
                I([3]),
                T(3, 4),
            ),
            E(
                "padding",
                AssertionError,
                "Padding_idx must be within num_embeddings",
                I([1]),
                T(3, 4),
                3,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "embedding-max_norm",
        embedding_max_norm,
        [
            S("plain", I([1, 0, 1]), T(4, 3, grad=False), 1.0),
            S("p1", I([[1, 3]]), T(4, 3, grad=False), 1.0, 1.0),
        ],
        ulp=6,
        gradient=False,
        call=_call_max_norm,
        family="nn",
    ),
]
