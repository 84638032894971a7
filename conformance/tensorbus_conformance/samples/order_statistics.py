"""Medians, the k-th smallest, and the most frequent element."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.along import (
    dim_errors,
    each_line,
    magnitudes,
    over,
)
from tensorbus_conformance.op import BOOL, FLOATING, REAL, E, ErrorSample, Op, S, Sample, T

_NAN = [[1.5, np.nan, 3, 0.5], [np.nan, 2.5, np.nan, np.nan], [np.nan] * 4, [4, 3, 2, 1]]


def order(line: list[Any]) -> list[int]:
    """The indices of a line's elements in stable order; NaN come last."""
    return sorted(range(len(line)), key=lambda i: (line[i] != line[i], line[i]))


def _kth(line: list[Any], k: int) -> tuple[Any, int]:
    i = order(line)[k - 1]
    return line[i], i


def _lower(line: list[Any]) -> tuple[Any, int]:
    """The lower median; the first NaN where there is one."""
    for i, v in enumerate(line):
        if v != v:
            return v, i
    return _kth(line, (len(line) + 1) // 2)


def _lower_present(line: list[Any]) -> tuple[Any, int]:
    """The lower median of what is not NaN; the first of all where nothing is left."""
    present = sum(v == v for v in line)
    return _kth(line, max((present + 1) // 2, 1))


def _mode(line: list[Any]) -> tuple[Any, int]:
    """The smallest of the most frequent values, and its last index."""
    counts = Counter(line)
    most = max(counts.values())
    value = min(v for v, n in counts.items() if n == most)
    return value, max(i for i, v in enumerate(line) if v == value)


def _median(find: Callable[[list[Any]], tuple[Any, int]]) -> Callable[..., Any]:
    """Of all elements the value alone; nothing has the median NaN, the least integer."""

    def reference(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is not None:
            return over(each_line(find, None, np.int64))(x, dim, keepdim)
        if not x.size:
            return np.array(math.nan)
        return over(each_line(lambda line: find(line)[0], None))(x)

    return reference


def _samples() -> list[Sample]:
    """Odd and even counts, equal elements, NaN."""
    return [
        S("dim", T(2, 5, 3), 1),
        S("even", T(2, 6), -1),
        S("first", T(4, 3), dim=0),
        S("keepdim", T(2, 3), 1, True),
        S("keepdim-first", T(2, 3), dim=-2, keepdim=True),
        S("one", T(3, 1), 1),
        S("scalar-dim", T(), -1),
        S("scalar-keepdim", T(), 0, True),
        S("empty-kept", T(0, 3), 1),
        S("nan", T(data=_NAN, grad=False), 1).only(*FLOATING),
        S("long", T(2, 301, grad=False), 1),
        magnitudes(),
    ]


def _errors(name: str, *before: Any) -> list[ErrorSample]:
    text = rf"{name}\(\): Expected reduction dim {{}} to have non-zero size\."
    return [
        *dim_errors(*before),
        E("empty-dim", IndexError, text.format(0), T(0, 3), *before, 0),
        E("empty-last", IndexError, text.format(1), T(2, 0), *before, -1),
    ]


def _medians(name: str, find: Callable[[list[Any]], tuple[Any, int]]) -> Op:
    return Op(
        name,
        _median(find),
        [
            *_samples(),
            S("all", T(3, 4)),
            S("all-odd", T(3, 5)),
            S("all-nan", T(data=_NAN, grad=False)).only(*FLOATING),
            S("scalar", T()),
            S("empty", T(0)).only(*FLOATING),
            S("ties", T(7, 6, of="ties", grad=False)),
        ],
        REAL,
        ("same", formats.INT64),
        ulp=0,
        errors=_errors(name),
        family="order",
    )


def _kthvalue(x: np.ndarray, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return over(each_line(lambda line: _kth(line, k), None, np.int64))(x, dim, keepdim)


def _beyond(dim: int) -> str:
    return rf"kthvalue\(\): selected number k out of range for dimension {dim}"


OPS = [
    _medians("median", _lower),
    _medians("nanmedian", _lower_present),
    Op(
        "mode",
        lambda x, dim=-1, keepdim=False: over(each_line(_mode, None, np.int64))(x, dim, keepdim),
        [
            S("dim", T(2, 5, 3), 1),
            S("default", T(2, 6)),
            *(s for s in _samples() if s.variant not in ("dim", "nan", "wide")),
            S("ties", T(6, 7, of="ties", grad=False), 1),
            S("ties-columns", T(7, 6, of="ties", grad=False), 0, True),
            S("runs", T(data=[[3, 1, 1, 3, 2], [2, 2, 1, 1, 1], [5, 4, 3, 2, 1]], grad=False)),
        ],
        (*BOOL, *REAL),
        ("same", formats.INT64),
        ulp=0,
        errors=_errors("mode"),
        family="order",
    ),
    Op(
        "kthvalue",
        _kthvalue,
        [
            S("dim", T(2, 5, 3), 2, 1),
            S("default", T(2, 6), 6),
            S("least", T(4, 3), 1, dim=0),
            S("keepdim", T(2, 3), 3, 1, True),
            S("keepdim-first", T(2, 3), 2, dim=-2, keepdim=True),
            S("ties", T(5, 8, of="ties", grad=False), 4),
            S("nan", T(data=_NAN, grad=False), 3).only(*FLOATING),
            S("wide", T(4, 12, of="wide", grad=False), 9),
            S("scalar", T(), 1),
            S("scalar-keepdim", T(), 1, 0, True),
            S("empty-kept", T(0, 3), 2),
        ],
        REAL,
        ("same", formats.INT64),
        ulp=0,
        errors=[
            *_errors("kthvalue", 1),
            E("k", RuntimeError, _beyond(1), T(2, 3), 4),
            E("k-zero", RuntimeError, _beyond(0), T(2, 3), 0, 0),
            E("k-scalar", RuntimeError, _beyond(0), T(), 2),
        ],
        family="order",
    ),
]
