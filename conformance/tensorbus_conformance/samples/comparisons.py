"""Comparisons, closeness, and what a value is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import binary, unary
from tensorbus_conformance.op import (
    ANY,
    BOOL,
    COMPLEX,
    FLOATING,
    REAL,
    E,
    ErrorSample,
    Op,
    S,
    Sample,
    T,
)
from tensorbus_conformance.samples.pointwise_binary import no_number

_ORDERED = (*REAL, *BOOL)
_PARTS = (np.nan, np.inf, -np.inf, 1.0)
_COMPLEX_EDGES = S(
    "edges", T(data=[[complex(a, b) for b in _PARTS] for a in _PARTS], grad=False)
).only(*COMPLEX)


def _compares(name: str, reference: Callable[..., Any], dtypes: Any = _ORDERED) -> Op:
    return binary(
        name,
        reference,
        of="ties",
        dtypes=dtypes,
        result=formats.BOOL,
        number=1,
        fraction=0.5,
        gradient=False,
        promotes=True,
        family="comparison",
        errors=[no_number(name)],
    )


def _is(name: str, reference: Callable[..., Any], dtypes: Any = ANY, **fields: Any) -> Op:
    """A question to each value."""
    return unary(
        name,
        reference,
        of="ties",
        dtypes=dtypes,
        result=formats.BOOL,
        gradient=False,
        family="comparison",
        **fields,
    )


def _refuses_complex(name: str) -> ErrorSample:
    return E(
        "complex",
        RuntimeError,
        rf"{name} does not support complex inputs\.",
        T(3),
        dtype=formats.COMPLEX64,
    )


def _infinite(sign: float) -> Callable[..., Any]:
    return lambda x: x == sign * np.inf


def _close(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    wide = complex if x.dtype.kind == "c" else float
    return np.isclose(x.astype(wide), y.astype(wide), rtol, atol, equal_nan)


_NEAR = T(data=[[1.0, 2.0, -3.0], [0.0, 4.0, 100.0]], grad=False)
_OTHER = T(data=[[1.0, 2.5, -3.0], [0.25, 4.0, 101.0]], grad=False)
_SPECIAL = T(data=[np.nan, np.inf, -np.inf, np.inf, 1.0, np.nan], grad=False)
_BESIDE = T(data=[np.nan, np.inf, np.inf, 1.0, np.inf, 1.0], grad=False)


def _closeness(name: str, reference: Callable[..., Any]) -> Op:
    floats = (*FLOATING, *COMPLEX)
    return Op(
        name,
        reference,
        [
            S("plain", _NEAR, _OTHER),
            S("broadcast", T(2, 1, 4), T(3, 1)),
            S("tolerance", _NEAR, _OTHER, rtol=0.125, atol=0.5),
            S("exact", _NEAR, _NEAR, rtol=0.0, atol=0.0),
            S("special", _SPECIAL, _BESIDE).only(*floats),
            S("equal-nan", _SPECIAL, _BESIDE, equal_nan=True).only(*floats),
            S("scalar", T(), T()),
            S("empty", T(0, 3), T(0, 3)),
        ],
        dtypes=ANY,
        result=formats.BOOL,
        gradient=False,
        family="comparison",
        errors=[
            E("dtypes", RuntimeError, "Float did not match Double", T(3),
              T(3, dtype=formats.FLOAT64)),
            E("rtol", RuntimeError, "rtol must be greater than or equal to zero, but got -1",
              T(3), T(3), rtol=-1),
            E("atol", RuntimeError, "atol must be greater than or equal to zero, but got -1",
              T(3), T(3), atol=-1),
        ],
    )  # fmt: skip


def _attribute(name: str, reference: Callable[..., Any], *samples: Sample) -> Op:
    """What a function says of a tensor, as a Python value."""
    return Op(
        name,
        reference,
        samples or [S("plain", T(2, 3)), S("scalar", T()), S("empty", T(0, 3))],
        dtypes=ANY,
        gradient=False,
        layouts=("transposed",),
        family="attributes",
    )


def _size(x: Any) -> int:
    return int(x.size)


OPS = [
    _compares("eq", np.equal, ANY),
    _compares("ne", np.not_equal, ANY),
    _compares("lt", np.less),
    _compares("le", np.less_equal),
    _compares("gt", np.greater),
    _compares("ge", np.greater_equal),
    _closeness("isclose", _close),
    _closeness("allclose", lambda *a, **k: bool(_close(*a, **k).all())),
    _is("isnan", np.isnan, more=[_COMPLEX_EDGES]),
    _is("isinf", np.isinf, more=[_COMPLEX_EDGES]),
    _is("isfinite", np.isfinite, more=[_COMPLEX_EDGES]),
    _is("isposinf", _infinite(1), _ORDERED, errors=[_refuses_complex("isposinf")]),
    _is("isneginf", _infinite(-1), _ORDERED, errors=[_refuses_complex("isneginf")]),
    _is("isreal", np.isreal),
    _is("signbit", lambda x: np.signbit(x) if x.dtype != bool else x & False, _ORDERED),
    _attribute("is_complex", np.iscomplexobj),
    _attribute("is_floating_point", lambda x: x.dtype.kind == "f"),
    _attribute("is_signed", lambda x: x.dtype.kind in "ifc"),
    _attribute("is_tensor", lambda x: True),
    _attribute("is_conj", lambda x: False),
    _attribute("is_neg", lambda x: False),
    _attribute("numel", _size),
    _attribute("nelement", _size),
    _attribute(
        "is_nonzero", lambda x: bool(x), S("one", T(1, 1, of="nonzero")), S("scalar", T(data=0))
    ),
    _attribute("Tensor.__nonzero__", lambda x: bool(x), S("one", T(1, of="nonzero"))),
    _attribute(
        "is_same_size",
        lambda x, y: x.shape == y.shape,
        S("same", T(2, 3), T(2, 3)),
        S("other", T(2, 3), T(3, 2)),
    ),
    Op(
        "isin",
        lambda x, among, **options: np.isin(x, among, **options),
        [
            S("plain", T(3, 4, of="ties"), T(data=[1, 2])),
            S("many", T(3, 4, of="ties"), T(5, 3)),
            S("invert", T(3, 4, of="ties"), T(data=[1, 2]), invert=True),
            S("unique", T(3, 4), T(data=[1, 2]), assume_unique=True),
            S("number", T(3, 4, of="ties"), 1),
            S("in-scalar", T(3, 4, of="ties"), T(data=1)),
            S("number-first", 1, T(3, 4, of="ties")),
            S("scalar", T(of="ties"), T(data=[1, 0])),
            S("empty", T(0, 3), T(data=[1, 2])),
            S("in-nothing", T(3, 4), T(0)),
        ],
        dtypes=REAL,
        result=formats.BOOL,
        gradient=False,
        family="comparison",
    ),
]
