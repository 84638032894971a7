"""Derivatives of references by central differences."""

from __future__ import annotations

from collections.abc import Callable

_STENCIL = ((-2.0, 1 / 12), (-1.0, -2 / 3), (1.0, 2 / 3), (2.0, -1 / 12))
"""The first derivative, with an error of the step's fourth power."""
STEP = 1e-3
STEP_TWICE = 4e-3
"""For differences of differences."""


def derivative(f: Callable[[float], float], step: float = STEP) -> float:
    """The slope of *f* at 0."""
    return sum(weight * f(at * step) for at, weight in _STENCIL) / step
