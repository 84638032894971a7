"""Window functions: what a stretch of a signal is weighted with before a Fourier transform.

The formulas are computed in the device's widest dtype from a vector of places. ``hann_window``
and the like are here; those of ``torch.signal.windows`` use the same formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._dispatch.kinds import Kind
from tensorbus.op_engine.arguments import whole_number
from tensorbus.op_engine.options import Options, factory

Formula = Callable[[Any, Any, int], Any]
"""The values at the places 0, 1, ... of a window whose last place is the number."""

BLACKMAN = (0.42, 0.5, 0.08)
NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def values(kind: Kind, n: int, whole: bool, formula: Formula) -> Any:
    """An array of *kind* with *n* values: of the *whole* window, else of a period of it."""
    if n < 2:
        return kind.full((n,), 1)
    has_double = dtypes.float64 in kind.known_dtypes
    wide = kind.of(dtypes.float64 if has_double else dtypes.float32)
    found = formula(wide, wide.arange(n, 0.0, 1.0), n - 1 if whole else n)
    return found if wide is kind else kind.cast(found, wide)


def cosines(weights: Sequence[float]) -> Formula:
    """The alternating sum of cosines with such weights."""

    def formula(F: Any, places: Any, last: int) -> Any:
        total = F.full(places.shape, weights[0])
        for k, weight in enumerate(weights[1:], 1):
            wave = F.cos(F.mul(places, 2.0 * math.pi * k / last))
            total = F.add(total, F.mul(wave, weight if k % 2 == 0 else -weight))
        return total

    return formula


def triangle(F: Any, places: Any, last: int) -> Any:
    """1 in the middle, 0 at the ends."""
    return F.sub(F.number(1.0), F.abs(F.sub(F.mul(places, 2.0 / last), 1.0)))


def bump(beta: float) -> Formula:
    """Kaiser's window, by the modified Bessel function."""

    def formula(F: Any, places: Any, last: int) -> Any:
        place = F.sub(F.mul(places, 2.0 / last), 1.0)
        rest = F.mul(F.sub(F.number(1.0), place), F.add(place, 1.0))
        ends = F.full((1,), beta)
        # Both scaled, and what was scaled away: neither overflows for a large beta.
        inner = F.mul(F.sqrt(F.maximum(rest, 0.0)), beta)
        ratio = F.div(F.i0e(inner), F.expand(F.i0e(ends), tuple(places.shape)))
        return F.mul(ratio, F.exp(F.sub(inner, beta)))

    return formula


def _window(name: str, window_length: Any, options: Options) -> tuple[Kind, int]:
    """The kind and the length; RuntimeError for lengths below 0 and dtypes without fractions."""
    n = whole_number(name, "window_length", 1, window_length)
    kind = options.kind()
    if kind.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {scalar_name(kind.dtype)}")
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    if kind.dtype.is_complex:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_name(kind.dtype)}'")
    return kind, n


@factory()
def hann_window(window_length: int, periodic: bool = True, *, options: Options) -> Any:
    """Hann's window: a raised cosine that is 0 at the ends.

    A *periodic* window is that of one place more without its last value, for spectra.
    RuntimeError for a negative length, and for a dtype without fractions.
    """
    kind, n = _window("hann_window", window_length, options)
    return values(kind, n, not periodic, cosines((0.5, 0.5)))


@factory()
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    options: Options,
) -> Any:
    """Hamming's window: ``alpha - beta * cos(2 * pi * n / N)``.

    A *periodic* window is that of one place more without its last value, for spectra.
    RuntimeError for a negative length, and for a dtype without fractions.
    """
    kind, n = _window("hamming_window", window_length, options)
    return values(kind, n, not periodic, cosines((float(alpha), float(beta))))


@factory()
def bartlett_window(window_length: int, periodic: bool = True, *, options: Options) -> Any:
    """Bartlett's window: a triangle that is 0 at the ends.

    A *periodic* window is that of one place more without its last value, for spectra.
    RuntimeError for a negative length, and for a dtype without fractions.
    """
    kind, n = _window("bartlett_window", window_length, options)
    return values(kind, n, not periodic, triangle)


@factory()
def blackman_window(window_length: int, periodic: bool = True, *, options: Options) -> Any:
    """Blackman's window: a sum of two cosines.

    A *periodic* window is that of one place more without its last value, for spectra.
    RuntimeError for a negative length, and for a dtype without fractions.
    """
    kind, n = _window("blackman_window", window_length, options)
    return values(kind, n, not periodic, cosines(BLACKMAN))


@factory()
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, options: Options
) -> Any:
    """Kaiser's window of the shape *beta*: the larger, the narrower.

    A *periodic* window is that of one place more without its last value, for spectra.
    RuntimeError for a negative length, and for a dtype without fractions.
    """
    kind, n = _window("kaiser_window", window_length, options)
    return values(kind, n, not periodic, bump(float(beta)))
