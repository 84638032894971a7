"""Norms of vectors and matrices, and the distance of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import FLOAT16, FLOAT32, INT64
from tensorbus_conformance.op import COMPLEX, FLOATING, E, Op, S, T
from tensorbus_conformance.samples.factorizations import PRECISE
from tensorbus_conformance.samples.orthogonal import apart

_INF = float("inf")
_FAR = (4.0, 4.01)
"""Away from the other operand's values, so that no difference is near 0."""
_TYPES = (*FLOATING, *COMPLEX)


def _vector_norm(
    x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    a = np.abs(x)
    axes = tuple(range(x.ndim)) if dim is None else dim
    axes = tuple(axes) if isinstance(axes, (list, tuple)) else (axes,)
    axes = axes if x.ndim else ()
    if ord == _INF:
        return a.max(axes, keepdims=keepdim)
    if ord == -_INF:
        return a.min(axes, keepdims=keepdim)
    if ord == 0:
        return (a != 0).sum(axes, keepdims=keepdim).astype(np.float64)
    return (a**ord).sum(axes, keepdims=keepdim) ** (1.0 / ord)


def _matrix_norm(
    x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Any:
    if ord == "fro":
        return _vector_norm(x, 2, dim, keepdim)
    rows, columns = (d % x.ndim for d in dim)
    if ord in ("nuc", 2, -2):
        values = np.linalg.svd(np.moveaxis(x, (rows, columns), (-2, -1)), compute_uv=False)
        several: Any = {"nuc": np.sum, 2: np.max, -2: np.min}[ord]
        found = several(values, axis=-1) if values.shape[-1] else np.zeros(values.shape[:-1])
        return np.expand_dims(found, tuple(sorted((rows, columns)))) if keepdim else found
    summed, ranked = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = np.abs(x).sum(summed, keepdims=True)
    if ord > 0:  # 0 where there are no sums
        found = np.max(sums, axis=ranked, keepdims=True, initial=0)
    else:
        found = np.min(sums, axis=ranked, keepdims=True)
    return found if keepdim else found.squeeze((rows, columns))


def _norm(
    x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    dims = tuple(range(x.ndim)) if dim is None and ord is not None else dim
    if ord is not None and isinstance(dims, tuple) and len(dims) == 2:
        return _matrix_norm(x, ord, dims, keepdim)
    return _vector_norm(x, 2 if ord is None else ord, dim, keepdim)


def _older_norm(
    x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    if p == "nuc":
        return _matrix_norm(x, p, (-2, -1) if dim is None else dim, keepdim)
    return _vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim)


def _nuclear_norm(x: Any, dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    return _matrix_norm(x, "nuc", dim, keepdim)


def _op(name: str, reference: Callable[..., Any], samples: list[Any], **settings: Any) -> Op:
    fields: dict[str, Any] = {"dtypes": _TYPES, "result": "real", "ulp": 4.0}
    return Op(name, reference, samples, family="reductions", **(fields | settings))


_WANTED = "Expected a floating point or complex tensor as input. Got Long".replace(".", r"\.")
_RANGE = r"Dimension out of range \(expected to be in range of \[{}\], but got {}\)"
_VECTOR = r"linalg\.vector_norm"
_MATRIX = r"linalg\.matrix_norm: "
_TWO = _MATRIX + r"The input tensor A must have at least 2 dimensions\."
_EMPTY = " because the operation does not have an identity"

_SPECTRAL = [
    S(str(name), *args).only(*PRECISE)
    for name, *args in [
        ("two", T(data=apart(3, 4)), 2),
        ("minus-two", T(data=apart(4, 2)), -2),
        ("nuclear", T(data=apart(3, 3)), "nuc"),
        ("two-batch", T(data=apart(2, 3, 2)), 2),
        ("nuclear-dims", T(data=apart(3, 4, 2).transpose(2, 0, 1)), "nuc", (2, 0)),
        ("two-keepdim", T(data=apart(2, 3, 2)), 2, (1, 2), True),
        ("nuclear-no-rows", T(2, 0, 3), "nuc"),
        ("two-no-rows", T(2, 0, 3), 2),
        ("minus-two-no-matrix", T(0, 2, 3), -2),
    ]
]

OPS = [
    _op(
        "linalg.vector_norm", _vector_norm,
        [
            S("plain", T(3, 4)),
            S("one", T(3, 4), 1),
            S("three", T(3, 4), 3),
            S("fraction", T(3, 4), 1.5, 0),
            S("negative", T(3, 4), -1, 1),
            S("infinity", T(3, 4), _INF, 1),
            S("minus-infinity", T(3, 4), -_INF, 0),
            S("count", T(3, 4, grad=False), 0, 1),
            S("dim", T(3, 4), 2, 0),
            S("dims", T(2, 3, 2), 2, (0, -1)),
            S("keepdim", T(2, 3, 2), 2, (0, 2), True),
            S("scalar", T()),
            S("empty", T(0, 3)),
            S("empty-dim", T(2, 0), 2, 1),
            S("no-rows", T(0, 3), _INF, 1),
        ],
        errors=[
            E("integers", RuntimeError, _VECTOR + ": " + _WANTED, T(3), dtype=INT64),
            E("name", TypeError, r"linalg_vector_norm\(\): argument 'ord' \(position 2\) must be "
              "Number, not str", T(3), "fro"),
            E("range", IndexError, _RANGE.format("-1, 0", 1), T(3), 2, 1),
            E("twice", RuntimeError, "dim 0 appears multiple times in the list of dims",
              T(2, 2), 2, (0, 0)),
            E("empty", RuntimeError, _VECTOR + " cannot compute the inf norm on an empty tensor"
              + _EMPTY, T(0), _INF),
            E("empty-dim", RuntimeError, _VECTOR + " cannot compute the -1 norm on the dimension "
              "0because this dimension is empty and the operation does not have an identity",
              T(0, 2), -1, 0),
        ],
    ),
    _op(
        "linalg.vector_norm-dtype", _vector_norm,
        [S("wider", T(3, 4), dtype=FLOAT32), S("wider-dim", T(3, 4), 1, 0, dtype=FLOAT32)],
        dtypes=(FLOAT16,), result=FLOAT32, gradient=False, call=tensorbus.linalg.vector_norm,
    ),
    _op(
        "linalg.matrix_norm", _matrix_norm,
        [
            S("plain", T(3, 4)),
            S("one", T(3, 4), 1),
            S("minus-one", T(3, 4), -1),
            S("infinity", T(3, 4), _INF),
            S("minus-infinity", T(3, 4), -_INF),
            S("batch", T(2, 3, 2), 1),
            S("dims", T(2, 3, 2), 1, (0, 2)),
            S("dims-reversed", T(2, 3, 2), 1, (2, 0)),
            S("keepdim", T(2, 3, 2), _INF, (0, 1), True),
            S("empty-batch", T(0, 2, 3)),
            S("no-columns", T(2, 3, 0), 1, (1, 2), True),
            S("no-rows", T(0, 3), _INF),
            *_SPECTRAL,
        ],
        ulp=16.0, grad_ulp=128.0,
        errors=[
            E("vector", RuntimeError, _TWO, T(3)),
            E("half", RuntimeError, _MATRIX + r"Low precision dtypes not supported\. Got Half",
              T(2, 2), 2, dtype=FLOAT16),
            E("smallest-of-none", IndexError, r"amin\(\): Expected reduction dim -?\d to have "
              r"non-zero size\.", T(2, 0), -2),
            E("order", RuntimeError, _MATRIX + r"Order 3 not supported\.", T(2, 2), 3),
            E("name", RuntimeError, _MATRIX + r"Order x not supported\.", T(2, 2), "x"),
            E("one-dim", RuntimeError, _MATRIX + r"dim must be a 2-tuple\. Got 0",
              T(2, 2), "fro", (0,)),
            E("same-dims", RuntimeError, _MATRIX + r"dims must be different\. Got \(0, 0\)",
              T(2, 2), 1, (0, -2)),
            E("integers", RuntimeError, _MATRIX + _WANTED, T(2, 2), dtype=INT64),
        ],
    ),
    _op(
        "linalg.norm", _norm,
        [
            S("plain", T(3, 4)),
            S("vector", T(5), 3),
            S("matrix", T(3, 4), "fro"),
            S("matrix-one", T(3, 4), 1),
            S("dim", T(3, 4), None, 1),
            S("dim-order", T(3, 4), _INF, 1, True),
            S("dims", T(2, 3, 2), -_INF, (0, 2)),
            S("spectral", T(data=apart(3, 4)), 2).only(*PRECISE),
            S("nuclear-dims", T(data=apart(2, 3, 4)), "nuc", (2, 1), True).only(*PRECISE),
            S("scalar", T()),
            S("empty", T(0)),
        ],
        ulp=16.0, grad_ulp=128.0,
        errors=[
            E("batch", RuntimeError, r"linalg\.norm: If dim is not specified but ord is, the input "
              r"must be 1D or 2D\. Got 3D\.", T(2, 2, 2), 2),
            E("dims", RuntimeError, r"linalg\.norm: If dim is specified, it must be of length 1 or "
              r"2\. Got \[0, 1, 2\]", T(2, 2, 2), None, (0, 1, 2)),
            E("name", RuntimeError, _TWO, T(2), "fro"),
            E("integers", RuntimeError, _VECTOR + ": " + _WANTED, T(2), dtype=INT64),
        ],
    ),
    _op(
        "norm", _older_norm,
        [
            S("plain", T(3, 4)),
            S("one", T(3, 4), 1),
            S("infinity", T(3, 4), _INF, 0),
            S("negative", T(3, 4), -2.5, 1, True),
            S("frobenius", T(2, 3, 2), "fro", (0, 1)),
            S("none", T(3, 4), None, 1),
            S("nuclear", T(data=apart(3, 2)), "nuc").only(*PRECISE),
            S("scalar", T()),
            S("empty", T(0, 2)),
        ],
        ulp=16.0, grad_ulp=128.0,
        errors=[
            E("integers", RuntimeError, _VECTOR + ": " + _WANTED, T(2), dtype=INT64),
            E("range", IndexError, _RANGE.format("-1, 0", 3), T(2), 2, 3),
            E("name", RuntimeError, _MATRIX + r"Order x not supported\.", T(2), "x"),
            E("nuclear-vector", RuntimeError, _TWO, T(2), "nuc"),
        ],
    ),
    _op(
        "nuclear_norm", _nuclear_norm,
        [
            S("plain", T(data=apart(3, 4))),
            S("keepdim", T(data=apart(2, 3, 2)), True),
            S("dims", T(data=apart(2, 3, 2)), (2, 1)),
        ],
        dtypes=PRECISE, ulp=16.0, grad_ulp=128.0,
        errors=[E("vector", RuntimeError, _TWO, T(2))],
    ),
    _op(
        "frobenius_norm", lambda x, dim, keepdim=False: _vector_norm(x, 2, dim, keepdim),
        [
            S("one", T(3, 4), 0),
            S("two", T(2, 3, 2), (0, 2), True),
        ],
        errors=[E("three", RuntimeError, r"Expected at most 2 dimensions, but got 3 dimensions "
                  r"instead\.", T(2, 2, 2), (0, 1, 2))],
    ),
    _op(
        "dist", lambda a, b, p=2: _vector_norm(a - b, p),
        [
            S("plain", T(3, 4), T(3, 4, of=_FAR)),
            S("one", T(3, 4), T(3, 4, of=_FAR), 1),
            S("three", T(3, 4), T(3, 4, of=_FAR), p=3.0),
            S("infinity", T(3, 4), T(3, 4, of=_FAR), _INF),
            S("broadcast", T(3, 1), T(4, of=_FAR)),
            S("scalar", T(), T(of=_FAR)),
            S("empty", T(0), T(0)),
        ],
        ulp=6.0,
        errors=[
            E("shapes", RuntimeError, r"The size of tensor a \(2\) must match the size of tensor b "
              r"\(3\) at non-singleton dimension 0", T(2), T(3)),
            E("integers", RuntimeError, r"norm\(\): input dtype should be either floating point or "
              r"complex\. Got Long instead\.", T(2), T(2), dtype=INT64),
        ],
    ),
]  # fmt: skip
