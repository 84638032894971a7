"""Divergences of distributions of two classes: ``-entropy(p) - E[log q(x)]``, x drawn of p.

What is needed of p for the second term are means of some functions of x, which stand in tables
here; each class of q says which. Where q gives no density to what p may give, it is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.bernoulli import Bernoulli
from tensorbus.distributions.beta import Beta
from tensorbus.distributions.binomial import Binomial
from tensorbus.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorbus.distributions.exponential import Exponential
from tensorbus.distributions.gamma import Gamma
from tensorbus.distributions.gumbel import Gumbel
from tensorbus.distributions.kl import register_kl
from tensorbus.distributions.laplace import Laplace
from tensorbus.distributions.normal import Normal
from tensorbus.distributions.pareto import Pareto
from tensorbus.distributions.poisson import Poisson
from tensorbus.distributions.uniform import Uniform
from tensorbus.distributions.utils import euler_constant


# -- means of functions of x -----------------------------------------------------------------
def _mean_log_up_to(end: Tensor) -> Tensor:
    return tensorbus.xlogy(end, end) - end


def _mean_log_of_uniform(low: Tensor, high: Tensor) -> Tensor:
    return (_mean_log_up_to(high) - _mean_log_up_to(low)) / (high - low)


_MEAN_LOG: dict[type, Callable[[Any], Tensor]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_of_uniform(p.low, p.high),
}
"""Of ``log(x)``."""

_MEAN_EXP: dict[type, Callable[[Any, Tensor], Tensor]] = {
    Exponential: lambda p, t: p.rate / (p.rate - t),
    Gamma: lambda p, t: (-p.concentration * (-t / p.rate).log1p()).exp(),
    Normal: lambda p, t: (t * p.loc + 0.5 * (t * p.scale) ** 2).exp(),
    Uniform: lambda p, t: ((t * p.high).exp() - (t * p.low).exp()) / (t * (p.high - p.low)),
}
"""Of ``exp(t * x)``, for negative t."""


def _of(table: dict[type, Callable[..., Tensor]], p: Any) -> Callable[..., Tensor]:
    return next(function for cls, function in table.items() if isinstance(p, cls))


# -- means of log q(x) -----------------------------------------------------------------------
def _by_beta(p: Any, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    mean_log_rest = _mean_log_of_uniform(1 - p.high, 1 - p.low)
    scale = (a + b).lgamma() - a.lgamma() - b.lgamma()
    return scale + (a - 1) * _of(_MEAN_LOG, p)(p) + (b - 1) * mean_log_rest


def _by_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()


def _by_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _by_gamma(p: Any, q: Gamma) -> Tensor:
    a = q.concentration
    scale = a * q.rate.log() - a.lgamma()
    return scale + (a - 1) * _of(_MEAN_LOG, p)(p) - q.rate * p.mean


def _by_gumbel(p: Any, q: Gumbel) -> Tensor:
    mean_exp = _of(_MEAN_EXP, p)(p, -1 / q.scale)
    at = q.loc / q.scale
    return at - q.scale.log() - p.mean / q.scale - at.exp() * mean_exp


def _by_laplace(p: Any, q: Laplace) -> Tensor:
    distance = p.loc - q.loc
    z = distance / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp()
    mean_distance = near + distance * (z * math.sqrt(0.5)).erf()
    return -(2 * q.scale).log() - mean_distance / q.scale


def _by_normal(p: Any, q: Normal) -> Tensor:
    square = p.variance + (p.mean - q.loc).pow(2)
    return -0.5 * (math.log(2 * math.pi) + square / q.scale.pow(2)) - q.scale.log()


def _by_pareto(p: Any, q: Pareto) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _of(_MEAN_LOG, p)(p)


def _by_poisson(p: Any, q: Poisson) -> Tensor:
    return tensorbus.xlogy(p.mean, q.rate) - q.rate  # of 0 and 1, whose factorials are 1


def _by_uniform(p: Any, q: Uniform) -> Tensor:
    return -(q.high - q.low).log() + 0 * p.mean


_LOG_DENSITIES: dict[type, Callable[[Any, Any], Tensor]] = {
    Beta: _by_beta,
    ContinuousBernoulli: _by_continuous_bernoulli,
    Exponential: _by_exponential,
    Gamma: _by_gamma,
    Gumbel: _by_gumbel,
    Laplace: _by_laplace,
    Normal: _by_normal,
    Pareto: _by_pareto,
    Poisson: _by_poisson,
    Uniform: _by_uniform,
}

_OUTSIDE: dict[type, Callable[[Any, Any], Tensor]] = {
    Beta: lambda p, q: (p.low < 0) | (p.high > 1),
    ContinuousBernoulli: lambda p, q: (p.low < 0) | (p.high > 1),
    Exponential: lambda p, q: p.low < 0,
    Gamma: lambda p, q: p.low < 0,
    Pareto: lambda p, q: p.low < q.scale,
}
"""Where a uniform distribution leaves the support of q."""


# -- the pairs -------------------------------------------------------------------------------
def _finite(p: Any, q: Any) -> Tensor:
    by = next(cls for cls in _LOG_DENSITIES if isinstance(q, cls))
    result = -p.entropy() - _LOG_DENSITIES[by](p, q)
    if isinstance(p, Uniform) and by in _OUTSIDE:
        return result.masked_fill(_OUTSIDE[by](p, q), math.inf)
    if isinstance(q, Uniform):
        return result.masked_fill((q.low > 0) | (q.high < 1), math.inf)
    return result


def _infinite(p: Any, q: Any) -> Tensor:
    return p.mean.new_full(tensorbus.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf)


_PAIRS: tuple[tuple[type, tuple[type, ...], tuple[type, ...]], ...] = (
    (Bernoulli, (Poisson,), ()),
    (Beta, (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform), (Pareto,)),
    (ContinuousBernoulli, (Exponential, Normal, Uniform), (Pareto,)),
    (Exponential, (Gamma, Gumbel, Normal), (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Exponential, Gumbel, Normal), (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, (Normal,), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, (Normal,), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Gumbel, Laplace), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, (Exponential, Gamma, Normal), (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (), (Bernoulli, Binomial)),
    (Uniform, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto), ()),
)
"""A class of p, and those of q with which the divergence is finite, and with which it never is."""

for _p, _with_density, _without in _PAIRS:
    for _q in _with_density:
        register_kl(_p, _q)(_finite)
    for _q in _without:
        register_kl(_p, _q)(_infinite)
