"""Densities, probabilities, quantiles and moments beside SciPy's, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats
from tests.distributions.univariate import CONTINUOUS, DISCRETE, Case

import tensorbus
from tensorbus import distributions

ALL = pytest.mark.parametrize("case", [*CONTINUOUS, *DISCRETE], ids=lambda case: case.name)

WITHOUT_CDF = {"Beta", "FisherSnedecor", "StudentT", "VonMises"}
"""As in PyTorch."""
WITHOUT_ICDF = {*WITHOUT_CDF, "Gamma", "Chi2", "InverseGamma"}
WITHOUT_ENTROPY = {"FisherSnedecor", "VonMises", "NegativeBinomial", "Poisson", "Binomial"}
"""Of ``Binomial`` below."""
WITHOUT_MODE = {"Uniform", "Bernoulli", "Kumaraswamy", "ContinuousBernoulli"}
"""Some have none, and the others are below."""


def of_scipy(case: Case, method: str, *args: np.ndarray) -> np.ndarray:
    """What each element's distribution of SciPy answers; *args* have the batch last."""
    found = [getattr(s, method)(*(a[..., i] for a in args)) for i, s in enumerate(case.theirs())]
    return np.stack([np.asarray(f, float) for f in found], -1)


@ALL
def test_log_prob(case: Case) -> None:
    x = case.values()
    found = case.ours().log_prob(tensorbus.tensor(x))
    method = "logpdf" if case in CONTINUOUS else "logpmf"
    np.testing.assert_allclose(found.numpy(), of_scipy(case, method, x), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    "case", [c for c in CONTINUOUS if c.name not in WITHOUT_CDF], ids=lambda case: case.name
)
def test_cdf_and_icdf(case: Case) -> None:
    x = case.values()
    d = case.ours()
    level = d.cdf(tensorbus.tensor(x))
    np.testing.assert_allclose(level.numpy(), of_scipy(case, "cdf", x), rtol=1e-9, atol=1e-12)
    if case.name not in WITHOUT_ICDF:
        np.testing.assert_allclose(d.icdf(level).numpy(), x, rtol=1e-7)


@ALL
def test_mean_variance_and_standard_deviation(case: Case) -> None:
    d = case.ours()
    if case.name == "VonMises":  # circular ones
        kappa = d.concentration.numpy()
        mean_cosine = special.ive(1, kappa) / special.ive(0, kappa)
        np.testing.assert_allclose(d.variance.numpy(), 1 - mean_cosine, rtol=1e-9)
        np.testing.assert_array_equal(d.mean.numpy(), d.loc.numpy())
        return
    mean, variance = of_scipy(case, "mean"), of_scipy(case, "var")
    ours = {"mean": d.mean.numpy(), "variance": d.variance.numpy()}
    for name, expected in (("mean", mean), ("variance", variance)):
        defined = np.isfinite(expected)
        np.testing.assert_allclose(ours[name][defined], expected[defined], rtol=1e-8, err_msg=name)
        assert not np.isfinite(ours[name][~defined]).any()
    np.testing.assert_allclose(d.stddev.numpy(), np.sqrt(ours["variance"]))


@pytest.mark.parametrize(
    "case",
    [c for c in [*CONTINUOUS, *DISCRETE] if c.name not in WITHOUT_ENTROPY],
    ids=lambda case: case.name,
)
def test_entropy_and_perplexity(case: Case) -> None:
    d = case.ours()
    found = d.entropy().numpy()
    np.testing.assert_allclose(found, of_scipy(case, "entropy"), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(d.perplexity().numpy(), np.exp(found))


def test_entropy_of_counts_with_one_number_of_trials() -> None:
    d = distributions.Binomial(12, tensorbus.tensor([0.1, 0.5], dtype=tensorbus.float64))
    expected = [stats.binom(12, p).entropy() for p in (0.1, 0.5)]
    np.testing.assert_allclose(d.entropy().numpy(), expected, rtol=1e-9)
    assert d.enumerate_support().shape == (13, 2)
    assert d.enumerate_support(expand=False).shape == (13, 1)
    for method in ("entropy", "enumerate_support"):
        with pytest.raises(NotImplementedError, match=f"Inhomogeneous total count .* `{method}`"):
            getattr(distributions.Binomial(tensorbus.tensor([2, 3]), 0.5), method)()


@pytest.mark.parametrize(
    "case",
    [c for c in [*CONTINUOUS, *DISCRETE] if c.name not in WITHOUT_MODE],
    ids=lambda case: case.name,
)
def test_the_mode_has_the_greatest_density(case: Case) -> None:
    d = case.ours(validate_args=False)
    mode = d.mode
    near = tensorbus.tensor(case.values())
    if case in DISCRETE:
        near = tensorbus.stack([mode + 1, (mode - 1).clamp(min=0.0)])
    else:
        near = tensorbus.cat([near, mode + 1e-4 * near.abs()])
    known = ~mode.isnan() & d.log_prob(mode).isfinite()
    below = d.log_prob(mode) + 1e-12 >= d.log_prob(near)
    assert (below | ~known).all()
    assert known.any()


def test_modes_that_have_other_rules() -> None:
    bernoulli = distributions.Bernoulli(tensorbus.tensor([0.2, 0.5, 0.8]))
    np.testing.assert_array_equal(bernoulli.mode.numpy(), [0, math.nan, 1])
    # (a - 1) / (a * b - 1) to the power 1 / a
    d = distributions.Kumaraswamy(tensorbus.tensor([2.0, 0.5]), tensorbus.tensor([3.0, 2.0]))
    np.testing.assert_allclose(d.mode.numpy(), [math.sqrt(1 / 5), math.nan], rtol=1e-6)
    assert distributions.Uniform(0.0, 1.0).mode.isnan()


@pytest.mark.parametrize("name", ["Bernoulli", "Geometric", "Binomial", "NegativeBinomial"])
def test_logits_say_the_same_as_probabilities(name: str) -> None:
    case = next(c for c in DISCRETE if c.name == name)
    d = case.ours()
    given = case.arguments()
    probs = given.pop("probs")
    same = getattr(distributions, name)(logits=(probs / (1 - probs)).log(), **given)
    np.testing.assert_allclose(same.probs.numpy(), d.probs.numpy())
    np.testing.assert_allclose(same.logits.numpy(), d.logits.numpy(), atol=1e-12)
    x = tensorbus.tensor(case.values())
    np.testing.assert_allclose(same.log_prob(x).numpy(), d.log_prob(x).numpy(), rtol=1e-9)
    assert same.param_shape == d.param_shape == (len(probs),)


@pytest.mark.parametrize("xi", [0.2, -0.3, 0.0, 1e-9])
def test_a_generalized_pareto_knows_what_lies_outside_of_its_support(xi: float) -> None:
    x = np.array([-math.inf, -1.0, 0.0, 0.5, 2.0, 5.0, 1e30, math.inf, math.nan])
    d = distributions.GeneralizedPareto(
        tensorbus.tensor(0.0, dtype=tensorbus.float64), 1.0, xi, validate_args=False
    )
    theirs, given = stats.genpareto(xi), tensorbus.tensor(x)
    np.testing.assert_allclose(d.cdf(given).numpy(), theirs.cdf(x), rtol=1e-9, atol=1e-12)
    found = d.log_survival_function(given).numpy()
    np.testing.assert_allclose(found[:6], theirs.logsf(x[:6]), rtol=1e-7, atol=1e-12)


def test_a_continuous_bernoulli_knows_what_lies_outside_of_its_support() -> None:
    d = distributions.ContinuousBernoulli(tensorbus.tensor([[0.2], [0.5]]), validate_args=False)
    x = tensorbus.tensor([-math.inf, -1e3, 0.0, 1.0, 1e3, math.inf, math.nan])
    np.testing.assert_array_equal(d.cdf(x).numpy(), [[0, 0, 0, 1, 1, 1, math.nan]] * 2)


def test_a_multinomial_refuses_a_negative_number_of_draws() -> None:
    probs = tensorbus.tensor([0.5, 0.5])
    with pytest.raises(ValueError, match="^total_count must be a non-negative int, but got -1$"):
        distributions.Multinomial(-1, probs)
    distributions.Multinomial(-1, probs, validate_args=False)
