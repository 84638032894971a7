"""Reductions of segments."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tensorbus_conformance.op import FLOATING, E, I, Op, S, T

_FOLD: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}
_FOLD["prod"] = np.prod
_EMPTY = {"sum": 0.0, "mean": np.nan, "max": -np.inf, "min": np.inf, "prod": 1.0}


def _segments(
    data: np.ndarray,
    reduce: str,
    *,
    lengths: Any = None,
    offsets: Any = None,
    axis: int = 0,
    initial: float | None = None,
) -> np.ndarray:
    if axis:
        ends = [lengths if lengths is not None else offsets][0]
        given = "lengths" if lengths is not None else "offsets"
        rows = [
            _segments(d, reduce, **{given: e}, axis=axis - 1, initial=initial)
            for d, e in zip(data, ends, strict=True)
        ]
        return np.stack(rows)
    stops = np.asarray(offsets if offsets is not None else [0, *np.cumsum(lengths)])
    out = []
    for start, stop in itertools.pairwise(stops):
        part = data[start:stop]
        if initial is not None:
            first = np.full((1, *data.shape[1:]), initial)
            if reduce == "mean":
                out.append((part.sum(0) + initial) / max(len(part), 1))
                continue
            part = np.concatenate([first, part])
        folded = _FOLD[reduce](part, 0) if len(part) else np.full(data.shape[1:], _EMPTY[reduce])
        out.append(folded)
    return np.array(out, data.dtype)


_LENGTHS = I(data=[2, 0, 3])

OPS = [
    Op(
        "segment_reduce",
        _segments,
        [
            *(S(kind, T(5, 2, of="nonzero"), kind, lengths=I(data=[2, 3])) for kind in _FOLD),
            *(
                S(f"{kind}-initial", T(5, of="nonzero"), kind, lengths=_LENGTHS, initial=0.75)
                for kind in _FOLD
            ),
            S("offsets", T(5, of="nonzero"), "sum", offsets=I(data=[1, 3, 3, 4])),
            S("batches", T(2, 3, 2), "max", lengths=I(data=[[2, 1], [1, 2]]), axis=1),
            S("nothing", T(0, 3), "sum", lengths=I(data=[0, 0])),
            S("infinite", T(5, of="infinite", grad=False), "min", lengths=_LENGTHS),
        ],
        dtypes=FLOATING,
        ulp=8,
        measure="norm",
        family="reductions",
        errors=[
            E(
                "sum",
                RuntimeError,
                r"segment_reduce\(\): Expected all rows of lengths along axis to sum to "
                r"data\.size\(lengths\.dim\(\)-1\) when !unsafe\.",
                T(5),
                "sum",
                lengths=I(data=[2, 2]),
            ),
            E(
                "negative",
                RuntimeError,
                "lengths contains negative value!",
                T(5),
                "sum",
                lengths=I(data=[6, -1]),
            ),
            E(
                "nowhere",
                RuntimeError,
                r"segment_reduce\(\): Either lengths or offsets must be defined\.",
                T(5),
                "sum",
            ),
        ],
    ),
]
