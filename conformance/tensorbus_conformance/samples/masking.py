"""Elements chosen and replaced by conditions and masks, and the indices of what is not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import ANY, E, I, M, Op, S, T

_ROWS = M([[True], [False], [True]])
_PLAIN = M([[True, False, True], [False, False, True]])


def _where(condition: np.ndarray, x: Any = None, y: Any = None) -> Any:
    if x is None:
        return list(np.atleast_1d(condition).nonzero())
    return np.where(condition, x, y)


def _filled(x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    return np.where(mask, np.asarray(value).astype(x.dtype), x)


def _selected(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    a, b = np.broadcast_arrays(x, mask)
    return np.asarray(a[b])


def _scattered(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    a, b = np.broadcast_arrays(x, mask)
    out = np.array(a)
    out[b] = source.reshape(-1)[: int(b.sum())]
    return out


def _nonzero(x: np.ndarray, *, as_tuple: bool = False) -> Any:
    if not as_tuple:
        return np.argwhere(x)
    return list(np.atleast_1d(x).nonzero())


def _where_into(condition: Any, x: Any, y: Any) -> Any:
    import tensorbus

    out = x.new_empty(0)
    made = tensorbus.where(condition, x, y, out=out)
    return out if made is out else None


def _where_alone(condition: Any) -> Any:
    import tensorbus

    return tensorbus.where(condition)


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "ulp": 0, **more}
    return Op(name, reference, samples, errors=errors, family="masking", **more)


OPS = [
    _op("where-out", _where, [S("plain", _PLAIN, T(2, 3), T(2, 3))], call=_where_into,
        gradient=False),
    _op("where-of-dtypes", lambda c, x, y: np.where(c, x, y),
        [S("int64", M([True, False]), T(2), I([3, 4])), S("mixed", M([True, False]), T(2), 1.5)],
        dtypes=(formats.FLOAT16, formats.FLOAT32, formats.FLOAT64, formats.COMPLEX64),
        call=lambda c, x, y: x.where(c, y)),
    _op("where-places", _where,
        [S("matrix", T(2, 3, of="ties")), S("scalar", T(of="nonzero")), S("empty", T(0, 2))],
        result=formats.INT64, call=_where_alone, gradient=False),
    _op(
        "masked_fill",
        _filled,
        [
            S("plain", T(2, 3), _PLAIN, 1),
            S("broadcast-mask", T(3, 2), _ROWS, 0),
            S("broadcast", T(2), _ROWS, 1).only(formats.FLOAT32, formats.INT64, formats.BOOL),
            S("tensor", T(2, 3), _PLAIN, T()),
            S("scalar", T(), M(True), 1),
            S("empty", T(0, 3), M([True, False, True]), 1),
        ],
        [
            E("mask", RuntimeError,
              "masked_fill_ only supports boolean masks, but got mask with dtype long int",
              T(2), I([1, 0]), 1.0),
            E("value", RuntimeError,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 "
              r"dimension\(s\)\.", T(2), M([True, False]), T(1)),
            E("shapes", RuntimeError,
              r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton "
              r"dimension 0", T(3), M([True, False]), 1.0),
        ],
    ),
    _op("masked_fill-infinite", _filled,
        [S("minus", T(2, 3), _PLAIN, -np.inf), S("nan", T(2, 3), _PLAIN, np.nan)],
        dtypes=formats.FLOATS, gradient=False, call=lambda x, *rest: x.masked_fill(*rest)),
    _op(
        "masked_select",
        _selected,
        [
            S("plain", T(2, 3), _PLAIN),
            S("broadcast-mask", T(3, 2), _ROWS),
            S("broadcast", T(2), _ROWS),
            S("none", T(2), M([False, False])),
            S("scalar", T(), M(True)),
            S("empty", T(0, 2), M(np.zeros((0, 2)))),
        ],
        [
            E("mask", RuntimeError, "masked_select: expected BoolTensor for mask",
              T(2), I([1, 0])),
        ],
    ),
    _op(
        "masked_scatter",
        _scattered,
        [
            S("plain", T(2, 3), _PLAIN, T(3)),
            S("longer", T(2, 3), _PLAIN, T(2, 2)),
            S("broadcast-mask", T(3, 2), _ROWS, T(4)),
            S("none", T(2), M([False, False]), T(1)),
            S("empty", T(0), M([]), T(2)),
        ],
        [
            E("count", RuntimeError,
              "Number of elements of source < number of ones in mask: 1 < 2",
              T(3), M([True, False, True]), T(1)),
            E("dtype", RuntimeError,
              "masked_scatter: expected self and source to have same dtypes but got Float and Long",
              T(2), M([True, False]), I([1])),
            E("mask", RuntimeError,
              "masked_scatter_ only supports boolean masks, but got mask with dtype Long",
              T(2), I([1, 0]), T(2)),
        ],
    ),
    _op(
        "nonzero",
        _nonzero,
        [
            S("matrix", T(3, 4, of="ties")),
            S("vector", T(6, of="ties")),
            S("cube", T(2, 2, 3, of="ties")),
            S("tuple", T(3, 4, of="ties"), as_tuple=True),
            S("scalar", T(of="nonzero")),
            S("zero", T(data=0)),
            S("scalar-tuple", T(of="nonzero"), as_tuple=True),
            S("empty", T(0, 3)),
            S("wide", T(24, of="wide")),
        ],
        result=formats.INT64,
        gradient=False,
    ),
    _op("argwhere", lambda x: np.argwhere(x),
        [S("matrix", T(3, 4, of="ties")), S("scalar", T(of="nonzero")), S("empty", T(0, 3))],
        result=formats.INT64, gradient=False),
]  # fmt: skip
