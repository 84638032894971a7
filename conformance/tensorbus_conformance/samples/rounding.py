"""Signs, sizes, rounding, squares: functions of one tensor that keep its dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import unary
from tensorbus_conformance.op import ANY, BOOL, FLOATING, NUMBERS, REAL, E, Op, S, T


def _sign(x: Any) -> Any:
    """PyTorch's sign of NaN is 0."""
    return x if x.dtype == bool else ((x > 0).astype(x.dtype) - (x < 0).astype(x.dtype))


def _sgn(x: Any) -> Any:
    if x.dtype.kind != "c":
        return _sign(x)
    size = np.abs(x)
    return x / np.where(size == 0, 1, size)


def _rounded(x: Any, decimals: int = 0) -> Any:
    return x if x.dtype.kind in "iu" else np.round(x, decimals)


def _square(x: Any) -> Any:
    x = x.astype(np.int64) if x.dtype == bool else x
    return x * x


def _unary(name: str, reference: Callable[..., Any], **fields: Any) -> Op:
    return unary(name, reference, ulp=fields.pop("ulp", 0), family="pointwise", **fields)


def _whole(name: str, reference: Callable[..., Any], **fields: Any) -> Op:
    """A function that gives whole numbers, so that integers stay as they are."""
    return _unary(
        name,
        lambda x, **options: x if x.dtype.kind in "iu" else reference(x, **options),
        dtypes=REAL,
        signed_zeros=True,
        errors=[E("bool", NotImplementedError, f"\"{name}\" not implemented for 'Bool'",
                  T(3), dtype=formats.BOOL)],
        **fields,
    )  # fmt: skip


_HALVES = S("halves", T(data=[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], grad=False)).only(*FLOATING)
_FLOATS = (formats.FLOAT32, formats.FLOAT64)

OPS = [
    _unary(
        "abs",
        np.abs,
        dtypes=NUMBERS,
        result="real",
        ulp=2,
        errors=[E("bool", NotImplementedError, "\"abs\" not implemented for 'Bool'", T(3),
                  dtype=formats.BOOL)],
    ),
    _unary(
        "neg",
        np.negative,
        dtypes=NUMBERS,
        signed_zeros=True,
        errors=[E("bool", RuntimeError, "Negation, the `-` operator, on a bool tensor is not "
                  "supported\\. If you are trying to invert a mask, use the `~` or "
                  r"`logical_not\(\)` operator instead\.", T(3), dtype=formats.BOOL)],
    ),
    _unary(
        "positive",
        lambda x: x,
        dtypes=NUMBERS,
        signed_zeros=True,
        fresh=False,
        inplace=False,
        errors=[E("bool", RuntimeError, r"The `\+` operator, on a bool tensor is not supported\.",
                  T(3), dtype=formats.BOOL)],
    ),
    _unary(
        "sign",
        _sign,
        dtypes=(*REAL, *BOOL),
        errors=[E("complex", NotImplementedError,
                  r"Unlike NumPy, torch\.sign is not intended to support complex numbers\. "
                  r"Please use torch\.sgn instead\.",
                  T(3), dtype=formats.COMPLEX64)],
    ),
    _unary("sgn", _sgn, dtypes=ANY, ulp=2),
    _whole("floor", np.floor, more=[_HALVES]),
    _whole("ceil", np.ceil, more=[_HALVES]),
    _whole("trunc", np.trunc, more=[_HALVES]),
    _whole(
        "round",
        np.round,
        more=[
            _HALVES,
            S("decimals", T(3, 4, of=(-9.0, 9.0), grad=False), decimals=1).only(*_FLOATS),
            S("tens", T(3, 4, of=(-99.0, 99.0), grad=False), decimals=-1).only(*_FLOATS),
        ],
    ),
    _unary("frac", lambda x: x - np.trunc(x), signed_zeros=True),
    _unary("square", _square, dtypes=ANY, ulp=1,
           result=lambda d: formats.INT64 if d is formats.BOOL else d),
]  # fmt: skip
