"""Special functions by SciPy's own loops, where SciPy is installed.

They are here where they take less time than the compositions, and their error is as small, at
most one unit in the last place in float32, where they compute in float64; in float64 the digits
that ``lgamma`` loses around its zeros at 1 and 2 are put right.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import scipy_special
from tensorbus_cpu_numpy.error_functions import polynomial
from tensorbus_cpu_numpy.loops import by_pieces

TABLE = Table()

_BOTH, _SINGLE, _DOUBLE = ("float32", "float64"), ("float32",), ("float64",)


def _offer(row: str, name: str, dtypes: tuple[str, ...]) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return getattr(scipy_special.module(), name, None) if dtype.name in dtypes else None

    TABLE.add(row, (FLOAT,), maker)


_offer("digamma", "psi", _BOTH)
_offer("ndtri", "ndtri", _BOTH)
_offer("igamma", "gammainc", _SINGLE)
_offer("igammac", "gammaincc", _SINGLE)
_offer("xlog1py", "xlog1py", _BOTH)
_offer("logit", "logit", _BOTH)
_offer("entr", "entr", _DOUBLE)


@TABLE.row("erfinv", FLOAT)
def _erfinv(xp: Any, dtype: dtype) -> Kernel | None:
    special = scipy_special.module()
    if special is None or dtype.name not in _BOTH:
        return None

    def erfinv(x: Array, out: Array | None = None) -> Array:
        return np.copysign(special.erfinv(x), x, out=out)  # SciPy's of -0 is 0

    return erfinv


_NEAR = 0.2
_ZEROS = {
    1.0: (
        0.07220390321649482, -0.07693712763900203, 0.07078431967822728, -0.07624619925408005,
        0.08337609386451451, -0.09097756174122687, 0.10009903703435011, -0.11133382101190505,
        0.12550967382601147, -0.14404990131937975, 0.16955717697584174, -0.2073855510058581,
        0.27058080842782567, -0.40068563438657495, 0.8224670334241132, -0.5772156649015329,
    ),
    2.0: (
        4.511148788579661e-06, -9.730405734284015e-06, 2.0499670957157856e-05,
        -4.4910138192464025e-05, 9.945771907486987e-05, -0.00022315519879068465,
        0.0005096695218502316, -0.00119275390552857, 0.0028905103307608265, -0.007385551028715188,
        0.0205808084277845, -0.06735230105319799, 0.3224670334241132, 0.42278433509846713,
    ),
}  # fmt: skip
"""Of each zero ``lgamma(x) / (x - zero)`` in ``x - zero``, as far away as *_NEAR*.

The highest power comes first. Fitted at Chebyshev's nodes, with relative errors up to 3e-17.
"""


def _lgamma_of_piece(gammaln: Callable[..., Any], x: Array, out: Array, scratch: Array) -> None:
    """By SciPy, which loses digits around zeros."""
    gammaln(x, out=out)
    for zero, coefficients in _ZEROS.items():
        from_zero = np.subtract(x, zero, out=scratch)
        places = (np.abs(from_zero) < _NEAR).nonzero()[0]
        if places.size:
            few, found = from_zero.take(places), np.empty(places.size)
            polynomial(few, coefficients, found)
            found *= few
            out[places] = found


@TABLE.row("lgamma", FLOAT)
def _lgamma(xp: Any, dtype: dtype) -> Kernel | None:
    special = scipy_special.module()
    if special is None or dtype.name not in _BOTH:
        return None
    single = dtype.name in _SINGLE
    double = by_pieces(functools.partial(_lgamma_of_piece, special.gammaln))

    def lgamma(x: Array, out: Array | None = None) -> Array:
        found = special.gammaln(x) if single else double(x)
        if not np.minimum.reduce(x, None, initial=np.inf) > -np.inf:
            found = np.where(x == -np.inf, np.inf, found)  # SciPy's is -inf
        return into(out, found)

    return quiet(lgamma)


_USUAL = 1e6
"""Up to here a float32 next to a zero of a Bessel function is put right by one step."""


def _offer_second_kind(
    row: str, name: str, turn: float, less: float, slope: Callable[[Any, Array], Array]
) -> None:
    """In float32: SciPy's wave is of x less its *turn*, a difference that it rounds.

    Only next to zeros is that seen in float32. *less* is what the turn lacks.
    """

    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        special = scipy_special.module()
        if special is None or dtype.name not in _SINGLE:
            return None
        function = getattr(special, name)

        @may_decline
        def bessel(x: Array, out: Array | None = None) -> Array:
            if not np.maximum.reduce(x, None, initial=0.0) <= _USUAL:
                return NotImplemented
            made = np.asarray(function(x))
            near = np.abs(made) < 1e-5
            if near.any():
                few = x[near].astype(np.float64)
                lost = few - (few - turn) - turn - less
                made[near] = function(few) + lost * slope(special, few)
            return into(out, made)

        return bessel

    TABLE.add(row, (FLOAT,), maker)


_offer_second_kind(
    "bessel_y0", "y0", 0.7853981633974483, 3.061616997868383e-17, lambda sp, x: -sp.y1(x)
)
_offer_second_kind(
    "bessel_y1",
    "y1",
    2.356194490192345,
    9.184850993605148e-17,
    lambda sp, x: sp.y0(x) - sp.y1(x) / x,
)
