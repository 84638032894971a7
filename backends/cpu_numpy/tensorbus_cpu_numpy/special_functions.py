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
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
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

Step = Callable[[Any, Array, Array, Array], None]
"""``step(special, x, out, scratch)`` of a piece: SciPy's module, and four rows to write to."""


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


def _mended(row: str, single: str | None = None) -> Callable[[Step], Step]:
    """A step for each piece; in float32 SciPy's function *single* alone, where it is named."""

    def decorate(step: Step) -> Step:
        def maker(xp: Any, dtype: dtype) -> Kernel | None:
            special = _special()
            if special is None or dtype.name not in _BOTH:
                return None
            if single and dtype.name in _SINGLE:
                found: Kernel = getattr(special, single)
                return found

            def mended(x: Array, out: Array | None = None) -> Array:
                flat = np.ascontiguousarray(x).reshape(-1)
                made = np.empty_like(flat)
                scratch = np.empty((4, min(flat.size, _PIECE)), flat.dtype)
                for start in range(0, flat.size, _PIECE):
                    piece = flat[start : start + _PIECE]
                    step(special, piece, made[start : start + _PIECE], scratch[:, : piece.size])
                return into(out, made.reshape(x.shape))

            return quiet(mended)

        TABLE.add(row, (FLOAT,), maker)
        return step

    return decorate


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


def _polynomial(t: Array, coefficients: tuple[float, ...]) -> Array:
    """Horner's rule in one array, the highest power first."""
    total = np.full_like(t, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= t
        total += coefficient
    return total


_INNER = (
    -1.3916404409140413e-07, 1.628002129733572e-06, -1.4918046220845441e-05,
    0.00012055139954657011, -0.0008548323981793935, 0.005223977596212891, -0.0268661706435161,
    0.1128379167095059, -0.37612638903183704, 0.1283791670955126,
)  # fmt: skip
"""``erf(x) / x - 1`` in ``x * x``, for x up to 0.6, fitted at Chebyshev's nodes."""


@_mended("erf", "erf")
def _erf(special: Any, x: Array, out: Array, scratch: Array) -> None:
    """SciPy's errors near 0 reach two units in the last place."""
    special.erf(x, out=out)
    places = (np.abs(x, out=scratch[0]) < 0.6).nonzero()[0]
    if places.size:
        few = x[places]
        out[places] = few + few * _polynomial(few * few, _INNER)


_MIDDLE = (
    -3.3034615982166134e-15, -9.913349232656311e-14, 3.0195804593064574e-12, 2.5526449103385473e-11,
    -1.8154950766085977e-09, 7.1500407213950415e-09, 6.852874975521677e-07, -1.0390749486857502e-05,
    -0.00010374017200967489, 0.004517717168163272, -0.05019685742403627, 0.015591787577167872,
)  # fmt: skip
"""``erfc(x) - 0.1875`` in ``10 * x - 9``, for x from 0.8 to 1, fitted at Chebyshev's nodes."""


def _mend_complement(special: Any, x: Array, found: Array, largest: Any) -> None:
    """Put ``erfc(x)`` right where SciPy's is a difference to 1 of few digits, or subnormal."""
    places = ((x > 0.8) & (x < 1.0)).nonzero()[0]
    if places.size:
        t = x[places]
        t *= 10.0
        t -= 9.0
        found[places] = _polynomial(t, _MIDDLE) + 0.1875
    if not largest <= _UNDERFLOWS:
        places = (x > _UNDERFLOWS).nonzero()[0]
        far = np.minimum(x[places], 30.0)
        square = far * far
        root = np.exp(-0.5 * square)
        found[places] = root * special.erfcx(far) * root


@_mended("erfc", "erfc")
def _erfc(special: Any, x: Array, out: Array, scratch: Array) -> None:
    """From 1 on it is a product with ``exp(-x * x)``, whose square is rounded."""
    special.erfc(x, out=out)
    places = (x > 0.8).nonzero()[0]
    if not places.size:
        return
    few, found = x[places], out[places]
    _mend_complement(special, few, found, np.maximum.reduce(few))
    tail, square, lost, rest = scratch[:, : places.size]
    np.maximum(few, 1.0, out=tail)
    np.minimum(tail, 30.0, out=tail)
    np.multiply(tail, tail, out=square)
    _lost(tail, square, lost, rest)
    lost *= found
    found -= lost
    out[places] = found


@_mended("erfcx", "erfcx")
def _erfcx(special: Any, x: Array, out: Array, scratch: Array) -> None:
    """Below -1 it is nearly ``2 * exp(x * x)``, which overflows from -27 on."""
    special.erfcx(x, out=out)
    places = (x < -1.0).nonzero()[0]
    if not places.size:
        return
    tail, square, lost, rest = scratch[:, : places.size]
    np.maximum(x[places], -30.0, out=tail)
    np.multiply(tail, tail, out=square)
    _lost(tail, square, lost, rest)
    lost += 1.0
    out[places] *= lost


@_mended("ndtr", "ndtr")
def _ndtr(special: Any, x: Array, out: Array, scratch: Array) -> None:
    """Half of ``erfc(-x / sqrt(2))``."""
    root = scratch[0]
    np.multiply(x, -_ROOT_HALF, out=root)
    special.erfc(root, out=out)
    places = (root > 0.8).nonzero()[0]
    few, found = root[places], out[places]
    out *= 0.5
    if not places.size:
        return
    _mend_complement(special, few, found, np.maximum.reduce(few))
    tail, square, lost, rest = scratch[:, : places.size]
    np.minimum(x[places], -_TAIL, out=tail)
    np.maximum(tail, -40.0, out=tail)
    _lost_of_half(tail, square, lost, rest)  # of the half, which is wanted, the half
    lost *= -0.25
    lost += 0.5
    out[places] = found * lost


@_mended("log_ndtr", "log_ndtr")
def _log_ndtr(special: Any, x: Array, out: Array, scratch: Array) -> None:
    """Far above 0 it is nearly ``-erfc(x / sqrt(2)) / 2``."""
    special.log_ndtr(x, out=out)
    places = (x > 0.8 * _ROOT_2).nonzero()[0]
    if not places.size:
        return
    few, made = x[places], out[places]
    inner = ((few < _ROOT_2) | (few > _UNDERFLOWS * _ROOT_2)).nonzero()[0]
    if inner.size:
        root = few[inner] * _ROOT_HALF
        found = special.erfc(root)
        _mend_complement(special, root, found, np.inf)
        made[inner] = np.log1p(-0.5 * found)
    tail, square, lost, rest = scratch[:, : places.size]
    np.maximum(few, _TAIL, out=tail)
    np.minimum(tail, 40.0, out=tail)
    _lost_of_half(tail, square, lost, rest)
    lost *= -0.5
    lost += 1.0
    out[places] = made * lost


@_mended("lgamma")
def _lgamma(special: Any, x: Array, out: Array, scratch: Array) -> None:
    """Around 1 and 2, where it is 0, by SciPy's series for complex numbers."""
    from_zero = scratch[0]
    np.abs(np.subtract(x, 1.5, out=from_zero), out=from_zero)
    from_zero -= 0.5
    near = (np.abs(from_zero, out=from_zero) < 0.2).nonzero()[0]
    special.gammaln(x, out=out)
    if not np.minimum.reduce(x) > -np.inf:
        out[x == -np.inf] = np.inf  # SciPy's is -inf
    if near.size and x.itemsize > 4:
        out[near] = special.loggamma(x[near].astype(np.complex128)).real
