"""Sums, means and products of all elements or along dimensions."""

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
    dims_errors,
    empties,
    exactly,
    long,
    magnitudes,
    many_dims,
    narrowed,
    one_dim,
    over,
    special,
)
from tensorbus_conformance.op import (
    ANY,
    BOOL,
    COMPLEX,
    DTYPE,
    FLOATING,
    INTEGRAL,
    ErrorSample,
    Op,
    S,
    Sample,
    T,
)

Lines = Callable[[np.ndarray], Any]

NOT_FLOAT64 = (*BOOL, *INTEGRAL, *(d for d in FLOATING if d is not formats.FLOAT64))


def total(v: np.ndarray) -> np.ndarray:
    """The sum of lines; integers wrap in int64."""
    return narrowed(exactly(v).sum(-1))


def magnitude(v: np.ndarray) -> np.ndarray:
    """The sum of absolute values of lines."""
    return np.asarray(absolute(v).sum(-1))


def pairwise(v: np.ndarray) -> np.ndarray:
    """What a pairwise sum may err by, in units in the last place: half for each level."""
    levels = np.ceil(np.log2(max(v.shape[-1], 2))) + 1
    return np.asarray(magnitude(v) * levels / 2)


def mean(v: np.ndarray) -> np.ndarray:
    """The mean of lines."""
    return narrowed(exactly(v).sum(-1) / np.longdouble(v.shape[-1]))


def _per_term(f: Lines) -> Lines:
    return lambda v: f(v) / max(v.shape[-1], 1)


def _product(v: np.ndarray) -> np.ndarray:
    return narrowed(exactly(v).prod(-1))


def _in_own_dtype(f: Lines) -> Lines:
    """Integers wrap in the dtype that was asked for; what is true remains so."""
    return lambda v: f(v) != 0 if v.dtype == bool else f(v).astype(v.dtype)


def _in_float(f: Lines) -> Lines:
    return lambda v: f(v.astype(np.float64))


def _present(f: Lines) -> Lines:
    return lambda v: f(np.where(np.isnan(v), 0, v))


def _mean_present(v: np.ndarray) -> np.ndarray:
    return np.asarray(_present(total)(v) / (~np.isnan(v)).sum(-1))


def _log_sum_exp(v: np.ndarray) -> np.ndarray:
    if v.dtype.kind != "c":
        return np.asarray(np.logaddexp.reduce(v.astype(np.float64), axis=-1, initial=-np.inf))
    top = v.real.max(-1, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    return np.asarray(np.log(np.exp(v - top).sum(-1)) + top[..., 0])


def _to(dtype: Any) -> list[Sample]:
    """Reductions with ``dtype=``."""
    return [
        S("dim", T(2, 3, 4), 1, dtype=dtype),
        S("keepdim", T(2, 3), -1, True, dtype=dtype),
        S("all", T(3, 4), dtype=dtype),
        S("scalar", T(), dtype=dtype),
        S("empty", T(0), dtype=dtype),
    ]


_FLOAT32 = tensorbus.float32
_LARGE = [[800.5, 801.0], [-900.0, -901.0], [1000.0, -1000.0]]
"""Whose exponentials are too large, or 0."""
_BEYOND = T(data=[40000.0] * 4, grad=False)
"""Too large for float16 together."""


def _mean_error(variant: str, whose: str, shown: str, **more: Any) -> ErrorSample:
    text = (
        rf"mean\(\): could not infer output dtype\. {whose} dtype must be either a floating point "
        rf"or complex dtype\. Got: {shown}"
    )
    dtype = more.pop("of", formats.FLOAT32)
    return ErrorSample(variant, (T(2),), more, RuntimeError, text, dtype)


_SUM = Op(
    "sum",
    over(total),
    [*one_dim(), *many_dims(), *empties(), *special(), *long(), magnitudes()],
    ANY,
    "sum",
    ulp=1,
    scale=over(pairwise),
    errors=dims_errors(),
    family="reductions",
)
_MEAN = replace(
    _SUM,
    name="mean",
    reference=over(mean),
    samples=[*_SUM.samples, S("beyond", _BEYOND).only(*FLOATING)],
    dtypes=(*FLOATING, *COMPLEX),
    scale=over(_per_term(pairwise)),
    errors=[
        *dims_errors(),
        _mean_error("int", "Input", "Long", of=formats.INT64),
        _mean_error("bool", "Input", "Bool", of=formats.BOOL),
        _mean_error("to-int", "Optional", "Int", dtype=tensorbus.int32),
    ],
)
_PROD = Op(
    "prod",
    over(_product),
    [
        *one_dim(),
        *empties(),
        *special(),
        S("wraps", T(6, 12, of="wide", grad=False), 0).only(*BOOL, *INTEGRAL),
        S("zeros", T(data=[[1.5, 0, 2.5], [0, 0, 1.5], [1.5, -2, 0.5], [0, 0, 0]]), 1),
        S("beyond", T(data=[[1024.0, 1000, 2**-10, 2**-9]], grad=False), 1).only(*FLOATING),
    ],
    ANY,
    "sum",
    ulp=4,
    errors=dim_errors(),
    family="reductions",
)
_NANSUM = replace(
    _SUM,
    name="nansum",
    reference=over(_present(total)),
    samples=[
        S("holes", T(4, 5, of="holes"), 1),
        S("none-left", T(data=[[np.nan, np.nan], [1.5, np.nan]], grad=False), 1).only(*FLOATING),
        *(s for s in _SUM.samples if s.variant != "holes"),
    ],
    dtypes=(*BOOL, *INTEGRAL, *FLOATING),
    scale=over(_present(pairwise)),
    errors=[
        *dims_errors(),
        ErrorSample(
            "complex",
            (T(3),),
            {},
            RuntimeError,
            "nansum on [A-Z0-9_]+ does not support complex inputs",
            formats.COMPLEX64,
        ),
    ],
)
_NANMEAN = replace(
    _NANSUM,
    name="nanmean",
    reference=over(_mean_present),
    dtypes=FLOATING,
    scale=over(_present(_per_term(pairwise))),
    errors=dims_errors(),
)
_LOGSUMEXP = Op(
    "logsumexp",
    over(_log_sum_exp),
    [
        *(s for s in (*one_dim(), *many_dims(), *empties()) if len(s.args) + len(s.kwargs) > 1),
        S("large", T(data=_LARGE, grad=False), 1).only(*FLOATING),
        S("far", T(data=[[-20.5, -21.0], [-30, -31.25], [15.0, -15.0]]), 1).only(*FLOATING),
        long()[0],
        *special(),
        S("minus-infinity", T(data=[[-np.inf, -np.inf], [0, -np.inf]], grad=False), 1).only(
            *FLOATING
        ),
        magnitudes(),
    ],
    ANY,
    "float",
    ulp=2,
    scale=over(lambda v: np.maximum(np.abs(_log_sum_exp(v)), 1)),
    errors=dims_errors(),
    family="reductions",
)


def _own_dtype(op: Op, lines: Lines) -> Op:
    """The op with the operand's dtype as ``dtype=``."""
    wraps = S("wraps", T(6, 12, of="wide", grad=False), 0, dtype=DTYPE).only(*BOOL, *INTEGRAL)
    return replace(
        op,
        name=f"{op.name}-dtype",
        reference=over(_in_own_dtype(lines)),
        samples=[*_to(DTYPE), wraps],
        result="same",
        errors=(),
        call=getattr(tensorbus, op.name),
    )


def _float32(op: Op, lines: Lines) -> Op:
    """The op with ``dtype=float32``, to which operands are brought before."""
    return replace(
        op,
        name=f"{op.name}-float32",
        reference=over(_in_float(lines)),
        samples=[*_to(_FLOAT32), S("beyond", _BEYOND, dtype=_FLOAT32).only(formats.FLOAT16)],
        dtypes=NOT_FLOAT64,
        result=formats.FLOAT32,
        errors=(),
        call=getattr(tensorbus, op.name),
    )


def _half(op: Op, magnitude: Lines) -> Op:
    """The op in half precision, which accumulates in float32 and rounds once."""
    return replace(
        op,
        name=f"{op.name}-half",
        samples=long(),
        dtypes=(formats.FLOAT16, formats.BFLOAT16),
        ulp=0.51,
        scale=over(magnitude),
        errors=(),
        gradient=False,
        call=getattr(tensorbus, op.name),
    )


OPS = [
    _SUM, _MEAN, _PROD, _NANSUM, _NANMEAN, _LOGSUMEXP,
    _own_dtype(_SUM, total), _own_dtype(_PROD, _product),
    _half(_SUM, magnitude), _half(_MEAN, _per_term(magnitude)), _half(_NANSUM, magnitude),
    _float32(_SUM, total), _float32(_MEAN, mean), _float32(_PROD, _product),
    replace(_float32(_NANSUM, total), scale=over(pairwise)),
    replace(_float32(_NANMEAN, mean), dtypes=(formats.FLOAT16, formats.BFLOAT16, formats.FLOAT32)),
]  # fmt: skip
