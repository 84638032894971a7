"""Sobol sequences: PyTorch's points, the table's source, and what scrambling keeps."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.quasirandom import SobolEngine


def drawn(torch: Any, dimension: int) -> list[Any]:
    engine = torch.quasirandom.SobolEngine(dimension)
    found = [engine.draw(n)[:, -3:].tolist() for n in (1, 1, 6)]
    engine.fast_forward(1000)
    found.append(engine.draw(3, dtype=torch.float64)[:, -3:].tolist())
    found.append(engine.reset().fast_forward(3).draw()[:, -3:].tolist())
    found.append([engine.num_generated, engine.reset().draw_base2(3)[:, -3:].tolist(), str(engine)])
    out = torch.empty(0)
    engine.reset().draw(2, out=out)
    return [*found, list(out.shape), int(engine.sobolstate.sum())]


@pytest.mark.parametrize("dimension", [1, 2, 40, 21201])
def test_points_are_pytorchs(oracle: Any, dimension: int) -> None:
    assert drawn(tensorbus, dimension) == oracle(lambda torch: drawn(torch, dimension))


def test_the_table_is_that_of_joe_and_kuo() -> None:
    stats = pytest.importorskip("scipy.stats")
    folder = os.path.dirname(stats.__file__)
    own = os.path.dirname(tensorbus.quasirandom.__file__)
    with (
        np.load(os.path.join(folder, "_sobol_direction_numbers.npz")) as theirs,
        np.load(os.path.join(own, "direction_numbers.npz")) as ours,
    ):
        assert all(np.array_equal(ours[name], theirs[name]) for name in ("poly", "vinit"))


def test_scrambled_points_fill_every_interval_once() -> None:
    engine = SobolEngine(6, scramble=True, seed=5)
    points = engine.draw(1024, dtype=tensorbus.float64).numpy()
    for k in range(6):
        assert sorted((points[:, k] * 1024).astype(int)) == list(range(1024))
    # Two coordinates of a Sobol sequence fill squares as evenly.
    squares = np.histogram2d(points[:, 0], points[:, 1], bins=32, range=[[0, 1], [0, 1]])[0]
    assert (squares == 1).all()
    again = SobolEngine(6, scramble=True, seed=5)
    assert np.array_equal(again.draw(1024, dtype=tensorbus.float64).numpy(), points)
    other = SobolEngine(6, scramble=True, seed=6).draw(1024, dtype=tensorbus.float64).numpy()
    assert not (other == points).any()
    assert repr(engine) == "SobolEngine(dimension=6, scramble=True, seed=5)"


def test_wrong_numbers_are_refused() -> None:
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine"):
            SobolEngine(dimension)
    engine = SobolEngine(1)
    engine.draw(3)
    with pytest.raises(ValueError, match="require n to be a power of 2. 3 points have been"):
        engine.draw_base2(2)
    assert engine.num_generated == 3


def test_scrambling_without_a_seed_follows_manual_seed() -> None:
    def points() -> list[Any]:
        tensorbus.manual_seed(5)
        return [SobolEngine(2, scramble=True).draw(4).tolist() for _ in range(2)]

    first, second = points()
    assert points() == [first, second] and first != second
    tensorbus.manual_seed(5)
    before = tensorbus.get_rng_state()
    SobolEngine(2, scramble=True, seed=1)
    assert tensorbus.equal(before, tensorbus.get_rng_state())


def test_numbers_of_points_are_integers_that_are_not_negative() -> None:
    engine = SobolEngine(2)
    with pytest.raises(RuntimeError, match="not negative"):
        engine.draw(-1)
    with pytest.raises(TypeError):
        engine.draw(1.5)  # type: ignore[arg-type]
    assert engine.num_generated == 0
    assert engine.draw(np.int64(2)).shape == (2, 2)  # type: ignore[arg-type]
