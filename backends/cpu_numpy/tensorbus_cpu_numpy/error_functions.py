"""The error functions by SciPy's loops and by polynomials, where SciPy is installed.

In float32 they are SciPy's, which computes in float64. In float64 what SciPy loses is put right:
the rounding of the squares of which they take the exponential.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import scipy_special
from tensorbus_cpu_numpy.scipy_special import Mended

TABLE = Table()

_ROOT_2, _ROOT_HALF = math.sqrt(2.0), math.sqrt(0.5)
_UNDERFLOWS = 26.0
"""From here on SciPy's erfc knows no subnormal results."""
_UPPER_HALF = np.int64(-(1 << 27))


def _offer(row: str, mended: Mended) -> None:
    """Offer it as *row* in float64, and in float32 SciPy's function alone."""

    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        special = scipy_special.module()
        if special is None:
            return None
        if dtype.name == "float32":
            found: Kernel = getattr(special, mended.function)
            return found
        return mended.kernel(special) if dtype.name == "float64" else None

    TABLE.add(row, (FLOAT,), maker)


def _lost(x: Array, scratch: Array, by_half: bool = False) -> Array:
    """What the rounded square of x lacks, in the first of three rows of *scratch*.

    *by_half*: as SciPy rounds it by way of ``x / sqrt(2)``. The halves of x have exact products.
    """
    high, low, other = scratch
    np.bitwise_and(x.view(np.int64), _UPPER_HALF, out=high.view(np.int64))
    np.subtract(x, high, out=low)
    np.add(x, high, out=other)
    low *= other
    if by_half:
        np.multiply(x, _ROOT_HALF, out=other)
        other *= other
        other *= 2.0
    else:
        np.multiply(x, x, out=other)
    high *= high
    high -= other
    high += low
    return high


def _odd(x: Array, coefficients: tuple[float, ...], out: Array) -> None:
    """Write x times a polynomial in ``x * x`` into *out*; the highest power comes first."""
    square = x * x
    np.multiply(square, coefficients[0], out=out)
    out += coefficients[1]
    for coefficient in coefficients[2:]:
        out *= square
        out += coefficient
    out *= x


_INNER = (
    -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07,
    1.6447424703317362e-06, -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692,
    0.0052239776071164225, -0.02686617064323777, 0.11283791670945006, -0.37612638903183543,
    0.12837916709551256,
)  # fmt: skip
"""``erf(x) / x - 1`` in ``x * x``, for x up to 1, fitted at Chebyshev's nodes."""


def _erf_inner(x: Array, out: Array) -> None:
    _odd(x, _INNER, out)
    out += x


def _erfc_inner(x: Array, out: Array) -> None:
    """Of ``1 - erf(x)`` two halves, of which each difference keeps its digits."""
    _odd(x, _INNER, out)
    out += x - 0.5
    np.subtract(0.5, out, out=out)


_offer("erf", Mended("erf", inner=_erf_inner))


def _far_erfc(special: Any, x: Array) -> Array:
    """``erfc(x)`` where it may be subnormal, without what the square loses."""
    far = np.minimum(x, 30.0)
    root = np.exp(-0.5 * (far * far))
    return root * special.erfcx(far) * root


def _erfc_right(x: Array, found: Array, scratch: Array) -> None:
    """From 1 on it is a product with ``exp(-x * x)``, whose square is rounded."""
    lost = _lost(x, scratch)
    lost *= found
    found -= lost


def _erfc_anew(special: Any, x: Array) -> Array:
    found = _far_erfc(special, x)
    _erfc_right(np.minimum(x, 30.0), found, np.empty((3, x.size), x.dtype))
    return found


_offer(
    "erfc",
    Mended(
        "erfc",
        lambda x: x >= 1.0,
        _erfc_right,
        lambda x: x > _UNDERFLOWS,
        _erfc_anew,
        _erfc_inner,
    ),
)


def _erfcx_right(x: Array, found: Array, scratch: Array) -> None:
    """Below -1 it is nearly ``2 * exp(x * x)``, which overflows from -27 on."""
    lost = _lost(np.maximum(x, -30.0), scratch)
    lost += 1.0
    found *= lost


_offer("erfcx", Mended("erfcx", lambda x: x < -1.0, _erfcx_right))


def _right_by_half(x: Array, found: Array, scratch: Array) -> None:
    """Put right products with ``exp(-x * x / 2)``, as both tails of ``ndtr`` are."""
    lost = _lost(x, scratch, by_half=True)
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
    _odd(x, _INNER_NDTR, out)
    half = np.multiply(x, 0.25)
    half += 0.5
    out += half


def _ndtr_anew(special: Any, x: Array) -> Array:
    found = 0.5 * _far_erfc(special, x * -_ROOT_HALF)
    _right_by_half(np.maximum(x, -40.0), found, np.empty((3, x.size), x.dtype))
    return found


_offer(
    "ndtr",
    Mended(
        "ndtr",
        lambda x: x <= -_ROOT_2,
        _right_by_half,
        lambda x: x < -_UNDERFLOWS * _ROOT_2,
        _ndtr_anew,
        _ndtr_inner,
        _ROOT_2,
    ),
)


def _log_ndtr_anew(special: Any, x: Array) -> Array:
    """SciPy's is the logarithm of a difference to 1 up to the root of 2, and subnormal far out."""
    found = np.empty_like(x)
    _ndtr_inner(np.negative(x), found)
    found = np.log1p(-found)
    places = (x > 2.0).nonzero()[0]
    if places.size:
        far = x[places]
        tail = -0.5 * _far_erfc(special, far * _ROOT_HALF)
        _right_by_half(np.minimum(far, 40.0), tail, np.empty((3, far.size), x.dtype))
        found[places] = tail
    return found


_offer(
    "log_ndtr",
    Mended(
        "log_ndtr",
        lambda x: x > 0.8 * _ROOT_2,
        _right_by_half,
        lambda x: (x < _ROOT_2) | (x > _UNDERFLOWS * _ROOT_2),
        _log_ndtr_anew,
    ),
)
