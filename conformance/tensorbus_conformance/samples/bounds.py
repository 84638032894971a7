"""Bounds, choice, and numbers put in the place of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import binary
from tensorbus_conformance.op import ANY, BOOL, COMPLEX, FLOATING, NUMBERS, REAL, E, M, Op, S, T

_FLOATS = (*FLOATING, *COMPLEX)


def _op(name: str, reference: Callable[..., Any], samples: list[Any], **fields: Any) -> Op:
    fields.setdefault("keeps_order", True)
    return Op(name, reference, samples, family="pointwise", **fields)


# -- bounds ----------------------------------------------------------------------------------
def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


_LOW, _HIGH = T(4, of=(-1.3, -0.7)), T(3, 1, of=(0.6, 1.2))
_BOUNDS = [
    S("plain", T(3, 4), 0, 1),
    S("min", T(3, 4), min=0),
    S("max", T(3, 4), max=0),
    S("fractions", T(3, 4), -0.75, 0.5).only(*FLOATING),
    S("tensors", T(3, 4), _LOW, _HIGH),
    S("min-tensor", T(3, 4), _LOW),
    S("max-tensor", T(3, 4), None, _HIGH),
    S("crossed", T(3, 4), 1, 0),
    S("edges", T(6, 8, of="wide", grad=False), -2.0, 3.0).only(*FLOATING),
    S("scalar", T(), 0, 1),
    S("empty", T(0, 3), 0, 1),
]


def _bound(name: str, reference: Callable[..., Any]) -> Op:
    return _op(
        name,
        reference,
        [
            S("plain", T(3, 4), 1),
            S("fraction", T(3, 4), 0.5).only(*FLOATING),
            S("tensor", T(3, 4), T(4, of=(-0.1, 0.0))),
            S("edges", T(6, 8, of="wide", grad=False), 3.0).only(*FLOATING),
            S("scalar", T(), 0),
            S("empty", T(0, 3), 0),
        ],
        dtypes=REAL,
        ulp=0,
    )


# -- numbers replaced ------------------------------------------------------------------------
def _nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    high = np.finfo(np.float32).max if posinf is None else posinf
    low = np.finfo(np.float32).min if neginf is None else neginf
    if x.dtype.kind == "c":
        return _nan_to_num(x.real, nan, high, low) + 1j * _nan_to_num(x.imag, nan, high, low)
    if x.dtype.kind != "f":
        return x
    return np.where(np.isnan(x), nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))


def _choose(*args: Any, **options: Any) -> Any:
    """The function: the method has its arguments in another order."""
    import tensorbus

    return tensorbus.where(*args, **options)


_GAPS = [[np.nan, 1.0, np.inf], [-np.inf, -2.5, np.nan]]


_CHOICE = M([[True, False, True, True], [False, False, True, False], [True, True, False, False]])

OPS = [
    _op(
        "clamp",
        _clamp,
        _BOUNDS,
        dtypes=REAL,
        ulp=0,
        errors=[
            E(
                "overflow",
                RuntimeError,
                "value cannot be converted to type uint8_t without overflow",
                T(3),
                0,
                300,
                dtype=formats.UINT8,
            ),
            E(
                "complex",
                NotImplementedError,
                "clamp is not supported for complex types",
                T(3),
                0,
                dtype=formats.COMPLEX64,
            ),
            E(
                "complex-tensors",
                NotImplementedError,
                "clamp is not supported for complex types",
                T(3),
                T(3),
                T(3),
                dtype=formats.COMPLEX64,
            ),
            E(
                "bool-tensors",
                NotImplementedError,
                "\"clamp_cpu\" not implemented for 'Bool'",
                T(3),
                T(3),
                T(3),
                dtype=formats.BOOL,
            ),
            E(
                "neither",
                RuntimeError,
                r"torch\.clamp: At least one of 'min' or 'max' must not be None",
                T(3),
            ),
        ],
    ),
    _bound("clamp_min", lambda x, min: np.maximum(x, min)),
    _bound("clamp_max", lambda x, max: np.minimum(x, max)),
    _op(
        "where",
        np.where,
        [
            S("plain", _CHOICE, T(3, 4), T(3, 4)),
            S("broadcast", M([[True], [False], [True]]), T(4), T(2, 1, 1)),
            S("number", _CHOICE, T(3, 4), 2).only(*NUMBERS),
            S("number-first", _CHOICE, -1.5, T(3, 4)).only(*_FLOATS),
            S("scalar", M(True), T(), T()),
            S("empty", M(np.zeros((0, 3))), T(0, 3), T(3)),
            S(
                "edges",
                M([True, False] * 24),
                T(48, of="wide", grad=False),
                T(48, of="wide", grad=False),
            ),
        ],
        dtypes=ANY,
        ulp=0,
        signed_zeros=True,
        promotes=True,
        call=_choose,
        errors=[
            E(
                "shapes",
                RuntimeError,
                r"The size of tensor a \(3\) must match the size of tensor b "
                r"\(4\) at non-singleton dimension 1",
                M([[True, False, True]]),
                T(2, 4),
                T(2, 4),
            ),
            E(
                "condition",
                RuntimeError,
                "where expected condition to be a boolean tensor, but got "
                "a tensor with dtype Float",
                T(3),
                T(3),
                T(3),
            ),
        ],
    ),
    _op(
        "frexp",
        np.frexp,
        [
            S("plain", T(3, 4)),
            S("wide", T(40, of="wide", grad=False)),
            S("sharp", T(data=[0.0, -0.0, 1.0, 0.5, -2.0, np.inf, -np.inf, np.nan], grad=False)),
            S("subnormal", T(data=[1e-40, -3e-42, 2.0**-149], grad=False)).only(formats.FLOAT32),
            S("subnormal-half", T(data=[2.0**-24, -3e-5], grad=False)).only(formats.FLOAT16),
            S("subnormal-double", T(data=[5e-324, -1e-310], grad=False)).only(formats.FLOAT64),
            S("scalar", T()),
            S("empty", T(0, 3)),
        ],
        result=("same", formats.INT32),
        ulp=0,
        signed_zeros=True,
        errors=[
            E(
                "integers",
                RuntimeError,
                r"torch\.frexp\(\) only supports floating-point dtypes",
                T(3),
                dtype=formats.INT64,
            )
        ],
    ),
    _op(
        "nan_to_num",
        _nan_to_num,
        [
            S("plain", T(data=_GAPS, grad=False), 0.5, 8.0, -8.0).only(*_FLOATS),
            S("keywords", T(data=_GAPS, grad=False), nan=1.0, posinf=2.0, neginf=-4.0).only(
                *_FLOATS
            ),
            S("defaults", T(data=_GAPS, grad=False)).only(formats.FLOAT32, formats.COMPLEX64),
            S("numbers", T(3, 4), 0.5, 8.0, -8.0),
            S("scalar", T(), 0.0),
            S("empty", T(0, 3), 0.0),
        ],
        dtypes=ANY,
        ulp=0,
        keeps_order=False,
    ),
    _op(
        "Tensor.where",
        lambda x, c, y: np.where(c, x, y),
        [S("plain", T(3, 4), _CHOICE, T(4)), S("number", T(3, 4), _CHOICE, 2).only(*NUMBERS)],
        dtypes=ANY,
        ulp=0,
    ),
    binary(
        "heaviside",
        lambda x, y: np.where(x == 0, y, (x > 0).astype(np.asarray(x).dtype)),
        of="ties",
        dtypes=(*REAL, *BOOL),
        number=None,
        ulp=0,
        edges=False,
        gradient=False,
        errors=[
            E(
                "dtypes",
                RuntimeError,
                r"heaviside is not yet implemented for tensors with different dtypes\.",
                T(3),
                T(3, dtype=formats.INT64),
            ),
        ],
        family="pointwise",
    ),
]
