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
from tensorbus_cpu_numpy import error_functions, fused, scipy_special, special_functions
from tensorbus_cpu_numpy.backend import CpuBackend

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


@pytest.mark.parametrize("way", [by_kernel, by_composition])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "bessel_y0",
            {
                2856.4931640625: "-3.8863424091767111392e-10",
                5947.8203125: "-7.7615721075795872323e-10",
                10421.4482421875: "-5.6480656038520733253e-10",
            },
        ),
        (
            "bessel_y1",
            {
                4186.95751953125: "2.8721375008128482961e-10",
                5745.1875: "2.0722549897201442113e-10",
                6609.12548828125: "-3.086909767944623308e-10",
            },
        ),
    ],
)
def test_bessel_functions_next_to_zeros(
    name: str, values: dict[float, str], way: Callable[[str, list[np.ndarray]], np.ndarray]
) -> None:
    """Of the first 4000 zeros those that have the nearest neighbours in float32; by mpmath."""
    found = way(name, [np.array(list(values), np.float32)])
    assert units(found, list(values.values())) <= 0.5
    for x, exact in values.items():  # without a dimension
        assert units(way(name, [np.array(x, np.float32)]).reshape(1), [exact]) <= 0.5


@pytest.mark.parametrize("end", [-1.0, math.nan])
@pytest.mark.parametrize("name", ["bessel_y0", "bessel_y1"])
def test_bessel_functions_of_huge_numbers(name: str, end: float) -> None:
    """The kernel leaves them to the composition, also in place and of NaN."""
    x = torch.tensor([3e9, 2e10, 7e10, 1.0, end, 0.0])
    expected = by_composition(name, [x.numpy()])
    found = getattr(torch.special, name)(x)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert getattr(torch.special, name)(x, out=x) is x
    np.testing.assert_array_equal(x.numpy(), expected)
    assert getattr(torch.special, name)(x[:0]).shape == (0,)


def test_what_the_kernels_make_of_ends() -> None:
    inf, nan = math.inf, math.nan
    for dtype in (torch.float32, torch.float64):
        ends = torch.tensor([0.0, -0.0, inf, -inf, nan, -1.0], dtype=dtype)
        assert repr(ends.erfinv().tolist()) == repr([0.0, -0.0, nan, nan, nan, -inf])
        assert repr(ends.lgamma().tolist()) == repr([inf, inf, inf, inf, nan, inf])
        assert repr(ends.digamma().tolist()) == repr([-inf, inf, inf, nan, nan, nan])
        assert repr(torch.special.ndtri(ends).tolist()) == repr([-inf, -inf, nan, nan, nan, nan])
        assert repr(ends.erf().tolist()) == repr([0.0, -0.0, 1.0, -1.0, nan, ends.erf()[5].item()])
        assert ends.erfc().tolist()[:4] == [1.0, 1.0, 0.0, 2.0]
        assert torch.special.erfcx(ends).tolist()[:4] == [1.0, 1.0, 0.0, inf]
        assert torch.special.ndtr(ends).tolist()[:4] == [0.5, 0.5, 1.0, 0.0]
        assert torch.special.log_ndtr(ends).tolist()[2:4] == [0.0, -inf]
        x = ends.clone()
        assert repr(x.erfinv_().tolist()) == repr([0.0, -0.0, nan, nan, nan, -inf])
        x = ends.clone()
        assert repr(x.lgamma_().tolist()) == repr([inf, inf, inf, inf, nan, inf])


def test_lgamma_around_its_zeros() -> None:
    """By mpmath: at 1 and 2, and on both sides of where another formula begins."""
    values = {
        0.8: "0.15205967839983754592",
        0.80001: "0.15205002842914349699",
        0.9: "0.066376239734742954426",
        0.9999999999990905: "5.2497458900896243905e-13",
        1.0000000000000002: "-1.2816762426960008403e-16",
        1.1: "-0.049872441259839761785",
        1.19999: "-0.085371199540980789452",
        1.80001: "-0.071081022963190577481",
        1.9: "-0.038984275923083361674",
        1.9999999999999998: "-9.3876980655431167609e-17",
        2.0000000000009095: "3.8452011276491286612e-13",
        2.1: "0.045437738544485179002",
        2.19999: "0.096942023884918117556",
    }
    x = np.array(list(values))
    assert units(by_kernel("gammaln", [x]), list(values.values())) <= 2
    assert by_kernel("gammaln", [np.array([1.0, 2.0])]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["erfc", "erfcx", "ndtr", "log_ndtr", "gammaln"])
def test_parts_of_strided_tensors(name: str) -> None:
    """The kernels that go by pieces, on views, and in place."""
    x = torch.tensor(np.random.default_rng(5).uniform(-3, 3, (60000, 2)))
    function = getattr(torch.special, name)
    expected = torch.stack([function(part) for part in x.reshape(-1, 1000)]).reshape(-1, 2)
    assert function(x.T).equal(expected.T) and function(x[:, 1]).equal(expected[:, 1])
    assert function(x, out=x).equal(expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", [None, 127, 3, -149])
def test_powers_that_the_loop_in_float32_misses_are_exact(
    monkeypatch: pytest.MonkeyPatch, first: int | None
) -> None:
    """The first power that is missed, as if this processor's loop missed it."""
    if first is not None:
        monkeypatch.setattr(fused, "_first_inexact_power", lambda: first)
    kernel = CpuBackend().kernel("exp2", torch.float32, 0)
    assert kernel is not None
    whole = np.arange(-149, 128)
    x = whole.astype(np.float32)
    expected = np.ldexp(np.float32(1), whole)
    np.testing.assert_array_equal(kernel(x), expected)
    np.testing.assert_array_equal(kernel(x, out=x), expected)
    ends = np.array([np.nan, np.inf, -np.inf, 128.0], np.float32)
    assert kernel(ends).tolist()[1:] == [np.inf, 0.0, np.inf] and np.isnan(kernel(ends)[0])
    assert kernel(x[:0]).shape == (0,) and kernel(np.array(5, np.float32)) == 32.0


def test_without_scipy_there_are_compositions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipy_special, "module", lambda: None)
    for name in special_functions.TABLE:
        assert CpuBackend().kernel(name, torch.float64, 0) is None
    for name in error_functions.TABLE:
        assert CpuBackend().kernel(name, torch.float32, 0) is None
