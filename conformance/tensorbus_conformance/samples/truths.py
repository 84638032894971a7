"""Whether any or all elements are true, are equal, or how many are not zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.along import (
    dims_errors,
    empties,
    many_dims,
    one_dim,
    over,
)
from tensorbus_conformance.op import ANY, COMPLEX, FLOATING, M, Op, S, T


def _bytes_stay(dtype: Any) -> Any:
    return formats.UINT8 if dtype is formats.UINT8 else formats.BOOL


def _truth(f: Callable[..., Any]) -> Callable[..., Any]:
    """An empty tuple of dimensions reduces nothing."""

    def reference(
        x: np.ndarray, dim: Any = None, keepdim: bool = False, **named: Any
    ) -> np.ndarray:
        reduce = over(lambda v: f(v != 0, axis=-1))
        found = x != 0 if dim == () else reduce(x, dim, keepdim, **named)
        return np.asarray(found.astype(np.uint8) if x.dtype == np.uint8 else found)

    return reference


def _equal(x: np.ndarray, y: np.ndarray) -> bool:
    return x.shape == y.shape and bool((x == y).all())


def _nonzero(x: np.ndarray, dim: Any = None) -> Any:
    return over(lambda v: np.count_nonzero(v, axis=-1).astype(np.int64))(x, dim)


_TRUTHS = [
    *one_dim(),
    *many_dims(),
    *empties(),
    S("ties", T(6, 4, of="ties"), 1),
    S("true", T(3, 4, of="nonzero"), 1),
    S("false", T(data=np.zeros((2, 3))), 1),
    S("one-true", T(data=[[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]]), 1),
    S("one-false", T(data=[[1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1]]), 1),
    S("wide", T(4, 12, of="wide"), 0),
    S("nan", T(data=[[0, np.nan], [1, np.nan], [0, 0]]), 1).only(*FLOATING, *COMPLEX),
    S("negative-zero", T(data=[-0.0, 0.0])),
    S("imaginary", T(data=[[0, 1j], [0, 0]]), 1).only(*COMPLEX),
]

OPS = [
    Op(
        "any", _truth(np.any), _TRUTHS, ANY, _bytes_stay,
        ulp=0, gradient=False, errors=dims_errors(), family="reductions",
    ),
    Op(
        "all", _truth(np.all), _TRUTHS, ANY, _bytes_stay,
        ulp=0, gradient=False, errors=dims_errors(), family="reductions",
    ),
    Op(
        "count_nonzero",
        _nonzero,
        [
            S("dim", T(6, 4, of="ties"), 1),
            S("all", T(6, 4, of="ties")),
            S("negative", T(6, 4, of="ties"), -2),
            S("dims", T(2, 3, 4, of="ties"), (2, 0)),
            S("wide", T(4, 12, of="wide"), 0),
            S("holes", T(4, 5, of="holes"), 1),
            S("negative-zero", T(data=[-0.0, 0.0])),
            S("scalar", T()),
            S("scalar-dim", T(), 0),
            S("empty", T(0, 3)),
            S("empty-dim", T(0, 3), 0),
            S("empty-kept", T(0, 3), 1),
        ],
        ANY, formats.INT64, ulp=0, gradient=False, errors=dims_errors(), family="reductions",
    ),
    Op(
        "equal",
        _equal,
        [
            S("same", T(data=[[1, 2], [3, 0]]), T(data=[[1, 2], [3, 0]])),
            S("different", T(data=[[1, 2], [3, 0]]), T(data=[[1, 2], [3, 1]])),
            S("shapes", T(2, 3), T(3)),
            S("broadcastable", T(data=[[1.0, 1.0]]), T(data=[1.0])),
            S("nan", T(data=[1.0, np.nan]), T(data=[1.0, np.nan])).only(*FLOATING, *COMPLEX),
            S("zeros", T(data=[0.0]), T(data=[-0.0])),
            S("scalar", T(data=1), T(data=1)),
            S("empty", T(0, 2), T(0, 2)),
            S("empty-shapes", T(0, 2), T(2, 0)),
            S("dtypes", T(data=[1, 0]), M([True, False])),
        ],
        ANY, ulp=0, gradient=False, family="comparison",
    ),
]  # fmt: skip
