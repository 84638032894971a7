"""The error functions of the cpu in float64: each part of their range, its borders and its ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tensorbus as torch
from tensorbus_cpu_numpy import scipy_special
from tensorbus_cpu_numpy.backend import CpuBackend

ROOT_2 = math.sqrt(2.0)


def _ndtr(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log_ndtr(x: Any) -> Any:
    return mpmath.log(_ndtr(x)) if x < 0 else mpmath.log1p(-_ndtr(-x))


EXACT: dict[str, Callable[[Any], Any]] = {
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "ndtr": _ndtr,
    "log_ndtr": _log_ndtr,
}
BORDERS = {
    "erf": [-6.0, -1.0, -1e-8, 1e-8, 1.0, 3.0, 6.0],
    "erfc": [-6.0, -1.0, -1e-8, 1e-8, 1.0, 3.0, 26.0, 26.5],
    "erfcx": [-26.6, -26.0, -3.0, -1e-8, 1e-8, 1.0, 3.0, 26.0, 28.0, 1e9],
    "ndtr": [-37.5, -26.0 * ROOT_2, -5.0, -ROOT_2, -1e-8, 1e-8, ROOT_2, 5.0],
    "log_ndtr": [-1e9, -26.0 * ROOT_2, -5.0, -ROOT_2, -1e-8, 1e-8, ROOT_2, 26.0 * ROOT_2, 37.5],
}
"""Where a formula ends, or where SciPy's do."""


def _units(name: str, x: np.ndarray) -> float:
    """The largest error in units of the last place."""
    found = getattr(torch.special, name)(torch.tensor(x)).tolist()
    worst = 0.0
    with mpmath.workdps(60):
        for value, at in zip(found, x.tolist(), strict=True):
            exact = EXACT[name](mpmath.mpf(at))
            unit = float(np.spacing(abs(float(exact))))
            worst = max(worst, float(abs(value - exact) / unit))
    return worst


@pytest.mark.parametrize("name", EXACT)
def test_errors_of_each_part_and_at_its_borders(name: str) -> None:
    borders = BORDERS[name]
    rng = np.random.default_rng(3)
    for low, high in itertools.pairwise(borders):
        inside = rng.uniform(low, high, 60)
        steps = np.arange(-3, 4)
        ends = [end + steps * np.spacing(abs(end)) for end in (low, high)]
        assert _units(name, np.concatenate([inside, *ends])) <= 6, (low, high)


def test_tails_end_in_subnormal_numbers() -> None:
    """Values by mpmath; beyond them 0, or infinity."""
    x = torch.tensor([26.8, 27.2, 28.0, 1e300], dtype=torch.float64)
    assert x.erfc().tolist() == [2.484962157e-314, 1e-323, 0.0, 0.0]
    x = torch.tensor([38.0, 39.0, 1e300], dtype=torch.float64)
    assert torch.special.ndtr(-x).tolist() == [2.88542835e-316, 0.0, 0.0]
    assert torch.special.log_ndtr(x).tolist() == [-2.88542835e-316, 0.0, 0.0]
    x = torch.tensor([-26.0, -27.0, -1e300], dtype=torch.float64)
    expected = [7.657724931490568e293, math.inf, math.inf]
    assert torch.special.erfcx(x).tolist() == pytest.approx(expected, rel=1e-15)
    rng = np.random.default_rng(4)
    assert _units("erfc", rng.uniform(26.5, 27.3, 200)) <= 4
    assert _units("ndtr", -rng.uniform(37.5, 38.6, 200)) <= 4


def test_ends() -> None:
    inf, nan = math.inf, math.nan
    x = torch.tensor([0.0, -0.0, 5e-324, inf, -inf, nan, 1e300, -1e300], dtype=torch.float64)
    expected = {
        "erf": [0.0, -0.0, 5e-324, 1.0, -1.0, nan, 1.0, -1.0],
        "erfc": [1.0, 1.0, 1.0, 0.0, 2.0, nan, 0.0, 2.0],
        "erfcx": [1.0, 1.0, 1.0, 0.0, inf, nan, 5.641895835477563e-301, inf],
        "ndtr": [0.5, 0.5, 0.5, 1.0, 0.0, nan, 1.0, 0.0],
        "log_ndtr": [math.log(0.5)] * 3 + [0.0, -inf, nan, 0.0, -inf],
    }
    for name, values in expected.items():
        function = getattr(torch.special, name)
        np.testing.assert_array_equal(function(x).numpy(), values, err_msg=name)
        assert function(x[:0]).shape == (0,)
    assert math.copysign(1.0, x.erf()[1].item()) == -1.0


@pytest.mark.parametrize("name", EXACT)
def test_values_do_not_depend_on_their_neighbours(name: str) -> None:
    """Parts near 0, and far away, are computed in another way, over all or by themselves."""
    function = getattr(torch.special, name)
    x = torch.tensor(np.random.default_rng(7).normal(0, 8, 300))
    alone = torch.stack([function(one) for one in x])
    for neighbour in (0.1, 3.0, 50.0, -50.0, math.inf, math.nan):
        among = torch.full((3000,), neighbour, dtype=torch.float64)
        among[::10] = x
        assert function(among)[::10].equal(alone)


@pytest.mark.parametrize("name", EXACT)
def test_float64_needs_no_scipy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(-7, 7, 99)
    expected = getattr(torch.special, name)(torch.tensor(x)).numpy()
    monkeypatch.setattr(scipy_special, "module", lambda: None)
    kernel = CpuBackend().kernel(name, torch.float64, 0)
    assert kernel is not None
    np.testing.assert_array_equal(kernel(x), expected)
