"""Special functions by SciPy's own loops, where SciPy is installed.

They are here where they take less time than the compositions, and their error is as small, at
most one unit in the last place in float32, where they compute in float64; in float64 what SciPy
loses is put right where it is known: the rounding of the squares of which the error functions take
the exponential, and the digits of ``lgamma`` around its zeros at 1 and 2.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import FLOAT

TABLE = Table()

_BOTH, _SINGLE, _DOUBLE = ("float32", "float64"), ("float32",), ("float64",)
_ROOT_2, _ROOT_HALF = math.sqrt(2.0), math.sqrt(0.5)
_TAIL = 1449.0 / 1024.0
"""Just above the root of 2; of its square nothing is lost."""
_UNDERFLOWS = 26.0
"""From here on SciPy's erfc knows no subnormal results."""
_UPPER_HALF = np.int64(-(1 << 27))
_PIECE = 32768
"""Elements whose steps are taken together, in the processor's caches."""


@functools.cache
def _special() -> Any:
    """SciPy's module, or None."""
    try:
        from scipy import special
    except ImportError:
        return None
    return special


def _offer(row: str, name: str, dtypes: tuple[str, ...]) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return getattr(_special(), name, None) if dtype.name in dtypes else None

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
    special = _special()
    if special is None or dtype.name not in _BOTH:
        return None

    def erfinv(x: Array, out: Array | None = None) -> Array:
        return np.copysign(special.erfinv(x), x, out=out)  # SciPy's of -0 is 0

    return erfinv


@dataclass(frozen=True)
class _Mended:
    """SciPy's *function* in float64, some of whose results are put right."""

    function: str
    wrong: Callable[[Array], Array] | None = None
    """Where SciPy's results are to be put right."""
    right: Callable[[Array, Array, Array], None] | None = None
    """``right(x, found, scratch)`` puts right what was found of these; four rows to write to."""
    lost: Callable[[Array], Array] | None = None
    """Where *right* isn't enough."""
    anew: Callable[[Any, Array], Array] | None = None
    """``anew(special, x)`` computes these; all that is wrong where there is no *right*."""
    inner: Callable[[Array, Array], None] | None = None
    """``inner(x, out)`` computes what is nearer to 0 than *bound*: SciPy isn't asked for it."""
    bound: float = 1.0

    def kernel(self, special: Any) -> Kernel:
        def mended(x: Array, out: Array | None = None) -> Array:
            flat = np.ascontiguousarray(x).reshape(-1)
            made = np.empty_like(flat)
            scratch = np.empty((4, min(flat.size, _PIECE)), flat.dtype)
            for start in range(0, flat.size, _PIECE):
                stop = start + _PIECE
                if self.inner is None:
                    self._by_scipy(special, flat[start:stop], made[start:stop], scratch)
                else:
                    self._by_parts(special, flat[start:stop], made[start:stop], scratch)
            return into(out, made.reshape(x.shape))

        return quiet(mended)

    def _by_parts(self, special: Any, x: Array, found: Array, scratch: Array) -> None:
        """Arithmetic of whole arrays takes less time than SciPy's loop, which branches."""
        assert self.inner is not None
        inside = np.abs(x, out=scratch[0, : x.size]) < self.bound
        outer = (~inside).nonzero()[0]
        if 2 * outer.size <= x.size:
            self.inner(x, found)
        elif outer.size < x.size:
            places = inside.nonzero()[0]
            values = np.empty(places.size)
            self.inner(x[places], values)
            found[places] = values
        else:
            self._by_scipy(special, x, found, scratch)
            return
        if outer.size:
            values = np.empty(outer.size)
            self._by_scipy(special, x[outer], values, scratch)
            found[outer] = values

    def _by_scipy(self, special: Any, x: Array, found: Array, scratch: Array) -> None:
        getattr(special, self.function)(x, out=found)
        if self.wrong is None:
            return
        places = self.wrong(x).nonzero()[0]
        if self.right is not None and places.size:
            few, values = x[places], found[places]
            self.right(few, values, scratch[:, : few.size])
            found[places] = values
            if self.lost is None:
                return
            places = places[self.lost(few).nonzero()[0]]
        if self.anew is not None and places.size:
            found[places] = self.anew(special, x[places])


def _offer_mended(row: str, mended: _Mended) -> None:
    """Offer it as *row* in float64, and in float32 SciPy's function alone."""

    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        special = _special()
        if special is None or dtype.name not in _BOTH:
            return None
        if dtype.name in _SINGLE:
            found: Kernel = getattr(special, mended.function)
            return found
        return mended.kernel(special)

    TABLE.add(row, (FLOAT,), maker)


def _lost(x: Array, square: Array, high: Array, both: Array) -> None:
    """Write ``x * x - square`` into *high*, by halves of x whose products are exact.

    Spoils *x* and *both*.
    """
    np.bitwise_and(x.view(np.int64), _UPPER_HALF, out=high.view(np.int64))
    np.add(x, high, out=both)
    x -= high
    x *= both
    high *= high
    high -= square
    high += x


def _lost_of_half(x: Array, square: Array, lost: Array, both: Array) -> None:
    """Write ``x * x`` less its value by way of ``x / sqrt(2)`` into *lost*; spoils the others."""
    np.multiply(x, _ROOT_HALF, out=square)
    square *= square
    square *= 2.0
    _lost(x, square, lost, both)


def _polynomial(t: Array, coefficients: tuple[float, ...], out: Array | None = None) -> Array:
    """Horner's rule in one array, the highest power first."""
    total = np.multiply(t, coefficients[0], out=out)
    total += coefficients[1]
    for coefficient in coefficients[2:]:
        total *= t
        total += coefficient
    return total


_INNER = (
    -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07,
    1.6447424703317362e-06, -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692,
    0.0052239776071164225, -0.02686617064323777, 0.11283791670945006, -0.37612638903183543,
    0.12837916709551256,
)  # fmt: skip
"""``erf(x) / x - 1`` in ``x * x``, for x up to 1, fitted at Chebyshev's nodes."""


def _erf_inner(x: Array, out: Array) -> None:
    _polynomial(x * x, _INNER, out)
    out *= x
    out += x


def _erfc_inner(x: Array, out: Array) -> None:
    """Of ``1 - erf(x)`` two halves, of which each difference keeps its digits."""
    _polynomial(x * x, _INNER, out)
    out *= x
    out += x - 0.5
    np.subtract(0.5, out, out=out)


_offer_mended("erf", _Mended("erf", inner=_erf_inner))


def _far_erfc(special: Any, x: Array) -> Array:
    """``erfc(x)`` where it may be subnormal, without what the square loses."""
    far = np.minimum(x, 30.0)
    root = np.exp(-0.5 * (far * far))
    return root * special.erfcx(far) * root


def _erfc_right(x: Array, found: Array, scratch: Array) -> None:
    """From 1 on it is a product with ``exp(-x * x)``, whose square is rounded."""
    tail, square, lost, rest = scratch
    np.maximum(x, 1.0, out=tail)
    np.multiply(tail, tail, out=square)
    _lost(tail, square, lost, rest)
    lost *= found
    found -= lost


def _erfc_anew(special: Any, x: Array) -> Array:
    found = _far_erfc(special, x)
    _erfc_right(np.minimum(x, 30.0), found, np.empty((4, x.size), x.dtype))
    return found


_offer_mended(
    "erfc",
    _Mended(
        "erfc",
        lambda x: x > 1.0,
        _erfc_right,
        lambda x: x > _UNDERFLOWS,
        _erfc_anew,
        _erfc_inner,
    ),
)


def _erfcx_right(x: Array, found: Array, scratch: Array) -> None:
    """Below -1 it is nearly ``2 * exp(x * x)``, which overflows from -27 on."""
    tail, square, lost, rest = scratch
    np.minimum(x, -1.0, out=tail)
    np.maximum(tail, -30.0, out=tail)
    np.multiply(tail, tail, out=square)
    _lost(tail, square, lost, rest)
    lost += 1.0
    found *= lost


_offer_mended("erfcx", _Mended("erfcx", lambda x: x < -1.0, _erfcx_right))


def _right_by_half(found: Array, scratch: Array) -> None:
    """Put right products with ``exp(-x * x / 2)``, of x in the first row, which it spoils."""
    tail, square, lost, rest = scratch
    _lost_of_half(tail, square, lost, rest)
    lost *= -0.5
    lost += 1.0
    found *= lost


_INNER_NDTR = (
    -1.345833233890983e-13, 4.737085292648261e-12, -1.1192508602593551e-10, 2.271501082181806e-09,
    -4.122415107289681e-08, 6.659672481574838e-07, -9.444655101548686e-06, 0.00011543468721120926,
    -0.0011873282153967736, 0.009973557010026873, -0.06649038006690507, 0.14894228040143268,
)  # fmt: skip
"""``(ndtr(x) - 0.5) / x - 0.25`` in ``x * x``, for it up to 2, fitted at Chebyshev's nodes."""


def _ndtr_inner(x: Array, out: Array) -> None:
    _polynomial(x * x, _INNER_NDTR, out)
    out *= x
    half = np.multiply(x, 0.25)
    half += 0.5
    out += half


def _ndtr_right(x: Array, found: Array, scratch: Array) -> None:
    """It is half of ``erfc(-x / sqrt(2))``."""
    np.minimum(x, -_TAIL, out=scratch[0])
    _right_by_half(found, scratch)


def _ndtr_anew(special: Any, x: Array) -> Array:
    tail, square, lost, rest = np.empty((4, x.size), x.dtype)
    np.minimum(x, -_TAIL, out=tail)
    np.maximum(tail, -40.0, out=tail)
    _lost_of_half(tail, square, lost, rest)
    return _far_erfc(special, x * -_ROOT_HALF) * (0.5 - 0.25 * lost)


_offer_mended(
    "ndtr",
    _Mended(
        "ndtr",
        lambda x: x < -_ROOT_2,
        _ndtr_right,
        lambda x: x < -_UNDERFLOWS * _ROOT_2,
        _ndtr_anew,
        _ndtr_inner,
        _ROOT_2,
    ),
)


def _log_ndtr_right(x: Array, found: Array, scratch: Array) -> None:
    """Far above 0 it is nearly ``-erfc(x / sqrt(2)) / 2``."""
    np.maximum(x, _TAIL, out=scratch[0])
    _right_by_half(found, scratch)


def _log_ndtr_anew(special: Any, x: Array) -> Array:
    """SciPy's is the logarithm of a difference to 1 up to the root of 2, and subnormal far out."""
    found = np.empty_like(x)
    _ndtr_inner(np.negative(x), found)
    found = np.log1p(-found)
    places = (x > 2.0).nonzero()[0]
    if places.size:
        far = x[places]
        tail = -0.5 * _far_erfc(special, far * _ROOT_HALF)
        _log_ndtr_right(np.minimum(far, 40.0), tail, np.empty((4, far.size), x.dtype))
        found[places] = tail
    return found


_offer_mended(
    "log_ndtr",
    _Mended(
        "log_ndtr",
        lambda x: x > 0.8 * _ROOT_2,
        _log_ndtr_right,
        lambda x: (x < _ROOT_2) | (x > _UNDERFLOWS * _ROOT_2),
        _log_ndtr_anew,
    ),
)


def _near_a_zero(x: Array) -> Array:
    """Around 1 and 2."""
    from_zero = np.abs(x - 1.5)
    from_zero -= 0.5
    return np.abs(from_zero, out=from_zero) < 0.2


@TABLE.row("lgamma", FLOAT)
def _lgamma(xp: Any, dtype: dtype) -> Kernel | None:
    special = _special()
    if special is None or dtype.name not in _BOTH:
        return None
    mended = _Mended("gammaln", _near_a_zero, anew=_lgamma_anew).kernel(special)
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
        special = _special()
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
