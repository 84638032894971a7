"""Histograms of numbers and of points, between edges that every dtype holds exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.op import E, Op, S, T

_VALUES = T(data=[[0.5, 3.5, 3.25], [7.5, 3.75, 0.25], [-1, 9, 8]])
_EDGES = T(data=[0.0, 1.0, 3.5, 8.0])
_POINTS = T(data=[[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.5, 1.5]])
_WHICH = T(data=[1.0, 2.0, 4.0, 8.0, -3.0])
_NAN = float("nan")


def _histogram(
    x: Any, bins: Any = 100, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    weights = None if weight is None else weight.reshape(-1)
    hist, edges = np.histogram(x.reshape(-1), bins, range, density, weights)
    return hist.astype(x.dtype), edges


def _histogramdd(
    x: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    bounds = None if range is None else list(zip(range[::2], range[1::2], strict=True))
    weights = None if weight is None else weight.reshape(-1)
    hist, edges = np.histogramdd(x.reshape(-1, x.shape[-1]), bins, bounds, density, weights)
    return (hist, *edges)


def _called(*args: Any, **kwargs: Any) -> Any:
    hist, edges = tensorbus.histogramdd(*args, **kwargs)
    return (hist, *edges)


_COMMON: Any = {
    "dtypes": (formats.FLOAT32, formats.FLOAT64),
    "ulp": 4,
    "gradient": False,
    "family": "reduce",
}
_BINS = r"torch\.histogram\(\): bins must be > 0, but got 0 for dimension {}"
_LIMITS = r"torch\.histogramdd: dimension 0's range \[3, nan\] is not finite"
_WEIGHT = (
    r"torch\.histogramdd: if weight tensor is provided it should have the same shape as the input "
    r"tensor excluding its innermost dimension, but got input with shape \[{}\] and weight with "
    r"shape \[{}\]"
)

OPS = [
    Op(
        "histogram",
        _histogram,
        [
            S("range", _VALUES, 4, range=(0.0, 8.0)),
            S("least-greatest", T(data=[0, 1.5, 2.5, 2.25, 6.5, 8]), 4),
            S("default-bins", T(data=[0.5, 99.5, 50.5]), range=(0, 100)),
            S("on-edges", T(data=[0.0, 1, 2, 3, 4]), 4),
            S("edges", _VALUES, _EDGES),
            S("nan", T(data=[_NAN, 0.5, 1.5, np.inf, 3.5]), _EDGES),
            S("nan-range", T(data=[_NAN, 0.5, 1.5, -np.inf]), 2, range=(0.0, 2.0)),
            S("weight", _VALUES, 4, range=(0.0, 8.0), weight=T(3, 3)),
            S("edges-weight", _VALUES, _EDGES, weight=T(3, 3)),
            S("density", _VALUES, _EDGES, density=True),
            S(
                "weight-density",
                _VALUES,
                4,
                range=(0.0, 8.0),
                weight=T(3, 3, of="positive"),
                density=True,
            ),
            S("equal", T(data=[2.5, 2.5]), 4),
            S("equal-range", T(data=[1.25, 2.5]), 4, range=(1.0, 1.0)),
            S("one-bin", T(4), T(data=[-9.0, 9.0])),
            S("scalar", T(data=1.5), 2),
            S("empty", T(0), 4),
            S("empty-edges", T(0, 2), _EDGES),
        ],
        result=("same", "same"),
        errors=[
            E("bins", RuntimeError, _BINS.format(0), T(3), 0),
            E("one-edge", RuntimeError, _BINS.format(0), T(3), T(1)),
            E("limits", RuntimeError, _LIMITS, T(3), 4, range=(3.0, _NAN)),
            E(
                "order",
                RuntimeError,
                r"torch\.histogramdd: min should not exceed max, but got min 3 "
                "max 0 for dimension 0",
                T(3),
                4,
                range=(3.0, 0.0),
            ),
            E(
                "half-range",
                RuntimeError,
                r"torch\.histogramdd: for a 1-dimensional histogram range "
                "should have 2 elements, but got 1",
                T(3),
                4,
                range=(3.0,),
            ),
            E(
                "edges-matrix",
                RuntimeError,
                r"torch\.histogramdd: bins tensor should have one "
                "dimension, but got 2 dimensions in the bins tensor for dimension 0",
                T(3),
                T(2, 2),
            ),
            E(
                "no-edges",
                RuntimeError,
                r"torch\.histogramdd: bins tensor should have at least 1 "
                "element, but got 0 elements in the bins tensor for dimension 0",
                T(3),
                T(0),
            ),
            E(
                "edges-dtype",
                RuntimeError,
                r"torch\.histogramdd: input tensor and bins tensors should have the same dtype, "
                "but got input with dtype float and bins for dimension 0 with dtype long int",
                T(3),
                T(3, dtype=formats.INT64),
            ),
            E("weight", RuntimeError, _WEIGHT.format("7, 1", "6"), T(7), 4, weight=T(6)),
            E(
                "weight-dtype",
                RuntimeError,
                r"torch\.histogramdd: if weight tensor is provided, input tensor and weight "
                r"tensor should have the same dtype, but got input\(float\), and "
                r"weight\(long int\)",
                T(3),
                4,
                weight=T(3, dtype=formats.INT64),
            ),
            E(
                "integers",
                NotImplementedError,
                "\"histogramdd\" not implemented for 'Long'",
                T(3),
                4,
                dtype=formats.INT64,
            ),
        ],
        **_COMMON,
    ),
    Op(
        "histogramdd",
        _histogramdd,
        [
            S("counts", _POINTS, [4, 2]),
            S("count", _POINTS, 2),
            S("range", _POINTS, [2, 4], (0.0, 1.0, 0.0, 2.0)),
            S("edges", _POINTS, (_EDGES, T(data=[0.0, 2.0]))),
            S("weight", _POINTS, [2, 2], weight=_WHICH),
            S("density", _POINTS, (_EDGES, T(data=[0.0, 0.5, 2.0])), density=True),
            S(
                "batch",
                T(data=np.arange(12.0).reshape(2, 2, 3) / 4),
                [1, 2, 4],
                (0.0, 4.0, 0.0, 4.0, 0.0, 4.0),
                T(2, 2),
            ),
            S("empty", T(0, 2), [2, 4]),
        ],
        call=_called,
        result=("same",) * 4,
        errors=[
            E(
                "vector",
                RuntimeError,
                r"torch\.histogramdd: input tensor should have at least 2 "
                "dimensions",
                T(3),
                [2],
            ),
            E(
                "sizes",
                RuntimeError,
                r"histogramdd: The size of bins must be equal to the innermost "
                r"dimension of the input\.",
                T(3, 2),
                [2],
            ),
            E(
                "edges",
                RuntimeError,
                r"torch\.histogramdd: expected 2 sequences of bin edges for a "
                "2-dimensional histogram but got 1",
                T(3, 2),
                (_EDGES,),
            ),
            E("bins", RuntimeError, _BINS.format(1), T(3, 2), [3, 0]),
            E("weight", RuntimeError, _WEIGHT.format("4, 2", "3"), T(4, 2), [2, 2], weight=T(3)),
        ],
        **_COMMON,
    ),
]
