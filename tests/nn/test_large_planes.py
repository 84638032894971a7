"""Planes sampled at many places: by kernels of the cpu's own, with SciPy and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus
import tensorbus_cpu_numpy.sparse as scipy_loops
from tensorbus.nn.functional import grid_sample
from tensorbus_conformance.samples.nn_resampling import grid_sample as place_by_place

RNG = np.random.default_rng(5)
X, GRID = RNG.standard_normal((2, 5, 9, 11)), RNG.uniform(-1.3, 1.3, (2, 12, 10, 2))
G = RNG.standard_normal((2, 5, 12, 10))
STEP = 1e-6


@pytest.fixture(params=["with SciPy", "without SciPy"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without SciPy":
        monkeypatch.setattr(scipy_loops, "loops", lambda: None)
    else:
        pytest.importorskip("scipy")


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "reflection"])
def test_planes_and_their_gradients(loops: None, mode: str, padding: str) -> None:
    how: Any = mode, padding, False
    x, grid = (tensorbus.from_numpy(a).clone().requires_grad_() for a in (X, GRID))
    made = grid_sample(x, grid, *how)
    made.backward(tensorbus.from_numpy(G))
    np.testing.assert_allclose(made.detach().numpy(), place_by_place(X, GRID, *how), atol=1e-12)
    other = RNG.standard_normal(X.shape)  # what is linear in x has one slope
    slope = np.sum(place_by_place(other, GRID, *how) * G)
    np.testing.assert_allclose(np.sum(x.grad.numpy() * other), slope, rtol=1e-9)
    way = RNG.standard_normal(GRID.shape)
    above, below = (place_by_place(X, GRID + s * way, *how) for s in (STEP, -STEP))
    slopes = ((above - below) / (2 * STEP) * G).sum(1)
    np.testing.assert_allclose((grid.grad.numpy() * way).sum(-1), slopes, rtol=1e-5, atol=1e-7)


def test_what_is_beyond_the_planes_is_an_index_fault() -> None:
    from tensorbus.op_engine.cores import core

    x = tensorbus.zeros(2, 64, 100)
    for wrong in (-1, 101):
        with pytest.raises(IndexError):
            core("sampled")(x, tensorbus.full((2, 2, 50), wrong), None)
