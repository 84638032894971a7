"""What values there are and how often, and between which bounds they lie."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.along import out_of_range
from tensorbus_conformance.op import BOOL, FLOATING, INTEGRAL, REAL, E, I, Op, S, T

# -- bounds ----------------------------------------------------------------------------------


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


# -- counts ----------------------------------------------------------------------------------
def _bincount(x: np.ndarray, weights: Any = None, minlength: int = 0) -> np.ndarray:
    counts = np.zeros(max(max(x.tolist(), default=-1) + 1, minlength), np.int64)
    found = counts if weights is None else counts.astype(np.float64)
    for i, n in enumerate(x.tolist()):
        found[n] += 1 if weights is None else weights[i]
    return found


_ONE_DIM = r"bincount only supports 1-d non-negative integral inputs\."
_COUNTED = [1, 2, 2, 5, 0, 2]

_BINCOUNT = Op(
    "bincount",
    _bincount,
    [
        S("default", T(data=_COUNTED)),
        S("longer", T(data=_COUNTED), minlength=9),
        S("shorter", T(data=_COUNTED), None, 3),
        S("many", T(data=np.arange(900) % 7)),
        S("empty", T(0)),
        S("empty-longer", T(0), minlength=2),
    ],
    INTEGRAL,
    formats.INT64,
    ulp=0,
    gradient=False,
    errors=[
        E("negative", RuntimeError, _ONE_DIM, I([1, -1])),
        E("rank", RuntimeError, _ONE_DIM, I([[1, 1]])),
        E(
            "weights",
            RuntimeError,
            "weights should be 1-d and have the same length as input",
            I([1, 2]),
            T(3),
        ),
        E("minlength", RuntimeError, "minlength should be >= 0", I([1]), minlength=-1),
    ],
    family="order",
)
_BINCOUNT_WEIGHTS = replace(
    _BINCOUNT,
    name="bincount-weights",
    samples=[
        S("default", I(_COUNTED), T(6)),
        S("longer", I(_COUNTED), T(6), 9),
        S("many", I(np.arange(600) % 5), T(600, of=(0.5, 1.5))),
        S("one", I([3]), T(1)),
    ],
    dtypes=(formats.FLOAT32, formats.FLOAT64),
    result="same",
    ulp=4,
    measure="norm",
    errors=(),
    call=tensorbus.bincount,
)


def _histc(x: np.ndarray, bins: int = 100, min: float = 0, max: float = 0) -> np.ndarray:
    low, high = min, max
    if low == high:
        low, high = x.min(initial=np.inf), x.max(initial=-np.inf)
        if low == high or not x.size:
            low, high = (low if x.size else 0) - 1, (high if x.size else 0) + 1
    found = np.zeros(bins)
    for v in x.reshape(-1).tolist():
        if low <= v <= high:
            place = int((v - low) * bins / (high - low))
            found[place if place < bins else bins - 1] += 1
    return found


_MEASURED = T(data=[[0.5, 3.5, 3.25], [7.5, 3.75, 0.25], [-1, 9, 8]])

_HISTC = Op(
    "histc",
    _histc,
    [
        S("range", _MEASURED, 4, 0, 8),
        S("least-greatest", T(data=[0, 1.5, 2.5, 2.25, 6.5, 8]), 4),
        S("default-bins", T(data=[0.5, 99.5, 50.5]), min=0, max=100),
        S("edges", T(data=[0.0, 1, 2, 3, 4]), bins=4, min=0, max=4),
        S("negative", _MEASURED, 2, -4, -0.5),
        S("nan", T(data=[np.nan, 0.5, 1.5, np.inf]), 2, 0, 2),
        S("equal", T(data=[2.5, 2.5]), 4),
        S("scalar", T(data=1.5), 3, 0, 3),
        S("empty", T(0), 3),
        S("empty-range", T(0, 2), 3, 0, 1),
    ],
    FLOATING,
    ulp=0,
    gradient=False,
    errors=[
        E(
            "bins",
            RuntimeError,
            r"torch\.histogram\(\): bins must be > 0, but got 0 for dimension 0",
            T(3),
            0,
        ),
        E("range", RuntimeError, r"torch\.histc: max must be larger than min", T(3), 4, 3, 1),
        E(
            "infinite",
            RuntimeError,
            r"torch\.histc: range of \[2, inf\] is not finite",
            T(data=[2, np.inf]),
            4,
        ),
    ],
    family="order",
)


# -- unique ----------------------------------------------------------------------------------
def _unique(x: np.ndarray, inverse: bool, counts: bool, dim: int | None, consecutive: bool) -> Any:
    moved = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0)
    lines = moved.reshape(len(moved), math.prod(moved.shape[1:]))
    keys = [tuple((v != v, 0 if v != v else v) for v in line) for line in lines.tolist()]
    order = range(len(keys)) if consecutive else sorted(range(len(keys)), key=keys.__getitem__)
    firsts: list[int] = []
    many: list[int] = []
    groups = np.zeros(len(keys), np.int64)
    for place in order:
        # NaN are not equal, so each is a group of its own.
        if not firsts or not (lines[place] == lines[firsts[-1]]).all():
            firsts.append(place)
            many.append(0)
        many[-1] += 1
        groups[place] = len(firsts) - 1
    places = np.array(firsts, np.int64)
    values = x.reshape(-1)[places] if dim is None else x.take(places, axis=dim)
    results = [values]
    if inverse:
        results.append(groups.reshape(x.shape) if dim is None else groups)
    if counts:
        results.append(np.array(many, np.int64))
    return results[0] if len(results) == 1 else tuple(results)


def _sorted_unique(
    x: np.ndarray,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    return _unique(x, return_inverse, return_counts, dim, False)


def _consecutive(
    x: np.ndarray,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    return _unique(x, return_inverse, return_counts, dim, True)


_TIES = T(4, 5, of="ties")
_ROWS = T(data=[[1, 2, 0], [1, 2, 0], [0, 1, 1], [1, 2, 0], [0, 2, 1]])
_BOTH = {"return_inverse": True, "return_counts": True}
_ZERO_SIZED = "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"

_UNIQUE = Op(
    "unique",
    _sorted_unique,
    [
        S("both", _TIES, **_BOTH),
        S("values", _TIES),
        S("positional", _TIES, True, True),
        S("counts", _TIES, return_counts=True),
        S("rows", _ROWS, dim=0, **_BOTH),
        S("columns", _ROWS, dim=-1, **_BOTH),
        S("rank3", T(3, 2, 2, of="ties"), dim=1, return_inverse=True),
        S("distinct", T(7), **_BOTH),
        S("long", T(600, of="ties"), **_BOTH),
        S("wide", T(4, 12, of="wide"), **_BOTH),
        S("nan", T(data=[np.nan, 1.5, np.nan, 1.5, -0.0, 0.0]), **_BOTH).only(*FLOATING),
        S("scalar", T(), **_BOTH),
        S("empty", T(0), **_BOTH),
        S("empty-rows", T(0, 2), dim=0, **_BOTH),
    ],
    (*BOOL, *REAL),
    ("same", formats.INT64, formats.INT64),
    ulp=0,
    gradient=False,
    errors=[
        E("dim", IndexError, out_of_range(-2, 1, 2), T(2, 3), dim=2),
        E("zero-sized", RuntimeError, _ZERO_SIZED, T(2, 0), dim=0),
    ],
    family="order",
)

OPS = [
    _SEARCHSORTED,
    _BUCKETIZE,
    _int32(_SEARCHSORTED),
    _int32(_BUCKETIZE),
    _BINCOUNT,
    _BINCOUNT_WEIGHTS,
    _HISTC,
    _UNIQUE,
    replace(
        _UNIQUE,
        name="unique_consecutive",
        reference=_consecutive,
        samples=[
            S("positional", _TIES, True, True),
            *(s for s in _UNIQUE.samples if s.variant != "positional"),
        ],
    ),
]
