"""Arithmetic of more than one step: interpolation, powers, quotients, divisors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import binary, mismatch, real
from tensorbus_conformance.op import (
    ANY,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    NUMBERS,
    REAL,
    E,
    Op,
    S,
    T,
)

FLOAT32, INT64 = formats.FLOAT32, formats.INT64
_FLOATS = (*FLOATING, *COMPLEX)


def _op(name: str, reference: Callable[..., Any], samples: list[Any], **fields: Any) -> Op:
    fields.setdefault("family", "pointwise")
    fields.setdefault("keeps_order", True)
    return Op(name, reference, samples, **fields)


# -- interpolation ---------------------------------------------------------------------------
def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


def _ends(x: Any, end: Any, weight: Any) -> Any:
    return np.abs(x) + np.abs(end) + np.abs(weight * (end - x))


# -- powers ----------------------------------------------------------------------------------
def _double(d: Dtype) -> Dtype:
    return formats.COMPLEX128 if d in COMPLEX else formats.FLOAT64


def _float_power(x: Any, y: Any) -> Any:
    wide = np.complex128 if "c" in (np.asarray(x).dtype.kind, np.asarray(y).dtype.kind) else float
    return np.power(np.asarray(x, wide), np.asarray(y, wide))


def _float_power_in_place(x: Any, y: Any) -> Any:
    return x.clone().float_power_(y)


def _quotient(name: str, round_: Callable[..., Any]) -> Op:
    """Division by a rounding mode."""

    def call(x: Any, y: Any) -> Any:
        import tensorbus

        return tensorbus.div(x, y, rounding_mode=name)

    return replace(
        binary(
            f"div-{name}",
            lambda x, y: round_(x, y).astype(x.dtype),
            of=(2.1, 2.4),
            other=(0.85, 0.95),
            dtypes=REAL,
            number=3,
            fraction=0.875,
            ulp=0,
            edges=False,
            wide=False,
            promotes=True,
            family="pointwise",
            more=[
                S("negative", T(24, of=(-9.0, 9.0), grad=False), T(6, 1, of="nonzero", grad=False))
                .only(*INTEGRAL, FLOAT32, formats.FLOAT64),
                S("all-sizes", T(24, of="wide"), T(6, 1, of="nonzero")).only(*INTEGRAL),
            ],
            errors=[
                E("zero", RuntimeError, "ZeroDivisionError", T(data=[1, 2]), T(data=[1, 0]),
                  dtype=INT64, trait="host_sync"),
            ],
        ),
        call=call,
    )  # fmt: skip


def _toward_zero(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.trunc(x / y)
    y = np.asarray(y, x.dtype)
    left = np.fmod(x, y)
    return (x - left) // y


def _exponents(x: Any, y: Any) -> Any:
    return real(x) * 2.0**y


# -- divisors --------------------------------------------------------------------------------
def _divisor(name: str, reference: Callable[..., Any]) -> Op:
    return binary(
        name,
        reference,
        of=(-11.0, 11.0),
        dtypes=INTEGRAL,
        number=None,
        wide=False,
        gradient=False,
        promotes=True,
        family="pointwise",
        keeps_order=False,
        more=[S("zeros", T(data=[0, 0, 6, 4]), T(data=[0, 5, 0, 6]))],
        errors=[
            E("float", NotImplementedError, f"\"{name}_cpu\" not implemented for 'Float'", T(3),
              T(3)),
        ],
    )  # fmt: skip


# -- what has no derivative ------------------------------------------------------------------
def _without_derivative(name: str) -> Op:
    """A function that may be recorded, but not differentiated."""

    def call(x: Any, y: Any) -> Any:
        import tensorbus

        x.requires_grad_()
        y.requires_grad_()
        return getattr(tensorbus, name)(x, y).sum().backward()

    text = f"derivative for aten::{name} is not implemented"
    errors = [E("backward", RuntimeError, text, T(3), T(3))]
    return _op(f"{name}-derivative", np.equal, [], errors=errors, call=call)


# -- the next number -------------------------------------------------------------------------
def _steps(d: Dtype, x: Any, y: Any) -> Any:
    """The numbers of a dtype after those of *x* towards those of *y*, by the order of bits."""
    x, y = np.broadcast_arrays(x, y)
    found = [_step(d, float(a), float(b)) for a, b in zip(x.flat, y.flat, strict=True)]
    return np.array(found).reshape(x.shape)


def _step(d: Dtype, a: float, b: float) -> float:
    if np.isnan(a) or np.isnan(b):
        return np.nan
    if a == b:
        return b
    least = formats.smallest_subnormal(d)
    if a == 0:
        return float(np.copysign(least, b))
    outward = (b > a) == (a > 0)
    if np.isinf(a):
        return float(np.copysign(formats.largest(d), a))
    _, exponent = np.frexp(abs(a))
    below = not outward and abs(a) == 2.0 ** (exponent - 1)
    unit = max(2.0 ** (exponent - 1 - below) * 2 * formats.unit_roundoff(d), least)
    return a + float(np.copysign(unit, b - a))


def _nextafter(d: Dtype) -> Op:
    def call(x: Any, y: Any) -> Any:
        import tensorbus

        return tensorbus.nextafter(x, y)

    return replace(
        binary(
            "nextafter" if d is FLOAT32 else f"nextafter-{d.name}",
            lambda x, y: _steps(d, x, y),
            dtypes=(d,),
            number=None,
            ulp=0,
            family="pointwise",
            errors=[
                E("integers", NotImplementedError, "\"nextafter_cpu\" not implemented for 'Long'",
                  T(3), T(3), dtype=INT64),
            ],
        ),
        call=None if d is FLOAT32 else call,
    )  # fmt: skip


OPS = [
    _op(
        "lerp",
        _lerp,
        [
            S("plain", T(3, 4), T(3, 4), 0.25),
            S("beyond-half", T(3, 4), T(3, 4), 0.75),
            S("end", T(3, 4), T(3, 4), 1.0),
            S("extrapolated", T(3, 4), T(3, 4), -1.5),
            S("tensor", T(3, 4), T(4), T(3, 1, of=(0.1, 0.4))),
            S("tensor-beyond-half", T(3, 4), T(3, 4), T(3, 4, of=(0.6, 0.9))),
            S("scalar", T(), T(of="positive"), 0.5),
            S("empty", T(0, 3), T(0, 3), 0.5),
        ],
        dtypes=_FLOATS,
        ulp=2,
        scale=_ends,
        errors=[
            E(
                "dtypes",
                RuntimeError,
                "expected dtype float for `end` but got dtype double",
                T(3),
                T(3, dtype=formats.FLOAT64),
                0.5,
            ),
            E(
                "integers",
                NotImplementedError,
                "\"lerp_kernel_scalar\" not implemented for 'Long'",
                T(3),
                T(3),
                0.5,
                dtype=INT64,
            ),
            mismatch(0.5),
        ],
    ),
    binary(
        "float_power",
        _float_power,
        of="positive",
        other="spread",
        dtypes=ANY,
        result=_double,
        number=3,
        edges=False,
        wide=False,
        ulp=4,
        inplace=False,
        promotes=True,
        family="pointwise",
    ),
    _op(
        "Tensor.float_power_",
        _float_power,
        [S("plain", T(3, 4, of="positive"), T(4)), S("number", T(3, 4, of="positive"), 2.5)],
        dtypes=(formats.FLOAT64, formats.COMPLEX128),
        ulp=4,
        call=_float_power_in_place,
        errors=[
            E(
                "dtype",
                RuntimeError,
                "the base given to float_power_ has dtype Float but the "
                "operation's result requires dtype Double",
                T(3),
                2.0,
            ),
        ],
    ),
    _op(
        "ldexp",
        _exponents,
        [
            S("plain", T(3, 4), T(data=[-2, 0, 1, 5], dtype=INT64)),
            S("scalar", T(), T(data=3, dtype=INT64)),
            S("empty", T(0, 3), T(data=[1, 2, 3], dtype=INT64)),
        ],
        dtypes=REAL,
        result="float",
        ulp=0,
    ),
    _op(
        "rsub",
        lambda x, y, alpha=1: y - np.multiply(x, alpha, dtype=x.dtype),
        [
            S("plain", T(3, 4), T(4)),
            S("alpha", T(3, 4), T(3, 4), alpha=2),
            S("number", T(3, 4), 2),
            S("number-alpha", T(3, 4), 2, alpha=3),
            S("large-alpha", T(3, 4), 2, alpha=-99).only(formats.INT8, INT64, FLOAT32),
            S("scalar", T(), T()),
            S("empty", T(0, 3), T(3)),
        ],
        dtypes=NUMBERS,
        ulp=1,
        scale=lambda x, y, alpha=1: np.abs(y) + np.abs(alpha * x),
        promotes=True,
        errors=[
            E(
                "shapes",
                RuntimeError,
                r"The size of tensor a \(4\) must match the size of tensor b "
                r"\(3\) at non-singleton dimension 1",
                T(2, 3),
                T(2, 4),
            ),
        ],
    ),
    _quotient("trunc", _toward_zero),
    _quotient("floor", np.floor_divide),
    _divisor("gcd", np.gcd),
    _divisor("lcm", np.lcm),
    *(_nextafter(d) for d in FLOATING),
    *(_without_derivative(name) for name in ("floor_divide", "heaviside")),
]
