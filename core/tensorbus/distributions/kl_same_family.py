"""Divergences of two distributions of one class.

Sources: Gil, "On Rényi divergence measures for continuous alphabet sources", 2011; Chyzak and
Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions",
2019.
"""

from __future__ import annotations

import math

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.bernoulli import Bernoulli
from tensorbus.distributions.beta import Beta
from tensorbus.distributions.binomial import Binomial
from tensorbus.distributions.categorical import Categorical
from tensorbus.distributions.cauchy import Cauchy
from tensorbus.distributions.constraint import holds
from tensorbus.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorbus.distributions.dirichlet import Dirichlet
from tensorbus.distributions.exp_family import ExponentialFamily
from tensorbus.distributions.exponential import Exponential
from tensorbus.distributions.gamma import Gamma
from tensorbus.distributions.geometric import Geometric
from tensorbus.distributions.gumbel import Gumbel
from tensorbus.distributions.half_normal import HalfNormal
from tensorbus.distributions.independent import Independent
from tensorbus.distributions.kl import kl_divergence, register_kl
from tensorbus.distributions.laplace import Laplace
from tensorbus.distributions.normal import Normal
from tensorbus.distributions.one_hot_categorical import OneHotCategorical
from tensorbus.distributions.pareto import Pareto
from tensorbus.distributions.poisson import Poisson
from tensorbus.distributions.transformed_distribution import TransformedDistribution
from tensorbus.distributions.uniform import Uniform
from tensorbus.distributions.utils import euler_constant, sum_rightmost
from tensorbus.nn.functional import logsigmoid


# -- made of other distributions -------------------------------------------------------------
@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Bregman's divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "be computed using Bregman divergences"
        )
    params, normalizer, slopes = p._normalizer_with_slopes()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for own, other, slope in zip(params, q._natural_params, slopes, strict=True):
        term = (other - own) * slope
        result = result - sum_rightmost(term, term.dim() - result.dim())
    return result


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return kl_divergence(p._categorical, q._categorical)


# -- discrete --------------------------------------------------------------------------------
@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (logsigmoid(p.logits) - logsigmoid(q.logits))
    one = one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0)
    zero = (1 - p.probs) * (logsigmoid(-p.logits) - logsigmoid(-q.logits))
    zero = zero.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0.0)
    return one + zero


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if not holds(p.total_count >= q.total_count):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    of_trial = kl_divergence(Bernoulli(p.probs), Bernoulli(q.probs))
    return (p.total_count * of_trial).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill(q.probs == 0, math.inf)
    return terms.masked_fill(p.probs == 0, 0.0).sum(-1)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate.xlogy(p.rate) - p.rate.xlogy(q.rate) - (p.rate - q.rate)


# -- on an interval --------------------------------------------------------------------------
@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    return kl_divergence(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    scale = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return scale + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(
    p: ContinuousBernoulli, q: ContinuousBernoulli
) -> Tensor:
    scales = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return p.mean * (p.logits - q.logits) + scales + (-p.probs).log1p() - (-q.probs).log1p()


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


# -- on a half line --------------------------------------------------------------------------
@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    scale = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return scale + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)


# -- on the line -----------------------------------------------------------------------------
@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    square = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return square.log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = ((1 + ratio).lgamma() - distance).exp()
    return distance - ratio.log() + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale - ratio.log() + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())
