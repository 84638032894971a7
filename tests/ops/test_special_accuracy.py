"""Special functions to the last digits: values of 20 digits, computed with mpmath and recorded.

Each is measured in units of its last place, by the kernel of the cpu and by the composition that
serves devices without one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.rows.registry import ROWS

VALUES: dict[str, list[list[Any]]] = json.loads(
    Path(__file__).with_name("special_values.json").read_text("utf-8")
)
"""Of each function operands, which float32 has exactly, and its value."""

ROW_NAMES = {"gammaln": "lgamma", "gammainc": "igamma", "gammaincc": "igammac"}
DOUBLE = {
    "airy_ai": 60, "bessel_j0": 70, "bessel_j1": 30, "bessel_y0": 170, "bessel_y1": 110,
    "digamma": 120, "gammainc": 480, "gammaincc": 270, "gammaln": 210,
}  # fmt: skip
"""The largest errors in float64 beyond 6 units: near zeros, and where the terms are large."""
COMPOSED = {"digamma": 6e4}
"""Those of a composition without a kernel."""


def units(found: np.ndarray, values: list[str]) -> float:
    """The largest error in units of the last place."""
    info = np.finfo(found.dtype)
    worst = 0.0
    for x, text in zip(found.tolist(), values, strict=True):
        exact = Decimal(text)
        unit = Decimal(2) ** (math.frexp(float(exact))[1] - 1 - info.nmant)
        worst = max(worst, float(abs(Decimal(x) - exact) / unit))
    return worst


def operands(name: str, dtype: Any) -> list[np.ndarray]:
    columns = list(zip(*VALUES[name], strict=True))[:-1]
    return [np.array(x, dtype) for x in columns]


def by_kernel(name: str, xs: list[np.ndarray]) -> np.ndarray:
    return np.asarray(getattr(torch.special, name)(*map(torch.tensor, xs)).numpy())


def by_composition(name: str, xs: list[np.ndarray]) -> np.ndarray:
    kind = torch.tensor(xs[0])._k
    composite = ROWS[ROW_NAMES.get(name, name)].composite
    assert composite is not None
    return np.asarray(composite(kind, *xs))


@pytest.mark.parametrize("way", [by_kernel, by_composition])
@pytest.mark.parametrize("name", VALUES)
def test_errors_in_the_last_place(
    name: str, way: Callable[[str, list[np.ndarray]], np.ndarray]
) -> None:
    exact = [row[-1] for row in VALUES[name]]
    double = way(name, operands(name, np.float64))
    limit = DOUBLE.get(name, 6)
    assert units(double, exact) <= max(limit, COMPOSED.get(name, 0) if way is by_composition else 0)
    single = way(name, operands(name, np.float32))
    assert single.dtype == np.float32 and units(single, exact) <= 8


def test_what_the_kernels_make_of_ends() -> None:
    inf, nan = math.inf, math.nan
    for dtype in (torch.float32, torch.float64):
        ends = torch.tensor([0.0, -0.0, inf, -inf, nan, -1.0], dtype=dtype)
        assert repr(ends.erfinv().tolist()) == repr([0.0, -0.0, nan, nan, nan, -inf])
        assert repr(ends.lgamma().tolist()) == repr([inf, inf, inf, inf, nan, inf])
        assert repr(ends.digamma().tolist()) == repr([-inf, inf, inf, nan, nan, nan])
        assert repr(torch.special.ndtri(ends).tolist()) == repr([-inf, -inf, nan, nan, nan, nan])
        x = ends.clone()
        assert repr(x.erfinv_().tolist()) == repr([0.0, -0.0, nan, nan, nan, -inf])
        x = ends.clone()
        assert repr(x.lgamma_().tolist()) == repr([inf, inf, inf, inf, nan, inf])
