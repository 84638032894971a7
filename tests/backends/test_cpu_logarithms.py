"""``log1p`` of many elements on ``cpu``, beside NumPy's in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus_cpu_numpy import logarithms
from tensorbus_cpu_numpy.backend import CpuBackend

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

MANY = 40_000
RANDOM = np.random.default_rng(0)
RANGES = {
    "around 0": RANDOM.uniform(-1e-3, 1e-3, MANY),
    "tiny": 10.0 ** RANDOM.uniform(-37, -6, MANY) * RANDOM.choice([-1, 1], MANY),
    "one": RANDOM.uniform(-1, 1, MANY),
    "near -1": 10.0 ** RANDOM.uniform(-7, -1, MANY) - 1,
    "large": 10.0 ** RANDOM.uniform(0, 38, MANY),
}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, request: Any) -> Any:
    """The kernel of a processor for which NumPy has no vectorised loop."""
    monkeypatch.setattr(logarithms, "_one_by_one", lambda dtype: True)
    return CpuBackend().kernel("log1p", getattr(torch, request.param), 0)


@pytest.mark.parametrize("kernel", ["float32", "float64"], indirect=True)
@pytest.mark.parametrize("name", RANGES)
def test_errors_in_the_last_place(kernel: Any, name: str, request: Any) -> None:
    dtype = request.node.callspec.params["kernel"]
    x = RANGES[name].astype(dtype)
    x = np.where(x > -1, x, np.nextafter(-1, 0, dtype=dtype))
    exact = np.log1p(x.astype(np.longdouble))
    unit = np.spacing(np.abs(exact).astype(dtype))
    found = kernel(x)
    assert found.dtype == dtype
    limit = 2 if dtype == "float64" else 0.51
    assert (np.abs(found - exact) / unit).max() < limit
    halves = np.stack([x, x], 1)[::2]
    np.testing.assert_array_equal(kernel(halves), np.stack([found, found], 1)[::2])
    np.testing.assert_array_equal(kernel(x, x), found)
    np.testing.assert_array_equal(x, found)


@pytest.mark.parametrize("kernel", ["float32", "float64"], indirect=True)
@pytest.mark.parametrize("end", [np.nan, np.inf, -np.inf, -1.0, -2.0, 0.0, -0.0, 5e-324])
def test_ends_among_many(kernel: Any, end: float, request: Any) -> None:
    dtype = request.node.callspec.params["kernel"]
    x = np.full(MANY, 2.0, dtype)
    x[[5, -1]] = end
    found = kernel(x)
    np.testing.assert_array_equal(found[[5, -1]], np.log1p(x[[5, -1]]))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.log1p(x)))
    np.testing.assert_allclose(found[[0, -2]], np.log1p(2.0), rtol=2 * np.finfo(dtype).eps)


def test_which_loops_go_element_by_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy names the loop that runs: that of the least processor, or a vectorised one."""
    for current, expected in (("baseline(SSE SSE2)", True), ("X86_V4", False)):
        told = {"log1p": {"ff": {"current": current}, "dd": {"current": current}}}
        monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda told=told, **_: told)
        assert logarithms._one_by_one(np.dtype("f4")) is expected
        kernel = CpuBackend().kernel("log1p", torch.float64, 0)
        assert (kernel is np.log1p) is not expected


@pytest.mark.parametrize("kernel", ["float32"], indirect=True)
def test_results_do_not_depend_on_other_elements(kernel: Any) -> None:
    x = RANGES["one"].astype("float32")
    found = kernel(x)
    few = np.concatenate([kernel(x[i : i + 100]) for i in range(0, MANY, 100)])
    np.testing.assert_array_equal(few, found)
    with_others = x.copy()
    with_others[::1000] = np.inf
    there = np.isfinite(with_others)
    np.testing.assert_array_equal(kernel(with_others)[there], found[there])
