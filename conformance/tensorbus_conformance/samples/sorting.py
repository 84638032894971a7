"""Sorting, the order of elements, and the k largest or smallest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.along import dim_errors, each_line, scan
from tensorbus_conformance.op import BOOL, FLOATING, REAL, E, ErrorSample, Op, S, Sample, T

_NAN = [
    [1.5, np.nan, 3, 0.5, np.nan],
    [np.nan, 2.5, np.inf, np.nan, -np.inf],
    [0.0, -0.0, np.nan, 0.0, -0.0],
    [np.nan] * 5,
]


def order(line: list[Any], descending: bool = False) -> list[int]:
    """The indices of a line's elements in stable order; NaN count as largest."""

    def key(i: int) -> tuple[bool, Any]:
        return line[i] != line[i], 0 if line[i] != line[i] else line[i]

    return sorted(range(len(line)), key=key, reverse=descending)


def _sorted(line: list[Any], descending: bool, k: int | None = None) -> tuple[list[Any], list[int]]:
    indices = order(line, descending)[:k]
    return [line[i] for i in indices], indices


def _sort(x: np.ndarray, dim: int = -1, descending: bool = False, **_: Any) -> Any:
    return scan(each_line(lambda line: _sorted(line, descending), None, np.int64))(x, dim)


def _topk(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return scan(each_line(lambda line: _sorted(line, largest, k), None, np.int64))(x, dim)


def _samples() -> list[Sample]:
    """Dimensions, both directions, equal elements, NaN."""
    return [
        S("dim", T(2, 4, 3), 1),
        S("default", T(3, 4)),
        S("negative", T(3, 4), -2),
        S("descending", T(3, 4), 0, True),
        S("keywords", T(3, 4), dim=1, descending=True),
        S("stable", T(5, 9, of="ties", grad=False), dim=-1, stable=True),
        S("stable-descending", T(9, 5, of="ties", grad=False), stable=True, dim=0, descending=True),
        S("nan", T(data=_NAN, grad=False)).only(*FLOATING),
        S("nan-descending", T(data=_NAN, grad=False), -1, True).only(*FLOATING),
        S("long", T(1, 700, of="ties", grad=False), 1),
        S("long-descending", T(2, 300, of="ties", grad=False), 1, True),
        S("wide", T(4, 12, of="wide", grad=False), 0),
        S("wide-descending", T(48, of="wide", grad=False), 0, True),
        S("one", T(3, 1), 1),
        S("scalar", T()),
        S("scalar-descending", T(), 0, True),
        S("empty", T(0)),
        S("empty-other", T(0, 3), 1),
        S("empty-lines", T(2, 0), -1),
    ]


def _no_complex(name: str, *args: Any) -> ErrorSample:
    text = rf" {name} does not support complex dtypes on [A-Z0-9_]+"
    return E("complex", RuntimeError, text, T(3), *args, dtype=formats.COMPLEX64)


def _indices(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: f(*args, **kwargs)[1]


_ALL = (*BOOL, *REAL)
_BEYOND = "selected index k out of range"

OPS = [
    Op(
        "sort",
        _sort,
        _samples(),
        _ALL,
        ("same", formats.INT64),
        ulp=0,
        laid_out=(formats.INT32,),
        errors=[*dim_errors(), _no_complex("Sort")],
        family="order",
    ),
    Op(
        "argsort",
        _indices(_sort),
        _samples(),
        _ALL,
        formats.INT64,
        ulp=0,
        gradient=False,
        errors=[*dim_errors(), _no_complex("Sort")],
        family="order",
    ),
    Op(
        "msort",
        lambda x: _sort(x, 0)[0],
        [
            S("plain", T(4, 3)),
            S("vector", T(7)),
            S("rank3", T(3, 2, 2)),
            S("ties", T(9, 4, of="ties", grad=False)),
            S("wide", T(12, 4, of="wide", grad=False)),
            S("scalar", T()),
            S("empty", T(0, 2)),
        ],
        _ALL,
        ulp=0,
        errors=[_no_complex("Sort")],
        family="order",
    ),
    Op(
        "topk",
        _topk,
        [
            S("dim", T(2, 5, 3), 2, 1),
            S("default", T(3, 4), 3),
            S("smallest", T(3, 4), 2, 0, False),
            S("keywords", T(3, 4), k=1, dim=-1, largest=False, sorted=True),
            S("all", T(3, 4), 4, -1),
            S("none", T(3, 4), 0),
            S("ties", T(5, 9, of="ties", grad=False), 5),
            S("ties-smallest", T(5, 9, of="ties", grad=False), 5, largest=False),
            S("nan", T(data=_NAN, grad=False), 3).only(*FLOATING),
            S("nan-smallest", T(data=_NAN, grad=False), 3, -1, False).only(*FLOATING),
            S("wide", T(4, 12, of="wide", grad=False), 3, 0),
            S("long", T(2, 700, grad=False), 5),
            S("scalar", T(), 1),
            S("empty", T(0), 0),
            S("empty-other", T(0, 3), 2),
        ],
        REAL,
        ("same", formats.INT64),
        ulp=0,
        errors=[
            *dim_errors(1),
            E("k", RuntimeError, _BEYOND, T(2, 3), 4),
            E("k-negative", RuntimeError, _BEYOND, T(2, 3), -1),
            E("k-empty", RuntimeError, _BEYOND, T(2, 0), 1),
            _no_complex("topk", 1),
        ],
        family="order",
    ),
]
