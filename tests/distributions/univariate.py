"""Distributions of single numbers, each with parameters and SciPy's distribution of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

import tensorbus
from tensorbus import distributions


@dataclass
class Case:
    """One distribution: a batch of parameters in float64, and what SciPy makes of each."""

    name: str
    parameters: dict[str, list[float]]
    scipy: Any
    """Takes one of each parameter."""
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(next(iter(self.parameters.values())))

    def arguments(self, torch: Any = tensorbus) -> dict[str, Any]:
        made = {k: torch.tensor(v, dtype=torch.float64) for k, v in self.parameters.items()}
        return {**made, **self.kwargs}

    def ours(self, **kwargs: Any) -> Any:
        return getattr(distributions, self.name)(**{**self.arguments(), **kwargs})

    def theirs(self) -> list[Any]:
        rows = zip(*self.parameters.values(), strict=True)
        return [self.scipy(*row) for row in rows]

    def values(self) -> np.ndarray:
        """Values of the support: a row of quantiles for each element of the batch, transposed."""
        levels = np.array([0.01, 0.1, 0.35, 0.5, 0.8, 0.97])
        return np.stack([s.ppf(levels) for s in self.theirs()], -1)


LOC, SCALE = [0.0, -1.5, 3.0], [1.0, 0.2, 5.0]
A, B = [0.4, 1.0, 3.5, 40.0], [0.7, 2.0, 1.5, 9.0]


class Kumaraswamy(stats.rv_continuous):  # type: ignore[misc]
    """SciPy has none: the cdf is ``1 - (1 - x**a)**b``."""

    def _cdf(self, x: Any, a: Any, b: Any) -> Any:
        return -np.expm1(b * np.log1p(-(x**a)))

    def _ppf(self, q: Any, a: Any, b: Any) -> Any:
        return (-np.expm1(np.log1p(-q) / b)) ** (1 / a)

    def _pdf(self, x: Any, a: Any, b: Any) -> Any:
        return a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)


class ContinuousBernoulli(stats.rv_continuous):  # type: ignore[misc]
    """SciPy has none: an exponential distribution cut at 1, which may rise."""

    def _pdf(self, x: Any, p: Any) -> Any:
        rate = np.log((1 - p) / p)
        return rate * np.exp(-rate * x) / -np.expm1(-rate)

    def _cdf(self, x: Any, p: Any) -> Any:
        rate = np.log((1 - p) / p)
        return np.expm1(-rate * x) / np.expm1(-rate)

    def _ppf(self, q: Any, p: Any) -> Any:
        rate = np.log((1 - p) / p)
        return -np.log1p(q * np.expm1(-rate)) / rate


KUMARASWAMY = Kumaraswamy(a=0.0, b=1.0)
CONTINUOUS_BERNOULLI = ContinuousBernoulli(a=0.0, b=1.0)

CONTINUOUS = [
    Case("Normal", {"loc": LOC, "scale": SCALE}, stats.norm),
    Case("Cauchy", {"loc": LOC, "scale": SCALE}, stats.cauchy),
    Case("Laplace", {"loc": LOC, "scale": SCALE}, stats.laplace),
    Case("Gumbel", {"loc": LOC, "scale": SCALE}, stats.gumbel_r),
    Case(
        "Uniform",
        {"low": [0.0, -2.0], "high": [1.0, 5.0]},
        lambda low, high: stats.uniform(low, high - low),
    ),
    Case("HalfNormal", {"scale": SCALE}, lambda scale: stats.halfnorm(scale=scale)),
    Case("HalfCauchy", {"scale": SCALE}, lambda scale: stats.halfcauchy(scale=scale)),
    Case("Exponential", {"rate": SCALE}, lambda rate: stats.expon(scale=1 / rate)),
    Case(
        "LogNormal",
        {"loc": [0.0, -1.5, 2.0], "scale": [1.0, 0.2, 0.7]},
        lambda loc, scale: stats.lognorm(scale, scale=np.exp(loc)),
    ),
    Case(
        "Gamma",
        {"concentration": A, "rate": B},
        lambda a, rate: stats.gamma(a, scale=1 / rate),
    ),
    Case("Chi2", {"df": A}, stats.chi2),
    Case(
        "InverseGamma",
        {"concentration": A, "rate": B},
        lambda a, rate: stats.invgamma(a, scale=rate),
    ),
    Case("Beta", {"concentration1": A, "concentration0": B}, stats.beta),
    Case("FisherSnedecor", {"df1": [1.0, 5.0, 3.5], "df2": [1.5, 4.5, 12.0]}, stats.f),
    Case(
        "StudentT",
        {"df": [0.8, 1.5, 9.0], "loc": LOC, "scale": SCALE},
        stats.t,
    ),
    Case("Pareto", {"scale": B, "alpha": A}, lambda scale, a: stats.pareto(a, scale=scale)),
    Case(
        "GeneralizedPareto",
        {"loc": [0.0, 1.0, -1.0, 2.0, 0.0], "scale": [1.0, 2.0, 0.5, 1.0, 3.0],
         "concentration": [0.3, 0.7, 0.0, -0.4, -1.0]},
        lambda loc, scale, xi: stats.genpareto(xi, loc, scale),
    ),
    Case(
        "Weibull",
        {"scale": B, "concentration": [0.6, 1.0, 2.5, 7.0]},
        lambda scale, k: stats.weibull_min(k, scale=scale),
    ),
    Case(
        "Kumaraswamy",
        {"concentration1": [0.6, 1.5, 3.0], "concentration0": [0.8, 2.0, 1.2]},
        KUMARASWAMY,
    ),
    Case("ContinuousBernoulli", {"probs": [0.05, 0.45, 0.9]}, CONTINUOUS_BERNOULLI),
    Case("VonMises", {"loc": [0.0, 1.0], "concentration": [0.5, 30.0]},
         lambda loc, kappa: stats.vonmises(kappa, loc)),
]  # fmt: skip

P = [0.03, 0.3, 0.5, 0.9]

DISCRETE = [
    Case("Bernoulli", {"probs": P}, stats.bernoulli),
    Case("Geometric", {"probs": P}, lambda p: stats.geom(p, loc=-1)),
    Case(
        "Binomial",
        {"probs": P, "total_count": [5.0, 40.0, 1.0, 12.0]},
        lambda p, n: stats.binom(n, p),
    ),
    Case(
        "NegativeBinomial",
        {"probs": P, "total_count": [0.5, 4.0, 1.0, 2.5]},
        lambda p, n: stats.nbinom(n, 1 - p),
    ),
    Case("Poisson", {"rate": [0.2, 1.0, 35.0]}, stats.poisson),
]
