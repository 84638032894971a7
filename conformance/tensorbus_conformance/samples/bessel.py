"""Bessel functions, the Airy function, Hurwitz's zeta and the incomplete gamma functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import in_floats, unary
from tensorbus_conformance.op import BOOL, FLOATING, REAL, E, Op, S, T

_ORDERED = (*REAL, *BOOL)
_ENDS = S("ends", T(data=[0.0, np.inf, np.nan], grad=False)).only(*FLOATING)
_NEGATIVE = S("negative", T(data=[-0.0, -1.5, -np.inf], grad=False)).only(*FLOATING)


def _known(values: dict[float, float], reference: Any) -> Any:
    """The reference, with what SciPy does not know at infinity or a pole."""

    def call(x: Any) -> Any:
        found = np.asarray(reference(np.asarray(x, np.float64)))
        for at, value in values.items():
            found = np.where(x == at, value, found)
        return found

    return call


def _at_least(least: float, reference: Any) -> Any:
    """The result's magnitude, not less than that of the waves around its zeros."""
    return lambda x: np.maximum(np.abs(in_floats(reference)(x)), least)


def _function(name: str, reference: Any, **fields: Any) -> Op:
    label = name.removeprefix("special.")
    text = f"\"{label}\" not implemented for 'ComplexFloat'"
    errors = [E("complex", NotImplementedError, text, T(3), dtype=formats.COMPLEX64)]
    return unary(
        name,
        reference,
        of=fields.pop("of", "positive"),
        dtypes=_ORDERED,
        result="float",
        family="special",
        ulp=fields.pop("ulp", 8),
        wide=False,
        errors=errors,
        **fields,
    )


def _parts(*ranges: tuple[float, float]) -> list[Any]:
    return [S(f"from-{low:g}", T(4, 5, of=(low, high))).only(*FLOATING) for low, high in ranges]


def _wave(name: str, reference: Any) -> Op:
    reference = _known({np.inf: 0.0, 0.0: float(reference(0.0))}, reference)
    more = [*_parts((1.0, 8.0), (8.0, 30.0)), _ENDS]
    return _function(
        f"special.{name}", reference, scale=_at_least(0.125, reference), gradient=False,
        more=more,
    )  # fmt: skip


def _i(x: Any, order: int, scaled: bool) -> Any:
    """The function of the first kind, from that which does not overflow."""
    value = (scipy.special.i0e, scipy.special.i1e)[order](x)
    with np.errstate(over="ignore", invalid="ignore"):
        if scaled:
            return value
        grown = value * np.exp(np.abs(x))
    return np.where(np.isinf(x), np.sign(x) ** order * np.inf, grown)


def _first_kind(name: str, order: int, scaled: bool, gradient: bool = True) -> Op:
    more = [*_parts((-7.5, -0.5), (8.0, 10.5)), _ENDS, _NEGATIVE]
    return _function(name, lambda x: _i(x, order, scaled), more=more, gradient=gradient)


def _second_kind(name: str, reference: Any, **fields: Any) -> Op:
    return _function(
        f"special.{name}", reference, gradient=False, **fields,
        more=[*_parts((2.0, 9.0)), _ENDS, S("below", T(data=[-1.5], grad=False)).only(*FLOATING)],
    )  # fmt: skip


def _airy(x: Any) -> Any:
    return scipy.special.airy(x)[0]


def _spherical(x: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sin(x) / np.asarray(x, np.float64)
    return np.where(x == 0, 1.0, np.where(np.isinf(x), 0.0, found))


def _zeta(s: Any, q: Any) -> Any:
    """SciPy's; below 0 by the terms up to where it is defined."""
    s, q = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(q, np.float64))
    steps = np.where(q < 0, np.ceil(-np.where(np.isfinite(q), q, 0.0)), 0).astype(int)
    found = scipy.special.zeta(s, np.where(q < 0, q + steps, q))
    terms = [
        sum((b + k) ** -a for k in range(n))
        for a, b, n in zip(s.ravel().tolist(), q.ravel().tolist(), steps.ravel(), strict=True)
    ]
    return found + np.reshape(terms, s.shape)


_ZETA = S(
    "each",
    T(data=[[1.5], [2.0], [3.0], [9.5]], grad=False),
    T(data=[0.125, 0.75, 1.0, 8.0, 30.0], grad=False),
).only(*FLOATING)
_ZETA_BELOW = S(
    "negative", T(data=[[2.0], [3.0], [6.0]], grad=False), T(data=[-0.25, -1.25, -6.75], grad=False)
).only(*FLOATING)


def _gamma_samples() -> list[Any]:
    """One for each way: series, fraction, expansion, and the short series of the upper one."""
    return [
        S("series", T(data=[0.5, 2.5, 7.0, 30.0], grad=False), T(data=[0.25, 2.0, 5.0, 12.0])),
        S("fraction", T(data=[0.25, 1.5, 6.0, 24.0], grad=False), T(data=[1.5, 3.0, 9.0, 40.0])),
        S("uniform", T(data=[21.0, 50.0, 200.0], grad=False), T(data=[20.0, 60.0, 180.0])),
        S(
            "small",
            T(data=[0.01, 0.125, 0.75, 0.03], grad=False),
            T(data=[0.5, 1.0, 1.0, 0.01], grad=False),
        ),
        S("broadcast", T(2, 1, of="positive", grad=False), T(3, of="positive")),
        S("empty", T(0, 3, grad=False), T(3)),
        S(
            "ends",
            T(data=[0.0, 0.0, 1.5, 1.5, np.inf, -1.0, 1.5], grad=False),
            T(data=[0.0, 2.0, 0.0, np.inf, 2.0, 1.0, -1.0], grad=False),
        ),
    ]


def _incomplete(name: str, reference: Any) -> Op:
    text = f"\"{name}_cpu\" not implemented for 'Long'"
    errors = [E("integers", NotImplementedError, text, T(3), T(3), dtype=formats.INT64)]
    return Op(
        name,
        reference,
        _gamma_samples(),
        dtypes=FLOATING,
        ulp=64,
        keeps_order=True,
        family="special",
        errors=errors,
    )


def _first_operand(name: str, function: str) -> Op:
    """What may be recorded, but not differentiated: the gradient of the first operand."""

    def call(x: Any, y: Any) -> Any:
        import tensorbus

        found: Any = tensorbus
        for part in name.split("."):
            found = getattr(found, part)
        return found(x.requires_grad_(), y).sum().backward()

    text = f"the derivative for '{function}' is not implemented\\."
    errors = [E("backward", NotImplementedError, text, T(3, of="positive"), T(3, of="positive"))]
    return Op(f"{name}-derivative", np.equal, [], errors=errors, call=call, family="special")


OPS = [
    _wave("bessel_j0", scipy.special.j0),
    _wave("bessel_j1", scipy.special.j1),
    _wave("bessel_y0", scipy.special.y0),
    _wave("bessel_y1", scipy.special.y1),
    _function(
        "special.spherical_bessel_j0",
        _spherical,
        argument="x",
        of="spread",
        gradient=False,
        more=[*_parts((4.0, 20.0)), _ENDS, _NEGATIVE],
    ),
    _function(
        "special.airy_ai",
        _airy,
        argument="x",
        of="spread",
        scale=_at_least(0.125, _airy),
        gradient=False,
        more=[*_parts((-20.0, -6.0), (-6.0, -2.0)), S("far", T(data=[1.5, 2.0, 3.5, 5.0]))],
    ),
    _first_kind("i0", 0, False),
    _first_kind("special.i0e", 0, True),
    _first_kind("special.i1", 1, False),
    _first_kind("special.i1e", 1, True),
    _first_kind("special.modified_bessel_i0", 0, False, gradient=False),
    _first_kind("special.modified_bessel_i1", 1, False, gradient=False),
    _second_kind("modified_bessel_k0", scipy.special.k0),
    _second_kind("modified_bessel_k1", scipy.special.k1),
    _second_kind("scaled_modified_bessel_k0", scipy.special.k0e, argument="x"),
    _second_kind("scaled_modified_bessel_k1", scipy.special.k1e, argument="x"),
    Op(
        "special.zeta",
        in_floats(_zeta),
        [
            S("plain", T(3, 4, of="above one", grad=False), T(4, of="positive")),
            S("scalar", T(of="above one", grad=False), T(of="positive")),
            S("empty", T(0, 3, grad=False), T(3, of="positive")),
            S("number", T(3, 4, of="above one", grad=False), 2),
            S("left-number", 3.5, T(3, 4, of="positive")),
            _ZETA,
            _ZETA_BELOW,
        ],
        dtypes=_ORDERED,
        result="float",
        ulp=8,
        keeps_order=True,
        family="special",
    ),
    _incomplete("igamma", scipy.special.gammainc),
    _incomplete("igammac", scipy.special.gammaincc),
    _first_operand("special.zeta", "zeta"),
    _first_operand("igamma", "igamma: input"),
    _first_operand("igammac", "igammac: input"),
]
