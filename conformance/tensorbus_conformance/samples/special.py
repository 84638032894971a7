"""Special functions of mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import binary, in_floats, unary
from tensorbus_conformance.op import ANY, BOOL, FLOATING, REAL, E, Op, S, T

_ORDERED = (*REAL, *BOOL)


def _function(name: str, reference: Callable[..., Any], **fields: Any) -> Op:
    """A function whose result is floating point for every dtype, and not for complex numbers."""
    text = f"\"{name}\" not implemented for 'ComplexFloat'"
    errors = [E("complex", NotImplementedError, text, T(3), dtype=formats.COMPLEX64)]
    return unary(
        name,
        reference,
        dtypes=fields.pop("dtypes", _ORDERED),
        result="float",
        family="special",
        errors=fields.pop("errors", errors),
        **fields,
    )


def _special(name: str, reference: Callable[..., Any], **fields: Any) -> Op:
    """A function of ``torch.special`` alone."""
    text = f"\"{name}\" not implemented for 'ComplexFloat'"
    errors = [E("complex", NotImplementedError, text, T(3), dtype=formats.COMPLEX64)]
    return _function(f"special.{name}", reference, errors=errors, **fields)


def _ndtr(x: Any) -> Any:
    """SciPy's loses digits in the tail: the square in its exponent is rounded."""
    square = np.asarray(x, np.longdouble) ** 2
    with np.errstate(invalid="ignore"):
        tail = np.exp(-square / 2) * scipy.special.erfcx(np.abs(x) / np.sqrt(2)) / 2
    tail = np.where(np.isinf(x), 0.0, tail).astype(np.float64)
    return np.where(np.less(x, 0), tail, 1 - tail)


_AT_0 = [S("at-0", T(data=[0.0, -0.0, -1.0, np.inf, np.nan], grad=False)).only(*FLOATING)]
_ENDS = [
    S("tail", T(3, 4, of=(-5.0, -2.0))).only(*FLOATING),
    S("ends", T(data=[-np.inf, np.inf, np.nan], grad=False)).only(*FLOATING),
]
_erfc = np.vectorize(math.erfc, otypes=[np.float64])
"""SciPy's own loses digits in the tail."""


def _lgamma(x: Any) -> Any:
    return np.where(x == -np.inf, np.inf, scipy.special.gammaln(x))


def _polygamma(n: int, x: Any) -> Any:
    """SciPy's; below 0 by the recurrence, which leads to where that is defined."""
    x = np.asarray(x, np.float64)
    steps = range(40)
    terms = [
        [(-1.0) ** n * math.factorial(n) / (v + k) ** (n + 1) for k in steps] if v < 0 else [0.0]
        for v in x.reshape(-1).tolist()
    ]
    beyond = scipy.special.polygamma(n, np.where(x < 0, x + len(steps), x))
    return beyond - np.reshape([math.fsum(t) for t in terms], x.shape)


def _logit(x: Any, eps: float | None = None) -> Any:
    return scipy.special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


def _multigamma(x: Any, p: int) -> Any:
    total = p * (p - 1) / 4 * np.log(np.pi)
    return total + sum(_lgamma(x - i / 2) for i in range(p))


def _at_least_1(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The result's magnitude, 1 where it is smaller: for functions that cross 0."""
    return lambda *args, **options: np.maximum(np.abs(in_floats(reference)(*args, **options)), 1.0)


OPS = [
    _function("erf", scipy.special.erf, ulp=3),
    _function("erfc", _erfc, ulp=4),
    _function("erfinv", scipy.special.erfinv, of="unit", ulp=4),
    _function(
        "lgamma",
        _lgamma,
        of="positive",
        ulp=4,
        scale=_at_least_1(_lgamma),
        more=[S("negative", T(3, 4, of=(-4.9, -4.1), grad=False)).only(*FLOATING)],
    ),
    _function(
        "digamma",
        scipy.special.digamma,
        of="positive",
        ulp=4,
        wide=False,
        scale=lambda x: 3 * _at_least_1(scipy.special.digamma)(x),  # as large are its terms
        more=[
            S("negative", T(3, 4, of=(-4.9, -4.1), grad=False)).only(*FLOATING),
            S("poles", T(data=[0.0, -0.0, -1.0, -3.0, np.inf, np.nan], grad=False)).only(*FLOATING),
        ],
    ),
    Op(
        "polygamma",
        in_floats(_polygamma),
        [
            S("trigamma", 1, T(3, 4, of="positive")),
            S("digamma", 0, T(3, 4, of="positive")),
            S("second", 2, T(3, 4, of="above one")),
            S("crossing", 0, T(data=[1.25, 1.4375, 1.5, 1.75])),
            S("pole", 1, T(data=[0.0, np.inf, np.nan], grad=False)).only(*FLOATING),
            S("fifth", 5, T(3, 4, of="above one")),
            S("negative", 1, T(data=[-0.5, -1.5, -2.5, -10.5])).only(*FLOATING),
            *(
                S(f"negative-{n}", n, T(data=[-0.75, -1.25, -10.1875, -20.375], grad=False)).only(
                    *FLOATING
                )
                for n in (1, 2, 3, 6)
            ),
            S("scalar", 1, T(of="positive")),
            S("empty", 1, T(0, 3)),
        ],
        dtypes=_ORDERED,
        result="float",
        ulp=4,
        scale=_at_least_1(_polygamma),
        keeps_order=True,
        family="special",
        errors=[
            E(
                "negative",
                RuntimeError,
                r"polygamma\(n, x\) does not support negative n\.",
                -1,
                T(3),
            )
        ],
    ),
    Op(
        "Tensor.polygamma",
        lambda x, n: _polygamma(n, x),
        [S("method", T(3, 4, of="positive"), 1)],
        ulp=4,
        keeps_order=True,
        family="special",
    ),
    Op(
        "Tensor.polygamma_",
        lambda x, n: _polygamma(n, x),
        [S("in-place", T(3, 4, of="positive"), 1)],
        ulp=4,
        keeps_order=True,
        family="special",
        call=lambda x, n: x.clone().polygamma_(n),
    ),
    _function(
        "sinc",
        np.sinc,
        dtypes=ANY,
        ulp=4,
        wide=False,
        scale=_at_least_1(np.sinc),
        more=[S("whole", T(data=[0, 1, 2, 3]))],
        errors=[],
    ),
    _function(
        "logit",
        _logit,
        of=(0.3, 0.8),
        ulp=4,
        scale=_at_least_1(_logit),
        dtypes=_ORDERED,
        more=[
            S("eps", T(data=[[0.05, 0.3, 0.5], [0.7, 0.95, 0.4]]), 0.2).only(*FLOATING),
            S("eps-keyword", T(3, 4, of=(-0.5, 1.5), grad=False), eps=0.125).only(*FLOATING),
        ],
    ),
    Op(
        "mvlgamma",
        in_floats(_multigamma),
        [
            S("two", T(3, 4, of=(3.0, 6.0)), 2),
            S("one", T(3, 4, of=(3.0, 6.0)), p=1),
            S("four", T(3, 4, of=(3.0, 6.0)), 4),
            S("scalar", T(of=(3.0, 6.0)), 3),
            S("empty", T(0, 3), 2),
        ],
        dtypes=REAL,
        result="float",
        ulp=6,
        scale=lambda x, p: np.abs(_multigamma(x, p)) + p * (p + 3),
        keeps_order=True,
        family="special",
        errors=[E("p", RuntimeError, "p has to be greater than or equal to 1", T(3), 0)],
    ),
    _special("entr", scipy.special.entr, of="positive", ulp=4, more=_AT_0),
    _special(
        "erfcx",
        scipy.special.erfcx,
        ulp=6,
        wide=False,
        more=[
            S("far", T(3, 4, of=(20.0, 1e4))).only(*FLOATING),
            S("ends", T(data=[-np.inf, np.inf, np.nan], grad=False)).only(*FLOATING),
        ],
    ),
    _special("ndtr", _ndtr, ulp=6, wide=False, more=_ENDS),
    _special("log_ndtr", scipy.special.log_ndtr, ulp=6, wide=False, more=_ENDS),
    _special(
        "ndtri",
        scipy.special.ndtri,
        of=(0.25, 0.45),
        ulp=6,
        wide=False,
        more=[
            S("upper", T(3, 4, of=(0.6, 0.75))).only(*FLOATING),
            S("one", T(1, of=(0.6, 0.75))).only(*FLOATING),
            S("ends", T(data=[0.0, 1.0, 0.5, -0.5, 1.5, np.nan], grad=False)).only(*FLOATING),
        ],
    ),
    *(
        binary(
            name,
            reference,
            other="positive",
            dtypes=_ORDERED,
            result="float",
            ulp=4,
            promotes=True,
            family="special",
        )
        for name, reference in (
            ("special.xlog1py", scipy.special.xlog1py),
            ("xlogy", scipy.special.xlogy),
        )
    ),
]
