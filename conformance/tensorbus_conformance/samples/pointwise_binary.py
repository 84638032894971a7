"""Arithmetic of two operands that broadcast, the second of which may be a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorbus import plugin
from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import binary
from tensorbus_conformance.op import (
    ANY,
    BOOL,
    FLOATING,
    INTEGRAL,
    NUMBERS,
    REAL,
    E,
    ErrorSample,
    M,
    Op,
    S,
    T,
)
from tensorbus_conformance.pointwise_reference import reference as primitive

INT64, FLOAT32 = formats.INT64, formats.FLOAT32


def integers(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The contract's reference for integers, another for other numbers."""

    def call(x: Any, y: Any) -> Any:
        if x.dtype.kind not in "iu":
            return otherwise(x, y)
        return primitive(name, getattr(plugin, x.dtype.name), [x, np.asarray(y, x.dtype)])

    return call


def no_number(name: str) -> ErrorSample:
    """A text where a tensor or a number should be."""
    text = rf"{name}\(\): argument 'other' \(position 2\) must be Tensor, not str"
    return E("not-a-number", TypeError, text, T(3), "2")


def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    if x.dtype == bool:
        return x | (y & bool(alpha))
    return np.add(x, np.multiply(y, alpha, dtype=x.dtype))


def _sub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return np.subtract(x, np.multiply(y, alpha, dtype=x.dtype))


def _pow(x: Any, y: Any) -> Any:
    return np.power(x, np.asarray(y, x.dtype))


def _log_of_sum(base: float) -> Callable[..., Any]:
    unit = np.log(base)
    return lambda x, y: np.logaddexp(x * unit, y * unit) / unit


def _larger(x: Any, y: Any) -> Any:
    """The magnitude of a logarithm's error: that of the larger operand, at least 1."""
    return np.maximum(np.maximum(np.abs(x), np.abs(y)), 1.0)


_MASK = (
    r" is not supported\. If you are trying to invert a mask, use the `~` or `logical_not\(\)` "
    r"operator instead\."
)
_INTO_INTEGERS = E(
    "out",
    RuntimeError,
    "result type Float can't be cast to the desired output type Int",
    T(3),
    T(3),
    out=T(3, dtype=formats.INT32),
)
_ALPHA = [
    S("alpha", T(3, 4), T(3, 4), alpha=2),
    S("alpha-wide", T(24, of="wide"), T(10, 1, of="wide"), alpha=100).only(*INTEGRAL),
]
_ALPHAS = [
    E("alpha-float", RuntimeError, "For integral input tensors, argument alpha must not be a "
      r"floating point number\.", T(3), T(3), dtype=INT64, alpha=0.5),
    E("alpha-bool", RuntimeError, r"Boolean alpha only supported for Boolean results\.",
      T(3), T(3), alpha=True),
    E("alpha-complex", RuntimeError, "For non-complex input tensors, argument alpha must not be a "
      r"complex number\.", T(3), T(3), alpha=2j),
]  # fmt: skip
_ZERO = [
    E("zero", RuntimeError, "ZeroDivisionError", T(data=[1, 2]), T(data=[1, 0]), dtype=INT64,
      trait="host_sync"),
    E("zero-number", RuntimeError, "ZeroDivisionError", T(data=[1, 2]), 0, dtype=INT64),
]  # fmt: skip
_NEGATIVE = E(
    "negative",
    RuntimeError,
    r"Integers to negative integer powers are not allowed\.",
    T(3),
    -2,
    dtype=INT64,
)


def _op(name: str, reference: Callable[..., Any], **fields: Any) -> Op:
    errors = [*fields.pop("errors", ()), no_number(name)]
    return binary(name, reference, promotes=True, family="pointwise", errors=errors, **fields)


def _division(name: str, reference: Callable[..., Any], **fields: Any) -> Op:
    """Division whose result is whole, or what it leaves."""
    return _op(
        name,
        reference,
        of=(2.1, 2.4),  # the quotient's whole part stays at 2
        other=(0.85, 0.95),
        dtypes=REAL,
        number=3,
        fraction=0.875,
        ulp=0,
        wide=False,
        more=[S("all-sizes", T(24, of="wide"), T(6, 1, of="nonzero")).only(*INTEGRAL)],
        errors=_ZERO,
        **fields,
    )


_DIV = _op("div", np.divide, other="positive", dtypes=ANY, result="float", ulp=1, number=3)

OPS = [
    _op(
        "add",
        _add,
        dtypes=ANY,
        ulp=0,
        signed_zeros=True,
        more=_ALPHA,
        errors=[*_ALPHAS, _INTO_INTEGERS],
    ),
    _op(
        "sub",
        _sub,
        dtypes=NUMBERS,
        ulp=0,
        signed_zeros=True,
        more=_ALPHA,
        errors=[
            *_ALPHAS,
            E(
                "bools",
                RuntimeError,
                "Subtraction, the `-` operator, with two bool tensors is not "
                r"supported\. Use the `\^` or `logical_xor\(\)` operator instead\.",
                M([True, False]),
                M([True, True]),
            ),
            E(
                "bool",
                RuntimeError,
                rf"Subtraction, the `-` operator, with a bool tensor{_MASK}",
                T(2),
                M([True, False]),
            ),
        ],
    ),
    _op("mul", np.multiply, dtypes=ANY, ulp=1),
    _DIV,
    replace(_DIV, name="true_divide", errors=()),
    _division("floor_divide", integers("floor_divide", np.floor_divide), gradient=False),
    _division("fmod", integers("fmod", np.fmod)),
    _division("remainder", np.remainder),
    _op(
        "pow",
        integers("pow", _pow),
        of="positive",
        other="spread",
        dtypes=NUMBERS,
        number=3,
        ulp=4,
        errors=[_NEGATIVE],
        more=[
            S(name, T(3, 4, of="positive"), n).only(*FLOATING)
            for name, n in (("zero", 0), ("root", 0.5), ("reverse", -1))
        ]
        + [
            S(name, T(data=[[0.0, -1.0, 2.0], [-0.5, 1.5, 0.0]]), n).only(*FLOATING)
            for name, n in (("square", 2), ("cube", 3))
        ],
    ),
    _op("atan2", np.arctan2, dtypes=(*REAL, *BOOL), result="float", number=None, ulp=6),
    _op("maximum", np.maximum, dtypes=(*REAL, *BOOL), number=None, ulp=0),
    _op("minimum", np.minimum, dtypes=(*REAL, *BOOL), number=None, ulp=0),
    _op("fmax", np.fmax, dtypes=(*REAL, *BOOL), number=None, ulp=0),
    _op("fmin", np.fmin, dtypes=(*REAL, *BOOL), number=None, ulp=0),
    _op("hypot", np.hypot, number=None, ulp=3),
    _op("logaddexp", _log_of_sum(np.e), number=None, ulp=3, scale=_larger),
    _op("logaddexp2", _log_of_sum(2.0), number=None, ulp=3, scale=_larger),
    _op(
        "copysign",
        np.copysign,
        dtypes=(*REAL, *BOOL),
        result="float",
        number=-2,
        fraction=-0.0,
        ulp=0,
        signed_zeros=True,
    ),
]
