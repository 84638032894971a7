"""Running sums, products and extremes, differences of neighbours, areas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.along import (
    absolute,
    dim_errors,
    each_line,
    exactly,
    narrowed,
    scan,
)
from tensorbus_conformance.op import (
    ANY,
    BOOL,
    COMPLEX,
    DTYPE,
    FLOATING,
    INTEGRAL,
    NUMBERS,
    REAL,
    E,
    Op,
    S,
    Sample,
    T,
)

Lines = Callable[[np.ndarray], Any]

_NAN = [[1.5, np.nan, 3, 0.5], [np.nan, 2.5, np.nan, np.inf], [-np.inf, 1, np.inf, 2]]


def _samples(of: Any = "spread") -> list[Sample]:
    """Dimensions, and sizes 0 and 1."""
    return [
        S("dim", T(2, 4, 3, of=of), 1),
        S("last", T(3, 4, of=of), -1),
        S("first", T(3, 4, of=of), dim=0),
        S("negative", T(2, 3, 2, of=of), -2),
        S("vector", T(7, of=of), 0),
        S("one", T(3, 1, of=of), 1),
        S("scalar", T(of=of), 0),
        S("scalar-negative", T(of=of), -1),
        S("empty", T(0), 0),
        S("empty-lines", T(2, 0), 1),
        S("empty-other", T(0, 3), 1),
    ]


def _long(of: Any = (0.5, 1.5)) -> list[Sample]:
    return [
        S("long", T(2, 600, of=of, grad=False), 1),
        S("long-columns", T(600, 2, of=of, grad=False), 0),
    ]


def _sums(v: np.ndarray) -> np.ndarray:
    return narrowed(exactly(v).cumsum(-1))


def _sum_scale(v: np.ndarray) -> np.ndarray:
    """What a sum from left to right may err by: half a unit for each addition."""
    additions = np.maximum(np.arange(v.shape[-1]), 1)
    return np.asarray(absolute(v).cumsum(-1) * additions / 2)


def _products(v: np.ndarray) -> np.ndarray:
    return narrowed(exactly(v).cumprod(-1))


def _product_scale(v: np.ndarray) -> np.ndarray:
    return np.asarray(absolute(v).cumprod(-1) * (np.arange(v.shape[-1]) + 1) / 2)


def _own(f: Lines) -> Lines:
    return lambda v: f(v).astype(v.dtype)


def _float(f: Lines) -> Lines:
    return lambda v: f(v.astype(np.float64))


def _log_sums(v: np.ndarray) -> np.ndarray:
    if v.dtype.kind == "c":
        top = v.real.max(-1, keepdims=True, initial=-700)
        return np.asarray(np.log(np.exp(v - top).cumsum(-1)) + top)
    return np.asarray(np.logaddexp.accumulate(v, -1)) if v.shape[-1] else v


def _running(better: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    """(best so far, its last index); NaN is better than all."""

    def line(values: list[Any]) -> tuple[list[Any], list[int]]:
        indices: list[int] = []
        best = 0
        for i, v in enumerate(values):
            held = values[best]
            if v != v or (held == held and (v == held or better(v, held))):
                best = i
            indices.append(best)
        return [values[i] for i in indices], indices

    return scan(each_line(line, None, np.int64))


def _scan_op(name: str, lines: Lines, scale: Lines, samples: list[Sample]) -> Op:
    return Op(
        name,
        scan(lines),
        samples,
        ANY,
        "sum",
        ulp=1,
        scale=scan(scale),
        errors=dim_errors(),
        family="scans",
    )


_CUMSUM = _scan_op(
    "cumsum",
    _sums,
    _sum_scale,
    [
        *_samples(),
        *_long(),
        S("nan", T(data=_NAN, grad=False), 1).only(*FLOATING),
        S("beyond", T(data=[[40000.0, 40000, -40000, -30000]], grad=False), 1).only(*FLOATING),
        S("wide", T(4, 12, of="wide", grad=False), 0).only(*BOOL, *INTEGRAL),
    ],
)
_CUMPROD = _scan_op(
    "cumprod",
    _products,
    _product_scale,
    [
        *_samples(),
        S("zeros", T(data=[[1.5, 0, 2.5, 2], [0, 0, 1.5, 1], [1.5, -2, 0.5, 0], [0] * 4]), 1),
        S("nan", T(data=_NAN, grad=False), 1).only(*FLOATING),
        S("beyond", T(data=[[1024.0, 1000, 2**-10, 2**-9]], grad=False), 1).only(*FLOATING),
        S("long", T(2, 300, of=(1.0, 1.02), grad=False), 1).only(*BOOL, *REAL),
        S("wide", T(4, 12, of="wide", grad=False), 0).only(*BOOL, *INTEGRAL),
    ],
)
_CUMMAX = Op(
    "cummax",
    _running(lambda v, held: v > held),
    [
        *_samples(),
        *_long("ties"),
        S("ties", T(6, 5, of="ties", grad=False), 1),
        S("ties-columns", T(6, 5, of="ties", grad=False), 0),
        S("nan", T(data=_NAN, grad=False), 1).only(*FLOATING),
        S("nan-columns", T(data=_NAN, grad=False), 0).only(*FLOATING),
        S("wide", T(4, 12, of="wide", grad=False), 1),
    ],
    (*BOOL, *REAL),
    ("same", formats.INT64),
    ulp=0,
    errors=dim_errors(),
    family="scans",
)


def _own_dtype(op: Op, lines: Lines) -> Op:
    """The op with the operand's dtype as ``dtype=``: integers wrap in it."""
    return replace(
        op,
        name=f"{op.name}-dtype",
        reference=scan(_own(lines)),
        samples=[
            S("dim", T(2, 4, 3), 1, dtype=DTYPE),
            S("wraps", T(6, 12, of="wide", grad=False), 0, dtype=DTYPE).only(*INTEGRAL),
            S("scalar", T(), 0, dtype=DTYPE),
            S("empty", T(0), 0, dtype=DTYPE),
        ],
        dtypes=NUMBERS,
        result="same",
        errors=(),
        call=getattr(tensorbus, op.name),
    )


def _float32(op: Op, lines: Lines) -> Op:
    """The op with ``dtype=float32``, to which operands are brought before."""
    return replace(
        op,
        name=f"{op.name}-float32",
        reference=scan(_float(lines)),
        samples=[
            S("dim", T(2, 3), 1, dtype=tensorbus.float32),
            S("first", T(3, 2), 0, dtype=tensorbus.float32),
            S("scalar", T(), -1, dtype=tensorbus.float32),
            S("empty", T(0, 2), 0, dtype=tensorbus.float32),
        ],
        dtypes=(*BOOL, *INTEGRAL, formats.FLOAT16, formats.BFLOAT16, formats.FLOAT32),
        result=formats.FLOAT32,
        errors=(),
        call=getattr(tensorbus, op.name),
    )


def _half(op: Op) -> Op:
    """Running sums in half precision accumulate in float32 and round once."""
    return replace(
        op,
        name=f"{op.name}-half",
        samples=[S("longer", T(3000, of=(0.5, 1.5), grad=False), 0), *_long()],
        dtypes=(formats.FLOAT16, formats.BFLOAT16),
        ulp=0.51,
        scale=scan(lambda v: absolute(v).cumsum(-1)),
        errors=(),
        gradient=False,
        call=getattr(tensorbus, op.name),
    )


OPS = [
    _CUMSUM, _own_dtype(_CUMSUM, _sums), _float32(_CUMSUM, _sums), _half(_CUMSUM),
    _CUMPROD, _own_dtype(_CUMPROD, _products), _float32(_CUMPROD, _products),
    _CUMMAX,
    replace(
        _CUMMAX,
        name="cummin",
        reference=_running(lambda v, held: v < held),
        errors=[replace(e, text=e.text.replace("cummax", "cummin")) for e in _CUMMAX.errors],
    ),
    Op(
        "logcumsumexp",
        scan(_log_sums),
        [
            *_samples(),
            S("far", T(data=[[-20.5, -21.0, 15], [-30, -31.25, -30], [15.0, -15.0, 15]]), 1),
            S("long", T(2, 300, of=(0.5, 1.5), grad=False), 1),
            S("hundred", T(100, of=(-8.0, 8.0)), 0).only(*FLOATING),
            # Sums that stay in the right half-plane: their logarithm has one phase for everyone.
            S("hundred-complex", T(100, of=(-1.5, 1.5)), 0).only(*COMPLEX),
            *(
                S(variant, T(data=data, grad=False), 1).only(*FLOATING)
                for variant, data in (
                    ("large", [[800.5, 801, -5], [-900, -901, 1000]]),
                    ("falling", [[900.0, 0.0, -900.0]]),
                    ("nan", _NAN),
                    ("minus-infinity", [[-np.inf, -np.inf, 1], [1, -np.inf, 2]]),
                )
            ),
        ],
        (*FLOATING, *COMPLEX),
        ulp=4,
        scale=scan(lambda v: np.maximum(np.abs(_log_sums(v)), 1)),
        errors=[
            *dim_errors(),
            E(
                "int",
                NotImplementedError,
                "\"logcumsumexp_out_cpu\" not implemented for 'Long'",
                T(3),
                0,
                dtype=formats.INT64,
            ),
        ],
        family="scans",
    ),
]  # fmt: skip
