"""Differences of neighbours along a dimension, and areas under them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.along import dim_errors
from tensorbus_conformance.op import ANY, COMPLEX, FLOATING, INTEGRAL, E, ErrorSample, M, Op, S, T


# -- differences -----------------------------------------------------------------------------
def _parts(x: np.ndarray, dim: int, prepend: Any, append: Any) -> np.ndarray:
    parts = [t for t in (prepend, x, append) if t is not None]
    return np.concatenate(parts, dim)


def _diff(
    x: np.ndarray, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> np.ndarray:
    found = np.moveaxis(_parts(x, dim, prepend, append), dim, 0)
    for _ in range(min(n, len(found))):
        found = found[1:] != found[:-1] if x.dtype == bool else found[1:] - found[:-1]
    return np.moveaxis(found, 0, dim)


def _diff_scale(
    x: np.ndarray, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> np.ndarray:
    """The sums of absolute terms."""
    found = np.abs(np.moveaxis(_parts(x, dim, prepend, append), dim, 0)) + 0.0
    for _ in range(min(n, len(found))):
        found = found[1:] + found[:-1]
    return np.moveaxis(found, 0, dim)


_SIZES = (
    "diff expects the shape of tensor to prepend or append to match that of input except along "
    r"the differencing dimension; input\.size\({0}\) = {1}, but got tensor\.size\({0}\) = {2}"
)

_DIFF = Op(
    "diff",
    _diff,
    [
        S("default", T(3, 5)),
        S("dim", T(2, 4, 3), 1, 1),
        S("twice", T(3, 5), 2),
        S("thrice", T(2, 6), 3, -1),
        S("first", T(4, 3), dim=0),
        S("none", T(2, 3), 0),
        S("prepend", T(2, 3), prepend=T(2, 2)),
        S("append", T(2, 3), 1, 0, None, T(1, 3)),
        S("both", T(2, 4), 2, 1, T(2, 1), T(2, 2)),
        S("wraps", T(4, 12, of="wide", grad=False), 2).only(*INTEGRAL),
        S("holes", T(4, 5, of="holes", grad=False)),
        S("all", T(2, 3, grad=False), 3),
        S("beyond", T(2, 3, grad=False), 7),
        S("one", T(2, 1, grad=False)),
        S("empty", T(0)),
        S("empty-other", T(0, 3)),
        S("empty-prepend", T(0), prepend=T(2)),
    ],
    ANY,
    ulp=1,
    scale=_diff_scale,
    errors=[
        E("scalar", RuntimeError, "diff expects input to be at least one-dimensional", T()),
        E("order", RuntimeError, "order must be non-negative but got -1", T(3), -1),
        E(
            "prepend-rank",
            RuntimeError,
            "diff expects prepend or append to be the same dimension as input",
            T(2, 3),
            prepend=T(3),
        ),
        E("append-size", RuntimeError, _SIZES.format(0, 2, 3), T(2, 3), append=T(3, 1)),
        *dim_errors(1)[:2],
    ],
    family="statistics",
)


# -- areas -----------------------------------------------------------------------------------
def _slabs(y: np.ndarray, x: Any, dx: float, dim: int) -> np.ndarray:
    d = dim % y.ndim
    lines = np.moveaxis(y if y.dtype.kind == "c" else y.astype(np.float64), d, -1)
    if x is None:
        steps = np.float64(dx)
    else:
        along = x if x.ndim == 1 else np.moveaxis(x, d - y.ndim, -1)
        steps = np.diff(along.astype(np.float64) if along.dtype.kind != "c" else along)
    return np.asarray((lines[..., 1:] + lines[..., :-1]) / 2 * steps)


def _trapezoid(y: np.ndarray, x: Any = None, *, dx: float = 1, dim: int = -1) -> np.ndarray:
    return np.asarray(_slabs(y, x, dx, dim).sum(-1))


def _cumulative(y: np.ndarray, x: Any = None, *, dx: float = 1, dim: int = -1) -> np.ndarray:
    return np.moveaxis(_slabs(y, x, dx, dim).cumsum(-1), -1, dim)


def _points_error(name: str) -> ErrorSample:
    text = f"{name}: There must be one `x` value for each sample point"
    return E("points", RuntimeError, text, T(2, 3), T(4))


def _bool_errors(name: str) -> list[ErrorSample]:
    text = f"{name}: received a bool input for {{}}, but bool is not supported"
    return [
        E("bool", RuntimeError, text.format("`y`"), T(3), dtype=formats.BOOL),
        E("bool-x", RuntimeError, text.format("`x` or `y`"), T(3), M([True, False, True])),
    ]


_TRAPEZOID = Op(
    "trapezoid",
    _trapezoid,
    [
        S("default", T(3, 5)),
        S("dim", T(2, 4, 3), dim=1),
        S("dx", T(3, 5), dx=0.25),
        S("dx-dim", T(4, 3), dx=2, dim=-2),
        S("points", T(3, 5), T(5)),
        S("points-dim", T(2, 4, 3), T(4), dim=1),
        S("points-each", T(3, 5), T(3, 5)),
        S("points-rows", T(3, 4), T(3, 1), dim=0),
        S("points-keyword", T(6), x=T(6)),
        S("holes", T(4, 5, of="holes", grad=False)),
        S("one", T(3, 1, grad=False)),
        S("one-point", T(3, 1, grad=False), T(1, grad=False)),
        S("empty-other", T(0, 3)),
    ],
    (*INTEGRAL, *FLOATING, *COMPLEX),
    "float",
    ulp=4,
    measure="norm",
    errors=[
        _points_error("trapezoid"),
        *_bool_errors("trapezoid"),
        E("dim", IndexError, dim_errors()[0].text, T(2, 3), dim=2),
    ],
    family="statistics",
)

OPS = [
    _DIFF,
    replace(
        _TRAPEZOID,
        samples=[*_TRAPEZOID.samples, S("empty", T(0, 3), dim=0).only(*FLOATING, *COMPLEX)],
    ),
    replace(
        _TRAPEZOID,
        name="cumulative_trapezoid",
        reference=_cumulative,
        samples=[*_TRAPEZOID.samples, S("empty", T(0, 3), dim=0)],
        errors=[
            _points_error("cumulative_trapezoid"),
            *_bool_errors("cumulative_trapezoid"),
            E("dim", IndexError, dim_errors()[0].text, T(2, 3), dim=2),
        ],
    ),
]
