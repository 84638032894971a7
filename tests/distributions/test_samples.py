"""Samples beside SciPy's distributions: means, and how many lie below each quantile.

The seeds are fixed. A count of n draws, each below with probability p, is more than six standard
deviations away from n * p once in 500 million times, so a seed that is changed finds no other
result either.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from scipy import special, stats
from tests.distributions.univariate import CONTINUOUS, DISCRETE, Case

import tensorbus

N = 20_000
LEVELS = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
SIX = 6.0

ALL = pytest.mark.parametrize("case", [*CONTINUOUS, *DISCRETE], ids=lambda case: case.name)


def drawn(case: Case, method: str = "sample") -> np.ndarray:
    tensorbus.manual_seed(zlib.crc32(case.name.encode()))
    x = getattr(case.ours(), method)((N,))
    assert x.shape == (N, case.count) and x.dtype is tensorbus.float64
    found: np.ndarray = x.detach().numpy()
    return found


@ALL
def test_as_many_samples_lie_below_a_quantile_as_should(case: Case) -> None:
    x = drawn(case)
    for i, expected in enumerate(case.theirs()):
        ends = np.unique(expected.ppf(LEVELS))
        level = expected.cdf(ends)
        count = (x[:, i, None] <= ends).sum(0)
        spread = np.sqrt(N * level * (1 - level))
        assert (np.abs(count - N * level) <= SIX * spread + 1e-6).all(), (case.name, i)


@ALL
def test_the_mean_of_samples_is_near_the_mean(case: Case) -> None:
    x = drawn(case)
    for i, expected in enumerate(case.theirs()):
        if np.isfinite(expected.stats("mvsk")).all() and case.name != "VonMises":
            mean, spread = expected.mean(), expected.std()
            assert abs(x[:, i].mean() - mean) <= SIX * spread / np.sqrt(N), (case.name, i)


@ALL
def test_samples_pass_the_checks_of_log_prob(case: Case) -> None:
    d = case.ours()
    x = tensorbus.tensor(drawn(case)[:2000])
    assert d.log_prob(x).isfinite().all()
    assert not x.requires_grad


@pytest.mark.parametrize("case", CONTINUOUS, ids=lambda case: case.name)
def test_both_ways_of_drawing_give_the_distribution(case: Case) -> None:
    if not case.ours().has_rsample:
        with pytest.raises(NotImplementedError):
            case.ours().rsample()
        return
    x = drawn(case, "rsample")
    for i, expected in enumerate(case.theirs()):
        assert stats.kstest(x[:, i], expected.cdf).pvalue > 1e-9, (case.name, i)


@pytest.mark.parametrize("name", ["Gamma", "Beta"])
def test_concentrations_far_below_one(name: str) -> None:
    """Most numbers are too small for any dtype, but none is 0."""
    tensorbus.manual_seed(5)
    d = getattr(tensorbus.distributions, name)(tensorbus.tensor(1e-3), 1.0)
    x = d.sample((4000,))
    tiny = tensorbus.finfo(x.dtype).tiny
    assert (x >= tiny).all() and not x.isnan().any()
    if name == "Gamma":
        level = stats.gamma(1e-3).cdf(tiny)
        assert abs((x <= tiny).sum().item() - 4000 * level) <= SIX * np.sqrt(4000 * level)


def test_a_dirichlet_vector_of_tiny_concentrations_is_a_corner() -> None:
    tensorbus.manual_seed(6)
    weights = tensorbus.tensor([1e-4, 3e-4])
    x = tensorbus.distributions.Dirichlet(weights).sample((4000,))
    count = (x[:, 0] > 0.5).sum().item()
    assert abs(count - 1000) <= SIX * np.sqrt(4000 * 0.25 * 0.75)


def test_samples_are_the_same_for_the_same_seed_and_differ_else() -> None:
    d = tensorbus.distributions.Gamma(tensorbus.full((50,), 0.7), 2.0)
    tensorbus.manual_seed(3)
    first, second = d.sample(), d.sample()
    tensorbus.manual_seed(3)
    assert d.sample().equal(first)
    assert not first.equal(second)


def test_odd_concentrations_end() -> None:
    """Unchecked, they give what they stand for: no draw is repeated for ever."""
    d = tensorbus.distributions.Gamma(
        tensorbus.tensor([float("nan"), float("inf"), 0.0, -1.0]), 1.0, validate_args=False
    )
    x = d.sample().tolist()
    assert np.isnan(x[0]) and x[1] == np.inf and 0 < x[2] < 1e-30 and np.isnan(x[3])
    angles = tensorbus.distributions.VonMises(
        0.0, tensorbus.tensor([float("nan"), float("inf"), -1.0, 0.0]), validate_args=False
    ).sample()
    assert angles.isnan().tolist() == [True, False, True, False] and angles[1].abs() < 1e-6


@pytest.mark.parametrize("kappa", [0.02, 0.5, 2.0, 30.0])
def test_the_mean_cosine_of_angles(kappa: float) -> None:
    """Of many, since most that are taken wrongly lie near others that are not."""
    tensorbus.manual_seed(13)
    n = 300_000
    d = tensorbus.distributions.VonMises(0.0, tensorbus.tensor(kappa, dtype=tensorbus.float64))
    cosine = d.sample((n,)).cos().numpy()
    expected = special.ive(1, kappa) / special.ive(0, kappa)
    assert abs(cosine.mean() - expected) <= SIX * cosine.std() / np.sqrt(n)
