"""Products of groups of rows or columns, and of matrices that carry scales."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import I, Op, S, T

_F = "nn.functional."


def _grouped(a: np.ndarray, b: np.ndarray, ends: np.ndarray | None = None) -> np.ndarray:
    if ends is None:
        return a @ b
    groups = list(itertools.pairwise([0, *ends.tolist()]))
    if a.ndim == b.ndim == 2:
        return np.stack([a[:, i:j] @ b[i:j] for i, j in groups])
    rows = a.ndim == 2
    made = np.zeros((len(a), b.shape[2]) if rows else (a.shape[1], b.shape[1]), a.dtype)
    for group, (i, j) in enumerate(groups):
        if rows:
            made[i:j] = a[i:j] @ b[group]
        else:
            made[:, i:j] = a[group] @ b[:, i:j]
    return made


def _call_grouped(a: Any, b: Any, ends: Any = None) -> Any:
    import tensorbus.nn.functional as F

    return F.grouped_mm(a, b, offs=None if ends is None else ends.int())


def _scaled(
    a: np.ndarray, b: np.ndarray, rows: np.ndarray, columns: np.ndarray,
    ends: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    return _grouped(a * rows[..., None], b * columns[..., None, :], ends)


def _call_scaled(a: Any, b: Any, rows: Any, columns: Any, ends: Any = None) -> Any:
    import tensorbus.nn.functional as F

    by_row = F.ScalingType.RowWise
    if b.dim() == 2:
        scales = rows.unsqueeze(1), by_row, columns.unsqueeze(0), by_row
        return F.scaled_mm(a, b, *scales, output_dtype=a.dtype)
    offs = None if ends is None else ends.int()
    return F.scaled_grouped_mm(a, b, rows, by_row, columns, by_row, offs=offs, output_dtype=a.dtype)


def _terms(*args: Any) -> np.ndarray:
    return _grouped(*(np.abs(x) if x.dtype.kind == "f" else x for x in args))


def _scaled_terms(*args: Any) -> np.ndarray:
    return _scaled(*(np.abs(x) if x.dtype.kind == "f" else x for x in args))


OPS = [
    Op(
        _F + "grouped_mm",
        _grouped,
        [
            S("batches", T(2, 3, 4), T(2, 4, 5)),
            S("rows", T(7, 4), T(3, 4, 5), I([2, 2, 6])),
            S("columns", T(3, 2, 4), T(4, 7), I([1, 4, 7])),
            S("inner", T(2, 7), T(7, 3), I([3, 3, 7])),
        ],
        (formats.FLOAT32,),
        ulp=8,
        scale=_terms,
        call=_call_grouped,
        family="nn",
    ),
    Op(
        _F + "scaled_mm",
        _scaled,
        [S("rows", T(3, 4), T(4, 5), T(3), T(5))],
        (formats.FLOAT32,),
        ulp=8,
        scale=_scaled_terms,
        call=_call_scaled,
        family="nn",
    ),
    Op(
        _F + "scaled_grouped_mm",
        _scaled,
        [
            S("batches", T(2, 3, 4), T(2, 4, 5), T(2, 3), T(2, 5)),
            S("rows", T(7, 4), T(3, 4, 5), T(7), T(3, 5), I([2, 2, 7])),
        ],
        (formats.FLOAT32,),
        ulp=8,
        scale=_scaled_terms,
        call=_call_scaled,
        family="nn",
    ),
]
