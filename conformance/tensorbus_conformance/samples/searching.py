"""Between which bounds of a sorted sequence values lie."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.op import FLOATING, REAL, E, I, Op, S, T


def _searchsorted(
    x: np.ndarray,
    input: Any = None,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
    values: Any = None,
) -> np.ndarray:
    """Bisection of Python lists; NaN lie behind all else."""
    v = np.asarray(values if input is None else input)
    x = x if sorter is None else np.take_along_axis(x, sorter, -1)
    find = bisect_right if right or side == "right" else bisect_left
    found = np.empty(v.shape, np.int64)
    for at in np.ndindex(v.shape):
        line = x if x.ndim == 1 else x[at[:-1]]
        keys = [(e != e, 0 if e != e else e) for e in line.tolist()]
        value = v[at].item()
        found[at] = find(keys, (value != value, 0 if value != value else value))
    return found


def _bucketize(x: Any, boundaries: np.ndarray, **kwargs: Any) -> np.ndarray:
    return _searchsorted(boundaries, x, **kwargs)


_BOUNDS = T(data=[1, 3, 3, 5, 8])
_VALUES = T(data=[[0, 1, 2], [3, 5, 6], [8, 9, 3]])
_SHUFFLED = T(data=[5, 1, 8, 3, 3])
_ORDER = I([1, 3, 4, 0, 2])
_ENDS = T(data=[-np.inf, -1.5, 0.0, 2.5, np.inf, np.nan, np.nan])
_FAR = T(data=[np.nan, -np.inf, np.inf, -0.0, 0.0, 2.5, 2.625])

_SEARCHSORTED = Op(
    "searchsorted",
    _searchsorted,
    [
        S("default", _BOUNDS, _VALUES),
        S("right", _BOUNDS, _VALUES, right=True),
        S("side-left", _BOUNDS, _VALUES, side="left"),
        S("side-right", _BOUNDS, _VALUES, side="right"),
        S("rows", T(data=[[1, 3, 5], [2, 2, 9]]), T(data=[[0, 3, 6, 5], [2, 3, 9, 10]])),
        S("rows-right", T(data=[[1, 3, 5], [2, 2, 9]]), T(data=[[3], [2]]), right=True),
        S("sorter", _SHUFFLED, _VALUES, sorter=_ORDER),
        S("sorter-rows", T(data=[[3, 1], [2, 4]]), T(data=[[2], [2]]), sorter=I([[1, 0], [0, 1]])),
        S("number", _BOUNDS, 4),
        S("fraction", _BOUNDS, 3.5),
        S("int-values", _BOUNDS, I([0, 3, 8])),
        S("values-keyword", _BOUNDS, values=_VALUES),
        S("scalar", _BOUNDS, T(data=5)),
        S("nan", _ENDS, _FAR).only(*FLOATING),
        S("nan-right", _ENDS, _FAR, right=True).only(*FLOATING),
        S("long", T(data=np.arange(100) // 3), T(data=[0, 7, 33])),
        S("empty-values", _BOUNDS, T(0, 2)),
        S("empty-bounds", T(0), T(3)),
    ],
    REAL,
    formats.INT64,
    ulp=0,
    gradient=False,
    errors=[
        E(
            "side",
            RuntimeError,
            r"torch\.searchsorted\(\): side can only be 'left' or 'right' but got up",
            T(3),
            T(2),
            side="up",
        ),
        E(
            "opposites",
            RuntimeError,
            r"torch\.searchsorted\(\): side and right can't be set to opposites, got side of left "
            "while right was True",
            T(3),
            T(2),
            side="left",
            right=True,
        ),
        E(
            "rows",
            RuntimeError,
            r"torch\.searchsorted\(\): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            r"boundaries tensor \[1, 3\] and input value tensor \[2, 1\]",
            T(1, 3),
            T(2, 1),
        ),
        E(
            "number",
            RuntimeError,
            r"torch\.searchsorted\(\): input value can be a scalar only when boundaries tensor "
            r"dimension is 1, but we got boundaries tensor dim\(2\) and input value's dim\(0\) "
            r"numel\(1\)",
            T(1, 3),
            2.0,
        ),
        E(
            "sorter-dtype",
            RuntimeError,
            r"torch\.searchsorted\(\): sorter must be a tensor of long dtype but got dtype Float",
            T(3),
            T(2),
            sorter=T(3),
        ),
        E(
            "sorter-range",
            RuntimeError,
            r"torch\.searchsorted\(\): sorter index out of range",
            T(3),
            T(2),
            sorter=I([0, 1, 3]),
        ),
    ],
    family="order",
)
_BUCKETIZE = Op(
    "bucketize",
    _bucketize,
    [
        S("default", _VALUES, _BOUNDS),
        S("right", _VALUES, _BOUNDS, right=True),
        S("number", 4, _BOUNDS),
        S("scalar", T(data=3), _BOUNDS),
        S("nan", _FAR, _ENDS).only(*FLOATING),
        S("empty", T(0), _BOUNDS),
        S("empty-bounds", T(3), T(0)),
    ],
    REAL,
    formats.INT64,
    ulp=0,
    gradient=False,
    errors=[
        E(
            "rank",
            RuntimeError,
            r"boundaries tensor must be 1 dimension, but got dim\(2\)",
            T(3),
            T(1, 3),
        )
    ],
    family="order",
)


def _int32(op: Op) -> Op:
    samples = [replace(s, kwargs={**s.kwargs, "out_int32": True}) for s in list(op.samples)[:2]]
    return replace(
        op,
        name=f"{op.name}-int32",
        reference=lambda *args, **kwargs: op.reference(*args, **kwargs).astype(np.int32),
        samples=samples,
        result=formats.INT32,
        errors=(),
        call=getattr(tensorbus, op.name),
    )


OPS = [_SEARCHSORTED, _BUCKETIZE, _int32(_SEARCHSORTED), _int32(_BUCKETIZE)]
