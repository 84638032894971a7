"""What values there are, and how often."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.along import out_of_range
from tensorbus_conformance.op import BOOL, FLOATING, INTEGRAL, REAL, E, I, Op, S, T


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
            slot = int((v - low) * bins / (high - low))
            found[slot if slot < bins else bins - 1] += 1
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
    for i in order:
        # NaN are not equal, so each is a group of its own.
        if not firsts or not (lines[i] == lines[firsts[-1]]).all():
            firsts.append(i)
            many.append(0)
        many[-1] += 1
        groups[i] = len(firsts) - 1
    kept = np.array(firsts, np.int64)
    values = x.reshape(-1)[kept] if dim is None else x.take(kept, axis=dim)
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
_MORE_THAN_ONE = "Number of zero sized dimensions is more than one, so unique cannot be applied "

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
        E("zero-sized-twice", RuntimeError, _MORE_THAN_ONE, T(0, 0), dim=1),
        E(
            "scalar",
            IndexError,
            "Dimension specified as 0 but tensor has no dimensions",
            T(),
            dim=0,
        ),
    ],
    family="order",
)

OPS = [
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
