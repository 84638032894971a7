"""Vectors and matrices: densities, entropies and samples beside SciPy's and PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tensorbus
from tensorbus import distributions

rng = np.random.default_rng(11)
LOC = rng.normal(size=3)
ROOT = rng.normal(size=(3, 3))
COVARIANCE = ROOT @ ROOT.T + np.eye(3)
X = rng.normal(size=(5, 3))
W, D = rng.normal(size=(3, 2)), rng.uniform(0.5, 2.0, size=3)


def tensor(value: Any) -> tensorbus.Tensor:
    return tensorbus.tensor(np.asarray(value))


NORMALS: dict[str, tuple[Callable[[], Any], np.ndarray]] = {
    "covariance": (
        lambda: distributions.MultivariateNormal(tensor(LOC), tensor(COVARIANCE)),
        COVARIANCE,
    ),
    "precision": (
        lambda: distributions.MultivariateNormal(
            tensor(LOC), precision_matrix=tensor(np.linalg.inv(COVARIANCE))
        ),
        COVARIANCE,
    ),
    "factor": (
        lambda: distributions.MultivariateNormal(
            tensor(LOC), scale_tril=tensor(np.linalg.cholesky(COVARIANCE))
        ),
        COVARIANCE,
    ),
    "low rank": (
        lambda: distributions.LowRankMultivariateNormal(tensor(LOC), tensor(W), tensor(D)),
        W @ W.T + np.diag(D),
    ),
}


@pytest.mark.parametrize("kind", NORMALS)
def test_normal_vectors(kind: str) -> None:
    make, covariance = NORMALS[kind]
    d, expected = make(), stats.multivariate_normal(LOC, covariance)
    np.testing.assert_allclose(d.log_prob(tensor(X)).numpy(), expected.logpdf(X), rtol=1e-9)
    np.testing.assert_allclose(d.entropy().item(), expected.entropy(), rtol=1e-9)
    np.testing.assert_allclose(d.covariance_matrix.numpy(), covariance, rtol=1e-9)
    np.testing.assert_allclose(d.precision_matrix.numpy(), np.linalg.inv(covariance), rtol=1e-8)
    np.testing.assert_allclose(d.scale_tril.numpy(), np.linalg.cholesky(covariance), rtol=1e-8)
    np.testing.assert_allclose(d.variance.numpy(), np.diag(covariance), rtol=1e-9)
    assert d.mean.tolist() == d.mode.tolist() == LOC.tolist()
    tensorbus.manual_seed(1)
    n = 20_000
    x = d.sample((n,)).numpy()
    # Whitened, the samples are independent normal numbers.
    white = np.linalg.solve(np.linalg.cholesky(covariance), (x - LOC).T)
    assert (np.abs(white.mean(1)) < 6 / np.sqrt(n)).all()
    assert (np.abs(np.cov(white) - np.eye(3)) < 6 * np.sqrt(2 / n)).all()


@pytest.mark.parametrize("p", NORMALS)
@pytest.mark.parametrize("q", ["covariance", "low rank"])
def test_divergences_of_normal_vectors(p: str, q: str) -> None:
    (make_p, S), (make_q, V) = NORMALS[p], NORMALS[q]
    moved = make_q()
    moved.loc = moved.loc + 0.5
    inverse, step = np.linalg.inv(V), np.full(3, 0.5)
    logs = np.linalg.slogdet(V)[1] - np.linalg.slogdet(S)[1]
    expected = 0.5 * (logs + np.trace(inverse @ S) + step @ inverse @ step - 3)
    found = distributions.kl_divergence(make_p(), moved)
    np.testing.assert_allclose(found.item(), expected, rtol=1e-9)
    other = distributions.MultivariateNormal(tensorbus.zeros(2), tensorbus.eye(2))
    with pytest.raises(ValueError, match="different event shapes cannot be computed"):
        distributions.kl_divergence(make_p(), other)


def test_batches_of_normal_vectors_and_of_values_broadcast() -> None:
    factors = np.stack([np.linalg.cholesky(COVARIANCE * s) for s in (1.0, 2.0)])
    loc = rng.normal(size=(4, 1, 3))
    x = rng.normal(size=(7, 4, 2, 3))
    d = distributions.MultivariateNormal(tensor(loc), scale_tril=tensor(factors))
    low = distributions.LowRankMultivariateNormal(
        tensor(loc), tensor(np.stack([W, 2 * W])), tensor(D)
    )
    assert d.batch_shape == low.batch_shape == (4, 2) and d.event_shape == (3,)
    for made, covariances in (
        (d, factors @ factors.transpose(0, 2, 1)),
        (low, [W @ W.T + np.diag(D), 4 * W @ W.T + np.diag(D)]),
    ):
        found = made.log_prob(tensor(x)).numpy()
        entropy = made.entropy().numpy()
        for i in range(4):
            for j in range(2):
                expected = stats.multivariate_normal(loc[i, 0], covariances[j])
                np.testing.assert_allclose(found[:, i, j], expected.logpdf(x[:, i, j]), rtol=1e-9)
                np.testing.assert_allclose(entropy[i, j], expected.entropy(), rtol=1e-9)
        assert made.rsample((5,)).shape == (5, 4, 2, 3)
        assert made.expand((6, 4, 2)).log_prob(tensor(x[0])).shape == (6, 4, 2)
        assert distributions.kl_divergence(made, d).shape == (4, 2)
    np.testing.assert_allclose(distributions.kl_divergence(d, d).numpy(), 0, atol=1e-12)


def test_wishart() -> None:
    scale = COVARIANCE / 3
    d = distributions.Wishart(tensor(6.5), tensor(scale))
    expected = stats.wishart(6.5, scale)
    matrices = expected.rvs(4, random_state=2)
    np.testing.assert_allclose(
        d.log_prob(tensor(matrices)).numpy(), expected.logpdf(matrices.transpose(1, 2, 0))
    )
    np.testing.assert_allclose(d.entropy().item(), expected.entropy(), rtol=1e-9)
    np.testing.assert_allclose(d.mean.numpy(), expected.mean(), rtol=1e-9)
    np.testing.assert_allclose(d.mode.numpy(), expected.mode(), rtol=1e-9)
    np.testing.assert_allclose(d.variance.numpy(), expected.var(), rtol=1e-9)
    tensorbus.manual_seed(3)
    n = 5000
    x = d.sample((n,)).numpy()
    spread = np.sqrt(expected.var() / n)
    assert (np.abs(x.mean(0) - expected.mean()) < 6 * spread).all()
    assert stats.kstest(x[:, 0, 0] / scale[0, 0], stats.chi2(6.5).cdf).pvalue > 1e-9
    for name, matrix in (
        ("precision_matrix", np.linalg.inv(scale)),
        ("scale_tril", np.linalg.cholesky(scale)),
    ):
        same = distributions.Wishart(tensor(6.5), **{name: tensor(matrix)})  # type: ignore[arg-type]
        np.testing.assert_allclose(same.covariance_matrix.numpy(), scale, rtol=1e-8)
    with pytest.warns(UserWarning, match="Low df values detected"):
        distributions.Wishart(tensor(2.5), tensor(scale))


def test_a_sample_of_the_wishart_distribution_has_gradients() -> None:
    df = tensorbus.tensor(5.0, dtype=tensorbus.float64, requires_grad=True)
    scale = tensor(np.eye(2)).requires_grad_()
    tensorbus.manual_seed(4)
    x = distributions.Wishart(df, scale).rsample((20_000,))
    x.mean(0).diagonal().sum().backward()
    assert df.grad is not None and scale.grad is not None
    assert abs(df.grad.item() - 2) < 0.1  # the mean is df * scale
    np.testing.assert_allclose(scale.grad.numpy(), 5 * np.eye(2), atol=0.2)


@pytest.mark.parametrize("dim, eta", [(2, 0.7), (3, 1.0), (4, 2.5)])
def test_lkj(dim: int, eta: float) -> None:
    d = distributions.LKJCholesky(dim, tensor(eta))
    tensorbus.manual_seed(5)
    n = 5000
    factor = d.sample((n,))
    assert d.support.check(factor).all()
    matrix = (factor @ factor.mT).numpy()
    # Each correlation alone has a beta distribution on (-1, 1) (Lewandowski et al., page 1998).
    alpha = eta - 1 + dim / 2
    for i in range(dim):
        for j in range(i):
            level = stats.beta(alpha, alpha).cdf
            assert stats.kstest((matrix[:, i, j] + 1) / 2, level).pvalue > 1e-9
    if dim == 2:
        # The factor's only number y has the density of a correlation.
        y = np.array([-0.6, 0.1, 0.9])
        rows = np.stack([np.zeros(3), y, np.sqrt(1 - y**2)], -1)
        matrices = np.concatenate([np.tile([1.0], (3, 1)), rows], 1).reshape(3, 2, 2)
        expected = stats.beta(alpha, alpha).logpdf((y + 1) / 2) - np.log(2)
        np.testing.assert_allclose(d.log_prob(tensor(matrices)).numpy(), expected, rtol=1e-9)


def test_dirichlet() -> None:
    alpha = np.array([0.6, 1.5, 4.0])
    d, expected = distributions.Dirichlet(tensor(alpha)), stats.dirichlet(alpha)
    x = expected.rvs(6, random_state=3)
    np.testing.assert_allclose(d.log_prob(tensor(x)).numpy(), expected.logpdf(x.T), rtol=1e-9)
    np.testing.assert_allclose(d.mean.numpy(), expected.mean())
    np.testing.assert_allclose(d.variance.numpy(), expected.var())
    np.testing.assert_allclose(d.entropy().item(), expected.entropy())
    np.testing.assert_allclose(d.mode.numpy(), [0.0, 0.5 / 3.5, 3.0 / 3.5])
    assert distributions.Dirichlet(tensor([0.3, 0.7])).mode.tolist() == [0.0, 1.0]
    tensorbus.manual_seed(6)
    drawn = d.sample((5000,)).numpy()
    np.testing.assert_allclose(drawn.sum(1), 1)
    for i in range(3):
        level = stats.beta(alpha[i], alpha.sum() - alpha[i]).cdf
        assert stats.kstest(drawn[:, i], level).pvalue > 1e-9


def test_multinomial() -> None:
    weights = np.array([0.2, 0.5, 0.3])
    d = distributions.Multinomial(7, tensor(3 * weights))
    expected = stats.multinomial(7, weights)
    x = expected.rvs(6, random_state=4).astype(float)
    np.testing.assert_allclose(d.log_prob(tensor(x)).numpy(), expected.logpmf(x), rtol=1e-9)
    np.testing.assert_allclose(d.entropy().item(), expected.entropy(), rtol=1e-9)
    np.testing.assert_allclose(d.mean.numpy(), 7 * weights)
    np.testing.assert_allclose(d.variance.numpy(), 7 * weights * (1 - weights))
    np.testing.assert_allclose(d.expand((2,)).entropy().numpy(), expected.entropy(), rtol=1e-9)
    tensorbus.manual_seed(7)
    drawn = d.sample((5000,)).numpy()
    assert (drawn.sum(1) == 7).all()
    spread = np.sqrt(7 * weights * (1 - weights) / 5000)
    assert (np.abs(drawn.mean(0) - 7 * weights) < 6 * spread).all()
    never = distributions.Multinomial(
        2, logits=tensorbus.tensor([0.0, -np.inf]), validate_args=False
    )
    assert never.log_prob(tensorbus.tensor([2.0, 0.0])).item() == 0


@pytest.mark.parametrize("name", ["Categorical", "OneHotCategorical"])
def test_categories(name: str) -> None:
    weights = np.array([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]])
    d = getattr(distributions, name)(tensor(2 * weights))
    tensorbus.manual_seed(8)
    drawn = d.sample((4000,))
    one_hot = name != "Categorical"
    index = drawn.argmax(-1) if one_hot else drawn
    assert drawn.shape == ((4000, 2, 3) if one_hot else (4000, 2))
    for i in range(2):
        counts = np.bincount(index[:, i].numpy(), minlength=3)
        spread = np.sqrt(4000 * weights[i] * (1 - weights[i]))
        assert (np.abs(counts - 4000 * weights[i]) < 6 * spread).all()
    support = d.enumerate_support()
    np.testing.assert_allclose(d.log_prob(support).exp().numpy(), weights.T)
    np.testing.assert_allclose(d.entropy().numpy(), stats.entropy(weights.T))
    same = getattr(distributions, name)(logits=tensor(np.log(weights) + 5))
    np.testing.assert_allclose(same.probs.numpy(), weights)
    mode = d.mode.argmax(-1) if one_hot else d.mode
    assert mode.tolist() == [1, 0]


def test_straight_through_gradients() -> None:
    probs = tensorbus.tensor([0.2, 0.8], requires_grad=True)
    d = distributions.OneHotCategoricalStraightThrough(probs)
    x = d.rsample()
    assert sorted(x.detach().round().tolist()) == [0, 1]
    (x * tensorbus.tensor([1.0, 3.0])).sum().backward()
    # of probs / probs.sum()
    assert probs.grad is not None
    np.testing.assert_allclose(probs.grad.numpy(), [1 - 2.6, 3 - 2.6], rtol=1e-5)


def test_relaxed_samples_come_near_the_categories_they_relax() -> None:
    tensorbus.manual_seed(9)
    weights = np.array([0.2, 0.5, 0.3])
    d = distributions.RelaxedOneHotCategorical(tensor(0.1), tensor(weights))
    x = d.rsample((4000,))
    counts = np.bincount(x.argmax(-1).numpy(), minlength=3)
    assert (np.abs(counts - 4000 * weights) < 6 * np.sqrt(4000 * weights * (1 - weights))).all()
    binary = distributions.RelaxedBernoulli(tensor(0.1), tensor(0.3)).sample((4000,))
    assert abs((binary > 0.5).sum().item() - 1200) < 6 * np.sqrt(4000 * 0.21)


def test_relaxed_densities_integrate_to_one() -> None:
    x = (tensorbus.arange(20_000, dtype=tensorbus.float64) + 0.5) / 20_000
    for temperature in (0.7, 2.0):
        binary = distributions.RelaxedBernoulli(tensor(temperature), tensor(0.3))
        assert abs(binary.log_prob(x).exp().mean().item() - 1) < 1e-2
        pair = distributions.RelaxedOneHotCategorical(tensor(temperature), tensor([0.3, 0.7]))
        both = tensorbus.stack([x, 1 - x], -1)
        assert abs(pair.log_prob(both).exp().mean().item() - 1) < 1e-2
        np.testing.assert_allclose(
            pair.log_prob(both).numpy(), binary.log_prob(x).numpy(), rtol=1e-6, atol=1e-9
        )


def test_logistic_normal() -> None:
    """With two classes the log odds of the first are normal."""
    d = distributions.LogisticNormal(tensor([0.4]), tensor([0.8]))
    p = np.array([0.2, 0.5, 0.9])
    logit = np.log(p / (1 - p))
    expected = stats.norm(0.4, 0.8).logpdf(logit) - np.log(p * (1 - p))
    both = tensor(np.stack([p, 1 - p], -1))
    np.testing.assert_allclose(d.log_prob(both).numpy(), expected, rtol=1e-9)
    tensorbus.manual_seed(10)
    x = d.rsample((4000,))[:, 0]
    assert stats.kstest(x.logit().numpy(), stats.norm(0.4, 0.8).cdf).pvalue > 1e-9


def test_mixtures() -> None:
    weights, loc, scale = np.array([0.3, 0.7]), np.array([-1.0, 2.0]), np.array([0.5, 1.5])
    parts = distributions.Normal(tensor(loc), tensor(scale))
    d = distributions.MixtureSameFamily(distributions.Categorical(tensor(weights)), parts)
    x = np.linspace(-3, 5, 9)
    density = (weights * stats.norm(loc, scale).pdf(x[:, None])).sum(-1)
    np.testing.assert_allclose(d.log_prob(tensor(x)).numpy(), np.log(density), rtol=1e-9)

    def level(x: Any) -> Any:
        return (weights * stats.norm(loc, scale).cdf(np.asarray(x)[..., None])).sum(-1)

    np.testing.assert_allclose(d.cdf(tensor(x)).numpy(), level(x), rtol=1e-9)
    tensorbus.manual_seed(11)
    drawn = d.sample((5000,)).numpy()
    assert stats.kstest(drawn, level).pvalue > 1e-9
    mean = (weights * loc).sum()
    np.testing.assert_allclose(d.mean.item(), mean)
    np.testing.assert_allclose(d.variance.item(), (weights * (scale**2 + (loc - mean) ** 2)).sum())


def test_one_mixture_weight_for_a_batch_of_vectors() -> None:
    D = distributions
    parts = D.Independent(D.Normal(tensorbus.randn(4, 2, 3), 1.0), 1)
    d = D.MixtureSameFamily(D.Categorical(tensorbus.tensor([0.0, 1.0])), parts)
    assert d.batch_shape == (4,) and d.event_shape == (3,)
    assert d.sample((5,)).shape == (5, 4, 3) and d.mean.shape == d.variance.shape == (4, 3)
    np.testing.assert_allclose(d.mean.numpy(), parts.mean[:, 1].numpy())
    assert d.expand((2, 4)).sample().shape == (2, 4, 3)
    x = parts.mean[:, 1]
    np.testing.assert_allclose(
        d.log_prob(x).numpy(), parts.log_prob(parts.mean)[:, 1].numpy(), 1e-5
    )
