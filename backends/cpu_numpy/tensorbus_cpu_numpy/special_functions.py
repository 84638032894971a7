"""Special functions by SciPy's own loops, where SciPy is installed.

They are here where they take less time than the compositions, and their error is as small, at
most one unit in the last place in float32, where they compute in float64; in float64 the digits
that ``lgamma`` loses around its zeros at 1 and 2 are put right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import scipy_special
from tensorbus_cpu_numpy.scipy_special import Mended

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


def _near_a_zero(x: Array) -> Array:
    """Around 1 and 2."""
    from_zero = np.abs(x - 1.5)
    from_zero -= 0.5
    return np.abs(from_zero, out=from_zero) < 0.2


@TABLE.row("lgamma", FLOAT)
def _lgamma(xp: Any, dtype: dtype) -> Kernel | None:
    special = scipy_special.module()
    if special is None or dtype.name not in _BOTH:
        return None
    mended = Mended("gammaln", _near_a_zero, anew=_lgamma_anew).kernel(special)
    single = dtype.name in _SINGLE

    def lgamma(x: Array, out: Array | None = None) -> Array:
        found = special.gammaln(x) if single else mended(x)
        if not np.minimum.reduce(x, None, initial=np.inf) > -np.inf:
            found = np.where(x == -np.inf, np.inf, found)  # SciPy's is -inf
        return into(out, found)

    return quiet(lgamma)


def _lgamma_anew(special: Any, x: Array) -> Array:
    """By SciPy's series for complex numbers."""
    return special.loggamma(x.astype(np.complex128)).real


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
