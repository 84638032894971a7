"""Divergences beside integrals over SciPy's densities, and beside PyTorch's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from tests.distributions.univariate import CONTINUOUS, DISCRETE, Case

import tensorbus
from tensorbus import distributions
from tensorbus.distributions.kl import _KL_REGISTRY, kl_divergence, register_kl

GIVEN: dict[str, tuple[list[dict[str, float]], ...]] = {
    "Bernoulli": ([{"probs": 0.3}], [{"probs": 0.8}]),
    "Beta": (
        [{"concentration1": 2.5, "concentration0": 1.5}],
        [{"concentration1": 1.2, "concentration0": 3.0}],
    ),
    "Binomial": ([{"probs": 0.3, "total_count": 6.0}], [{"probs": 0.6, "total_count": 6.0}]),
    "Cauchy": ([{"loc": 0.5, "scale": 2.0}], [{"loc": -1.0, "scale": 0.7}]),
    "ContinuousBernoulli": ([{"probs": 0.2}, {"probs": 0.4999}], [{"probs": 0.9}]),
    "Exponential": ([{"rate": 1.7}], [{"rate": 0.6}]),
    "Gamma": (
        [{"concentration": 2.5, "rate": 1.5}],
        [{"concentration": 0.8, "rate": 2.0}, {"concentration": 3.0, "rate": 0.5}],
    ),
    "Geometric": ([{"probs": 0.3}], [{"probs": 0.8}]),
    "Gumbel": ([{"loc": 0.5, "scale": 1.5}], [{"loc": -0.3, "scale": 2.0}]),
    "HalfNormal": ([{"scale": 0.7}], [{"scale": 2.0}]),
    "Laplace": ([{"loc": 0.5, "scale": 1.5}], [{"loc": -0.3, "scale": 2.0}]),
    "Normal": ([{"loc": 0.5, "scale": 1.5}], [{"loc": -0.3, "scale": 2.0}]),
    "Pareto": ([{"scale": 1.5, "alpha": 3.5}], [{"scale": 0.9, "alpha": 2.0}]),
    "Poisson": ([{"rate": 2.5}], [{"rate": 0.8}]),
    "Uniform": ([{"low": 0.2, "high": 0.9}], [{"low": -0.5, "high": 2.0}]),
}
"""Parameters of each class as p, and as q."""
OTHERS = {("Uniform", "Pareto"): ({"low": 1.2, "high": 2.0}, {"scale": 0.9, "alpha": 2.0})}

CASES = {c.name: c for c in (*CONTINUOUS, *DISCRETE)}
PAIRS = sorted(
    (p.__name__, q.__name__) for p, q in _KL_REGISTRY if p.__name__ in GIVEN and q.__name__ in GIVEN
)
ALL = pytest.mark.parametrize("pair", PAIRS, ids="-".join)


def parameters(pair: tuple[str, str]) -> list[tuple[dict[str, float], dict[str, float]]]:
    if pair in OTHERS:
        return [OTHERS[pair]]
    return [(p, q) for p in GIVEN[pair[0]][0] for q in GIVEN[pair[1]][1]]


def divergence(torch: Any, pair: tuple[str, str], p: Any, q: Any) -> Any:
    made = []
    for name, given in zip(pair, (p, q), strict=True):
        tensors = {k: torch.tensor([v], dtype=torch.float64) for k, v in given.items()}
        made.append(getattr(torch.distributions, name)(**tensors))
    return torch.distributions.kl_divergence(*made)


def of_scipy(case: Case, given: dict[str, float]) -> Any:
    return case.scipy(*(given[name] for name in case.parameters))


def integral(pair: tuple[str, str], p: Any, q: Any) -> float:
    a, b = of_scipy(CASES[pair[0]], p), of_scipy(CASES[pair[1]], q)
    if CASES[pair[0]] in DISCRETE:
        k = np.arange(0, 400)
        weight = a.pmf(k)
        some = weight > 0
        return float((weight * (a.logpmf(k) - b.logpmf(k)))[some].sum())

    def weighted(x: float) -> float:
        density = a.pdf(x)
        return density * (a.logpdf(x) - b.logpdf(x)) if density > 0 else 0.0

    tails = [1e-9, 1e-7, 1e-5, 1e-3, 0.03]
    ends = [*a.ppf([0.0, *tails, 0.3, 0.7]), *a.isf([*tails[::-1], 0.0])]
    steps = itertools.pairwise(ends)
    return sum(integrate.quad(weighted, x, y, epsabs=1e-12, limit=400)[0] for x, y in steps)


def never_finite(pair: tuple[str, str]) -> bool:
    return _KL_REGISTRY[
        getattr(distributions, pair[0]), getattr(distributions, pair[1])
    ].__name__ == "_infinite"  # fmt: skip


@ALL
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_a_divergence_is_the_integral(pair: tuple[str, str]) -> None:
    for p, q in parameters(pair):
        found = divergence(tensorbus, pair, p, q)
        assert found.shape == (1,)
        if never_finite(pair):
            # somewhere p has a density and q has none
            a, b = of_scipy(CASES[pair[0]], p), of_scipy(CASES[pair[1]], q)
            x = a.ppf(np.linspace(0.001, 0.9999, 400))
            method = "pmf" if CASES[pair[0]] in DISCRETE else "pdf"
            outside = np.unique(np.floor(x)) + 8 if method == "pmf" else x
            if pair[1] != "Pareto" or pair[0] != "Beta":
                assert (getattr(b, method)(outside) == 0).any()
            assert found.item() == math.inf
        else:
            np.testing.assert_allclose(found.item(), integral(pair, p, q), rtol=1e-6)


@ALL
def test_pytorch_finds_the_same(pair: tuple[str, str], oracle: Any) -> None:
    def all_of(torch: Any) -> list[float]:
        return [divergence(torch, pair, p, q).item() for p, q in parameters(pair)]

    np.testing.assert_allclose(all_of(tensorbus), oracle(all_of), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "p, q",
    [
        (distributions.Uniform(0.5, 1.5), distributions.Uniform(0.0, 1.0)),
        (distributions.Uniform(-0.5, 0.5), distributions.Beta(1.0, 2.0)),
        (distributions.Uniform(0.5, 1.5), distributions.ContinuousBernoulli(0.2)),
        (distributions.Uniform(-0.5, 0.5), distributions.Exponential(1.0)),
        (distributions.Uniform(-0.5, 0.5), distributions.Gamma(2.0, 1.0)),
        (distributions.Uniform(0.5, 1.5), distributions.Pareto(1.0, 2.0)),
        (distributions.Beta(1.0, 2.0), distributions.Uniform(0.1, 2.0)),
        (distributions.ContinuousBernoulli(0.3), distributions.Uniform(-1.0, 0.5)),
        (distributions.Pareto(0.5, 2.0), distributions.Pareto(1.0, 2.0)),
        (distributions.Pareto(1.0, 0.9), distributions.Exponential(1.0)),
        (distributions.Pareto(1.0, 1.0), distributions.Gamma(2.0, 1.0)),
        (distributions.Pareto(1.0, 1.9), distributions.Normal(0.0, 1.0)),
        (distributions.Bernoulli(0.5), distributions.Bernoulli(1.0)),
        (distributions.Binomial(3, 0.5), distributions.Binomial(2, 0.5)),
        (
            distributions.Categorical(tensorbus.tensor([0.5, 0.5])),
            distributions.Categorical(tensorbus.tensor([1.0, 0.0])),
        ),
    ],
    ids=lambda d: type(d).__name__,
)
def test_what_q_never_gives_makes_it_infinite(p: Any, q: Any) -> None:
    assert kl_divergence(p, q).item() == math.inf


def test_what_p_never_gives_adds_nothing() -> None:
    never = distributions.Categorical(tensorbus.tensor([1.0, 0.0]))
    either = distributions.Categorical(tensorbus.tensor([0.5, 0.5]))
    assert kl_divergence(never, either).item() == pytest.approx(math.log(2), abs=1e-6)
    assert kl_divergence(distributions.Bernoulli(0.0), distributions.Bernoulli(0.5)).item() == (
        pytest.approx(math.log(2))
    )


def test_a_continuous_bernoulli_and_a_uniform_distribution_with_the_same_ends() -> None:
    """PyTorch says infinity here, which is wrong: both have the support [0, 1]."""
    cb, uniform = distributions.ContinuousBernoulli(0.2), distributions.Uniform(0.0, 1.0)
    there, back = kl_divergence(cb, uniform), kl_divergence(uniform, cb)
    assert there.item() == pytest.approx(-cb.entropy().item())
    x = (tensorbus.arange(10_000) + 0.5) / 10_000
    assert back.item() == pytest.approx(-cb.log_prob(x).mean().item(), rel=1e-4)


def test_batches_broadcast_also_where_it_is_infinite() -> None:
    p = distributions.Normal(tensorbus.zeros(3, 1), 1.0)
    assert kl_divergence(p, distributions.Gumbel(tensorbus.zeros(2), 1.0)).shape == (3, 2)
    assert kl_divergence(p, distributions.Exponential(tensorbus.ones(2))).shape == (3, 2)


def test_distributions_made_of_others() -> None:
    D = distributions
    p, q = D.Normal(tensorbus.zeros(2, 3), 1.0), D.Normal(tensorbus.ones(3), 2.0).expand((2, 3))
    each = kl_divergence(p, q)
    assert kl_divergence(D.Independent(p, 1), D.Independent(q, 1)).equal(each.sum(-1))
    assert kl_divergence(D.LogNormal(0.0, 1.0), D.LogNormal(1.0, 2.0)).equal(each[0, 0])
    with pytest.raises(NotImplementedError):
        kl_divergence(D.Independent(p, 1), D.Independent(q, 2))
    with pytest.raises(NotImplementedError):
        kl_divergence(D.LogNormal(0.0, 1.0), D.TransformedDistribution(q, D.TanhTransform()))
    weights = tensorbus.tensor([0.2, 0.8]), tensorbus.tensor([0.6, 0.4])
    one_hot = kl_divergence(*(D.OneHotCategorical(w) for w in weights))
    assert one_hot.equal(kl_divergence(*(D.Categorical(w) for w in weights)))
    assert one_hot.item() == pytest.approx(0.2 * math.log(1 / 3) + 0.8 * math.log(2))


def test_gradients_reach_both() -> None:
    leaves = [
        tensorbus.tensor(v, dtype=tensorbus.float64, requires_grad=True)
        for v in (4.0, 5.0, [[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.1], [0.1, 3.0]])
    ]

    def of(a: Any, b: Any, V: Any, W: Any) -> Any:
        p = distributions.Wishart(a, V @ V.mT, validate_args=False)
        return kl_divergence(p, distributions.Wishart(b, W @ W.mT, validate_args=False))

    assert tensorbus.autograd.gradcheck(of, leaves)


def test_a_pair_without_a_formula() -> None:
    with pytest.raises(
        NotImplementedError,
        match=r"No KL\(p \|\| q\) is implemented for p type Laplace and q type Cauchy",
    ):
        kl_divergence(distributions.Laplace(0.0, 1.0), distributions.Cauchy(0.0, 1.0))
    with pytest.raises(NotImplementedError, match="cross KL-divergence between different expon"):
        kl_divergence(distributions.Bernoulli(0.5), distributions.Gamma(1.0, 1.0))


def test_the_most_specific_pair_is_called_and_a_tie_warns(monkeypatch: Any) -> None:
    from tensorbus.distributions import kl

    monkeypatch.setattr(kl, "_KL_REGISTRY", dict(kl._KL_REGISTRY))
    monkeypatch.setattr(kl, "_KL_MEMOIZE", {})

    class A(distributions.Normal):
        pass

    class B(A):
        pass

    register_kl(A, A)(lambda p, q: "A")
    assert kl_divergence(A(0.0, 1.0), A(0.0, 1.0)) == "A"
    assert kl_divergence(B(0.0, 1.0), A(0.0, 1.0)) == "A"
    assert kl_divergence(A(0.0, 1.0), distributions.Normal(0.0, 1.0)).item() == 0
    register_kl(A, B)(lambda p, q: "AB")
    register_kl(B, A)(lambda p, q: "BA")
    with pytest.warns(RuntimeWarning, match=r"Ambiguous .*\(B, B\). Please register_kl\(B, B\)"):
        assert kl_divergence(B(0.0, 1.0), B(0.0, 1.0)) == "BA"
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass but got"):
        register_kl(1, A)
