"""Activation functions of one operand, element by element."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.formats import COMPLEX64, FLOAT32, FLOAT64, UINT8
from tensorbus_conformance.op import FLOATING, REAL, E, Op, S, T

_F = "nn.functional."
_SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)


def _elementwise(x: T | None = None, wide: T | None = None) -> list[Any]:
    """The samples of a function of one operand and nothing else."""
    return [
        S("plain", x or T(3, 4)),
        S("scalar", T()),
        S("empty", T(0, 3)),
        S("wide", wide or T(24, of="wide", grad=False)),
    ]


def _activation(name: str, reference: Callable[..., Any], *more: Any, **settings: Any) -> Op:
    """An elementwise activation; *more* are its samples beside the usual ones."""
    samples = [*_elementwise(settings.pop("x", None), settings.pop("wide", None)), *more]
    settings.setdefault("keeps_order", True)
    return Op(_F + name, reference, samples, family="nn", **settings)


def _elu(x: np.ndarray, alpha: float = 1.0, inplace: bool = False) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _selu(x: np.ndarray) -> np.ndarray:
    scale, alpha = _SELU
    return scale * _elu(x, alpha)


def _celu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


def _gelu(x: np.ndarray, approximate: str = "none") -> np.ndarray:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def _magnitude(x: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    """The scale of functions that are near to x, or to 0, with an error of x's size."""
    return np.abs(x)


def _silu(x: np.ndarray) -> np.ndarray:
    return x * special.expit(x)


def _softplus(x: np.ndarray, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def _mish(x: np.ndarray) -> np.ndarray:
    return x * np.tanh(_softplus(x))


def _leaky_relu(x: np.ndarray, negative_slope: float = 0.01) -> np.ndarray:
    return np.where(x > 0, x, x * negative_slope)


def _hardtanh(x: np.ndarray, min_val: float = -1.0, max_val: float = 1.0) -> np.ndarray:
    return np.clip(x, min_val, max_val)


def _hardshrink(x: np.ndarray, lambd: float = 0.5) -> np.ndarray:
    return np.where((x >= -lambd) & (x <= lambd), 0, x)


def _softshrink(x: np.ndarray, lambd: float = 0.5) -> np.ndarray:
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


def _threshold(x: np.ndarray, threshold: float, value: float) -> np.ndarray:
    return np.where(x <= threshold, value, x).astype(x.dtype)


def _hardsigmoid(x: np.ndarray) -> np.ndarray:
    return np.clip(x + 3, 0, 6) / 6


_MODERATE = T(data=[0.0, -0.0, np.inf, np.nan, 6e4, -11.0, 11.0, 1e-3, -1e-3], grad=False)
"""Values and edges but those where the sigmoid underflows: it may be 0 there, or subnormal."""
_KINKS = T(data=[[-4.1, -3.4, -2.3, -0.7], [0.3, 1.9, 2.6, 3.7], [5.3, 6.6, 9.0, -1.2]])
"""Values on all sides of the kinks at 0, +-3 and 6."""

POINTWISE = [
    _activation("relu", lambda x: np.maximum(x, 0), ulp=0, dtypes=REAL),
    _activation("relu6", lambda x: np.clip(x, 0, 6), x=_KINKS, ulp=0, dtypes=REAL),
    _activation(
        "hardtanh",
        _hardtanh,
        S("limits", T(3, 4), -0.55, 0.95),
        S("keywords", T(3, 4), min_val=0.2, max_val=0.7),
        ulp=0.5,
        errors=[E("limits", ValueError, "min_val cannot be greater than max_val", T(3), 1.0, 0.5)],
    ),
    _activation("leaky_relu", _leaky_relu, S("slope", T(3, 4), 0.3), ulp=1.5),
    _activation("elu", _elu, S("alpha", T(3, 4), 0.7), ulp=2.5),
    _activation("selu", _selu, ulp=3),
    _activation(
        "celu",
        _celu,
        S("alpha", T(3, 4), 1.7),
        ulp=4,
        errors=[
            E("alpha", RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU", T(3), 0.0)
        ],
    ),
    _activation(
        "gelu",
        _gelu,
        S("tanh", T(3, 4), approximate="tanh"),
        S("wide-tanh", T(24, of="wide", grad=False), approximate="tanh"),
        ulp=3,
        scale=_magnitude,
        errors=[
            E(
                "approximate",
                RuntimeError,
                r"approximate argument must be either none or tanh\.",
                T(3),
                approximate="sigmoid",
            )
        ],
    ),
    _activation("silu", _silu, ulp=4, wide=_MODERATE),
    _activation("mish", _mish, ulp=6),
    _activation(
        "softplus",
        _softplus,
        S("beta", T(3, 4), 2.5),
        S("beta-zero", T(data=[-3.0, 0.0, 2.5], grad=False), 0.0),
        S("threshold", T(data=[-3.0, 0.4, 1.7, 2.4, 9.0]), 1.0, 2.0),
        S("large", T(data=[-25.0, 5.0, 11.0, 15.0, 18.0, 30.0])),
        ulp=4,
    ),
    _activation("softsign", lambda x: x / (1 + np.abs(x)), ulp=2),
    # The derivative 1 - (1 - tanh(x)^2) cancels near 0.
    _activation("tanhshrink", lambda x: x - np.tanh(x), ulp=2, scale=_magnitude, grad_ulp=128),
    _activation(
        "rrelu",
        lambda x, lower=1 / 8, upper=1 / 3: np.where(x > 0, x, x * (lower + upper) / 2),
        S("bounds", T(3, 4), 0.25, 0.75),
        ulp=2,
    ),
    _activation(
        "hardshrink",
        _hardshrink,
        S("lambd", T(3, 4), 0.9),
        ulp=0.5,
        errors=[
            E(
                "complex",
                NotImplementedError,
                "\"hardshrink_cpu\" not implemented for 'ComplexFloat'",
                T(3),
                dtype=COMPLEX64,
            ),
        ],
    ),
    _activation(
        "softshrink",
        _softshrink,
        S("lambd", T(3, 4), 0.9),
        ulp=1,
        scale=_magnitude,
        errors=[
            E(
                "lambd",
                RuntimeError,
                r"lambda must be in range \[0, 3\.40282e\+38\] for input dtype Float, "
                r"but found -0\.5",
                T(3),
                -0.5,
            )
        ],
    ),
    Op(
        _F + "threshold",
        _threshold,
        [
            S("plain", T(3, 4), 0.2, -3.0),
            S("scalar", T(), 1.0, 20.0),
            S("empty", T(0, 3), 1.0, 20.0),
            S("wide", T(24, of="wide", grad=False), 1.0, 2.0),
        ],
        ulp=0,
        keeps_order=True,
        family="nn",
    ),
    Op(
        _F + "threshold-int",
        _threshold,
        [S("plain", T(3, 4), 1, 7), S("empty", T(0, 3), 1, 7)],
        dtypes=tuple(d for d in REAL if d not in FLOATING),
        ulp=0,
        call=lambda *args: functional("threshold")(*args),
        family="nn",
    ),
    Op(
        _F + "threshold-wrapped",
        lambda x, at, value: np.where(x <= at % 256, value % 256, x),
        [S("at", T(data=[0, 1, 200, 255]), -2, 3), S("value", T(data=[0, 1, 200, 255]), 1, -1)],
        dtypes=(UINT8,),
        ulp=0,
        call=lambda *args: functional("threshold")(*args),
        family="nn",
    ),
    _activation("hardsigmoid", _hardsigmoid, x=_KINKS, ulp=2),
    _activation("hardswish", lambda x: x * _hardsigmoid(x), x=_KINKS, ulp=3),
    _activation("logsigmoid", special.log_expit, ulp=4, keeps_order=False),
    _activation("sigmoid", special.expit, ulp=4),
    _activation("tanh", np.tanh, ulp=3),
]


def functional(name: str) -> Callable[..., Any]:
    import tensorbus.nn.functional

    found: Callable[..., Any] = getattr(tensorbus.nn.functional, name)
    return found


def _in_place(op: Op) -> Op:
    """The activation with ``inplace=True``, on a copy of the operand."""
    name = op.name.removeprefix(_F)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        target = x.clone()
        result = functional(name)(target, *args, inplace=True, **kwargs)
        if result is not target:
            raise Mismatch(f"{name}(inplace=True) returned another tensor than its own")
        return result

    samples = [s for s in op.samples if "wide" not in s.variant]
    return dataclasses.replace(
        op,
        name=f"{op.name}-inplace",
        samples=samples,
        call=call,
        dtypes=(FLOAT32, FLOAT64),
        errors=(),
    )


def _spelled(op: Op) -> Op:
    """The activation that has a name in place."""
    name = f"{op.name.removeprefix(_F)}_"

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        target = x.clone()
        if functional(name)(target, *args, **kwargs) is not target:
            raise Mismatch(f"{name} returned another tensor than its own")
        return target

    return dataclasses.replace(_in_place(op), name=f"{op.name}_", call=call)


IN_PLACE = [
    _in_place(op)
    for op in POINTWISE
    if op.name.removeprefix(_F)
    in "relu rrelu relu6 hardtanh leaky_relu elu selu celu silu mish threshold hardsigmoid "
    "hardswish".split()
]

SPELLED = [
    _spelled(op)
    for op in POINTWISE
    if op.name.removeprefix(_F) in "relu rrelu hardtanh leaky_relu elu selu celu threshold".split()
]

OPS = [
    *POINTWISE,
    *SPELLED,
    *IN_PLACE,
    dataclasses.replace(POINTWISE[0], name="relu"),
]
