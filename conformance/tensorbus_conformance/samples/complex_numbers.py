"""Complex numbers, their parts, and views of them as pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import not_a_tensor
from tensorbus_conformance.op import ANY, BOOL, COMPLEX, E, Op, S, T

FLOAT32, FLOAT64 = formats.FLOAT32, formats.FLOAT64
_PAIRED = (FLOAT32, FLOAT64)


def _op(name: str, reference: Callable[..., Any], samples: Any = (), **fields: Any) -> Op:
    plain = [S("plain", T(3, 4)), S("scalar", T()), S("empty", T(0, 3))]
    return Op(name, reference, samples or plain, family="complex", **fields)


def _unchanged(name: str) -> Op:
    """Conjugates and negations are computed at once, so the tensor is what it says."""
    return _op(name, lambda x: x, dtypes=ANY, fresh=False, inplace=False, ulp=0,
               errors=[])  # fmt: skip


def _conj(name: str) -> Op:
    return _op(
        name,
        lambda x: np.conj(x) if x.dtype.kind == "c" else x,
        dtypes=ANY,
        fresh=False,
        inplace=False,
        ulp=0,
        errors=[not_a_tensor(name)],
    )


def _angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.angle(x)
    x = np.asarray(x, np.float64)
    return np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0))


def _angles(d: Dtype) -> Dtype:
    return FLOAT32 if d in (*BOOL, *formats.INTS) else d.to_real()


def _pairs(d: Dtype) -> Dtype:
    return d.to_complex()


def _parts_error(variant: str, text: str, *args: Any) -> Any:
    return E(variant, RuntimeError, text, *args)


_TYPES = [
    _parts_error(
        "integers",
        "Expected both inputs to be Half, Float or Double tensors but got Long and Long",
        T(3, dtype=formats.INT64),
        T(3, dtype=formats.INT64),
    ),
    _parts_error(
        "dtypes",
        "Expected object of scalar type Float but got scalar type Double for second argument",
        T(3),
        T(3, dtype=FLOAT64),
    ),
]

OPS = [
    _op("real", lambda x: x.real, dtypes=ANY, result="real", view=True, ulp=0, inplace=False),
    _op(
        "imag",
        lambda x: x.imag,
        dtypes=COMPLEX,
        result="real",
        view=True,
        ulp=0,
        inplace=False,
        errors=[
            E("real", RuntimeError,
              r"imag is not implemented for tensors with non-complex dtypes\.", T(3)),
        ],
    ),
    _conj("conj"),
    _conj("conj_physical"),
    _unchanged("resolve_conj"),
    _unchanged("resolve_neg"),
    _op(
        "angle",
        _angle,
        [
            S("plain", T(3, 4)),
            S("wide", T(6, 8, of="wide", grad=False)),
            S("scalar", T()),
            S("empty", T(0, 3)),
        ],
        dtypes=ANY,
        result=_angles,
        ulp=6,
        keeps_order=True,
        errors=[not_a_tensor("angle")],
    ),
    _op(
        "complex",
        lambda x, y: x + 1j * y,
        [
            S("plain", T(3, 4), T(3, 4)),
            S("broadcast", T(2, 1, 4), T(3, 1)),
            S("scalar", T(), T()),
            S("empty", T(0, 3), T(3)),
        ],
        dtypes=_PAIRED,
        result=_pairs,
        ulp=0,
        gradient=False,
        errors=_TYPES,
    ),
    _op(
        "polar",
        lambda x, angle: x * np.exp(1j * angle),
        [
            S("plain", T(3, 4, of="positive"), T(3, 4)),
            S("broadcast", T(2, 1, 4, of="positive"), T(3, 1)),
            S("scalar", T(of="positive"), T()),
            S("empty", T(0, 3), T(3)),
        ],
        dtypes=_PAIRED,
        result=_pairs,
        ulp=4,
        gradient=False,
        errors=_TYPES,
    ),
    _op(
        "view_as_real",
        lambda x: np.stack([x.real, x.imag], -1),
        dtypes=COMPLEX,
        result="real",
        view=True,
        ulp=0,
        errors=[
            E("real", RuntimeError, "view_as_real is only supported for complex tensors", T(3)),
        ],
    ),
    _op(
        "view_as_complex",
        lambda x: x[..., 0] + 1j * x[..., 1],
        [S("plain", T(3, 2)), S("scalar", T(2)), S("empty", T(0, 2)), S("three", T(2, 3, 2))],
        dtypes=_PAIRED,
        result=_pairs,
        view=True,
        ulp=0,
        layouts=(),
        gradient=False,
        errors=[
            E("dtype", RuntimeError, "view_as_complex is only supported for (half, )?float and "
              "double tensors, but got a tensor of scalar type: Long", T(3, 2),
              dtype=formats.INT64),
            E("scalar", RuntimeError, "Input tensor must have one or more dimensions", T()),
            E("size", RuntimeError, "Tensor must have a last dimension of size 2", T(2, 3)),
        ],
    ),
]  # fmt: skip
