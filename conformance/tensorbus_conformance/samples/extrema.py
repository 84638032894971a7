"""The largest and smallest elements, and where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.along import (
    dim_errors,
    dims_errors,
    each_line,
    magnitudes,
    many_dims,
    one_dim,
    over,
)
from tensorbus_conformance.op import BOOL, FLOATING, REAL, E, ErrorSample, Op, S, Sample, T

ORDERED = (*BOOL, *REAL)

_NAN = [[1.5, np.nan, 3], [np.nan, -np.inf, np.nan], [np.inf, 0.5, np.inf], [np.nan] * 3]


def edges() -> list[Sample]:
    """Equal elements, NaN, infinities, zeros of both signs and the limits of the dtype."""
    return [
        S("ties", T(6, 5, of="ties", grad=False), 1),
        S("nan", T(data=_NAN, grad=False), 1).only(*FLOATING),
        S("nan-columns", T(data=_NAN, grad=False), 0).only(*FLOATING),
        S("zeros", T(data=[[0.0, -0.0], [-0.0, 0.0]], grad=False), 1).only(*FLOATING),
        S("long", T(2, 700, of="ties", grad=False), 1),
        S("long-columns", T(700, 2, of="ties", grad=False), 0),
        magnitudes(),
    ]


def empty_errors(name: str, text: str | None = None) -> list[ErrorSample]:
    """Lines without elements have no extremes."""
    text = text or rf"{name}\(\): Expected reduction dim {{}} to have non-zero size\."
    return [
        E("empty-dim", IndexError, text.format(0), T(0, 3), 0),
        E("empty-last", IndexError, text.format(1), T(2, 0), 1),
    ]


def _empty_error(name: str) -> ErrorSample:
    text = (
        rf"{name}\(\): Expected reduction dim to be specified for input\.numel\(\) == 0\. "
        r"Specify the reduction dim with the 'dim' argument\."
    )
    return E("empty", RuntimeError, text, T(0))


def _extreme(better: Callable[[Any, Any], bool]) -> Callable[[list[Any]], tuple[Any, int]]:
    """(value, index) of the best of a line: the first of equals; NaN is better than all."""

    def find(line: list[Any]) -> tuple[Any, int]:
        best = 0
        for i, v in enumerate(line):
            held = line[best]
            if held == held and (v != v or better(v, held)):
                best = i
        return line[best], best

    return find


_LARGEST = _extreme(lambda v, held: v > held)
_SMALLEST = _extreme(lambda v, held: v < held)


def _value(find: Callable[[list[Any]], tuple[Any, int]]) -> Callable[..., Any]:
    return over(each_line(lambda line: find(line)[0], None))


def _index(find: Callable[[list[Any]], tuple[Any, int]]) -> Callable[..., Any]:
    return over(each_line(lambda line: find(line)[1], np.int64))


def _extremes(find: Callable[[list[Any]], tuple[Any, int]], pick: Any) -> Callable[..., Any]:
    """``max`` and ``min``: of all, along a dimension with indices, or of two tensors."""

    def reference(x: np.ndarray, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
        other = dim if isinstance(dim, np.ndarray) else other
        if other is not None:
            return pick(x, other)
        if dim is None:
            return _value(find)(x)
        return over(each_line(find, None, np.int64))(x, dim, keepdim)

    return reference


def _two(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
    return _value(_SMALLEST)(x, dim, keepdim), _value(_LARGEST)(x, dim, keepdim)


_AMAX = Op(
    "amax",
    _value(_LARGEST),
    [*one_dim(), *many_dims(), *edges()],
    ORDERED,
    ulp=0,
    errors=[
        *dims_errors(),
        *empty_errors("amax"),
        _empty_error("amax"),
    ],
    family="reductions",
)
_MAX = Op(
    "max",
    _extremes(_LARGEST, np.maximum),
    [
        *(s for s in one_dim() if s.variant != "scalar-dim"),
        S("scalar-dim", T(), 0),
        S("all-ties", T(6, 5, of="ties", grad=False)),
        S("all-nan", T(data=_NAN, grad=False)).only(*FLOATING),
        *edges(),
        S("other", T(2, 3), T(3)),
        S("other-keyword", T(2, 3), other=T(2, 1)),
        S("other-wide", T(24, of="wide", grad=False), T(24, of="wide", grad=False)),
        S("other-scalar", T(3, 4), T()),
        S("other-empty", T(0, 3), T(3)),
    ],
    ORDERED,
    ("same", formats.INT64),
    ulp=0,
    errors=[
        *dim_errors(),
        *empty_errors("max"),
        _empty_error("max"),
        E(
            "complex",
            RuntimeError,
            r"max\(\): does not support complex input",
            T(2),
            0,
            dtype=formats.COMPLEX64,
        ),
        E(
            "shapes",
            RuntimeError,
            r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton "
            r"dimension 1",
            T(2, 3),
            T(2, 4),
        ),
    ],
    family="order",
)
_ARGMAX = Op(
    "argmax",
    _index(_LARGEST),
    [*one_dim(), *edges()],
    REAL,
    formats.INT64,
    ulp=0,
    gradient=False,
    errors=[
        *dim_errors(),
        *empty_errors("argmax"),
        E(
            "empty",
            IndexError,
            r"argmax\(\): Expected reduction dim to be specified for input\.numel\(\) == 0\.",
            T(0),
        ),
        E(
            "bool",
            RuntimeError,
            r"argmax\(\): does not support bool input",
            T(2),
            dtype=formats.BOOL,
        ),
        E(
            "complex",
            RuntimeError,
            r"argmax\(\): does not support complex input",
            T(2),
            dtype=formats.COMPLEX64,
        ),
    ],
    family="reductions",
)


def _reversed(op: Op, name: str, reference: Callable[..., Any]) -> Op:
    """The op for the smallest from that for the largest."""
    errors = [replace(e, text=e.text.replace(op.name, name)) for e in op.errors]
    return replace(op, name=name, reference=reference, errors=errors)


def _by_name(sample: Sample) -> Sample:
    """The same sample with *dim* and *keepdim* as keywords."""
    x, *rest = sample.args
    named = dict(zip(("dim", "keepdim"), rest, strict=False))
    return replace(sample, args=(x,), kwargs={**named, **sample.kwargs})


def _shared(op: Op) -> Op:
    """Each value stands twice, and both together have the whole gradient."""
    f = getattr(tensorbus, op.name)
    return replace(
        op,
        name=f"{op.name}-shared",
        samples=[S("dim", T(3, 4), 1), S("all", T(3, 4)), S("first", T(3, 4), 0)],
        dtypes=FLOATING,
        errors=(),
        call=lambda x, *dim: f(tensorbus.cat((x, x), *dim), *dim),
    )


OPS = [
    _AMAX,
    _shared(_AMAX),
    _shared(_MAX),
    _reversed(_AMAX, "amin", _value(_SMALLEST)),
    _MAX,
    _reversed(_MAX, "min", _extremes(_SMALLEST, np.minimum)),
    _ARGMAX,
    _reversed(_ARGMAX, "argmin", _index(_SMALLEST)),
    Op(
        "aminmax",
        _two,
        [_by_name(s) for s in (*one_dim(), *edges())],
        ORDERED,
        ulp=0,
        errors=[
            E("dim", IndexError, dim_errors()[0].text, T(2, 3), dim=2),
            E(
                "empty-dim",
                IndexError,
                r"aminmax: Expected reduction dim 1 to have non-zero size\.",
                T(2, 0),
                dim=-1,
            ),
            E(
                "empty",
                RuntimeError,
                r"aminmax\(\): cannot compute aminmax over an empty dimension as the operation "
                r"has no identity\.",
                T(0, 3),
            ),
        ],
        family="order",
    ),
]
