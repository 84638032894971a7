"""Probability distributions: samples, densities, divergences, and what their parameters may be.

>>> import tensorbus
>>> normal = tensorbus.distributions.Normal(tensorbus.tensor([0.0, 1.0]), 1.0)
>>> normal.log_prob(tensorbus.tensor(0.0))
tensor([-0.9189, -1.4189])
"""

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.distributions import (  # noqa: F401  they fill the table of divergences
    kl_between_families,
    kl_multivariate,
    kl_same_family,
)
from tensorbus.distributions.bernoulli import Bernoulli
from tensorbus.distributions.beta import Beta
from tensorbus.distributions.binomial import Binomial
from tensorbus.distributions.categorical import Categorical
from tensorbus.distributions.cauchy import Cauchy
from tensorbus.distributions.chi2 import Chi2
from tensorbus.distributions.constraint_registry import biject_to, transform_to
from tensorbus.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorbus.distributions.dirichlet import Dirichlet
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.exp_family import ExponentialFamily
from tensorbus.distributions.exponential import Exponential
from tensorbus.distributions.fishersnedecor import FisherSnedecor
from tensorbus.distributions.gamma import Gamma
from tensorbus.distributions.generalized_pareto import GeneralizedPareto
from tensorbus.distributions.geometric import Geometric
from tensorbus.distributions.gumbel import Gumbel
from tensorbus.distributions.half_cauchy import HalfCauchy
from tensorbus.distributions.half_normal import HalfNormal
from tensorbus.distributions.independent import Independent
from tensorbus.distributions.inverse_gamma import InverseGamma
from tensorbus.distributions.kl import kl_divergence, register_kl
from tensorbus.distributions.kumaraswamy import Kumaraswamy
from tensorbus.distributions.laplace import Laplace
from tensorbus.distributions.lkj_cholesky import LKJCholesky
from tensorbus.distributions.log_normal import LogNormal
from tensorbus.distributions.logistic_normal import LogisticNormal
from tensorbus.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tensorbus.distributions.mixture_same_family import MixtureSameFamily
from tensorbus.distributions.multinomial import Multinomial
from tensorbus.distributions.multivariate_normal import MultivariateNormal
from tensorbus.distributions.negative_binomial import NegativeBinomial
from tensorbus.distributions.normal import Normal
from tensorbus.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from tensorbus.distributions.pareto import Pareto
from tensorbus.distributions.poisson import Poisson
from tensorbus.distributions.relaxed_bernoulli import RelaxedBernoulli
from tensorbus.distributions.relaxed_categorical import RelaxedOneHotCategorical
from tensorbus.distributions.studentT import StudentT
from tensorbus.distributions.transformed_distribution import TransformedDistribution
from tensorbus.distributions.transforms import *  # noqa: F403  all of them are here too
from tensorbus.distributions.transforms import __all__ as _transforms
from tensorbus.distributions.uniform import Uniform
from tensorbus.distributions.von_mises import VonMises
from tensorbus.distributions.weibull import Weibull
from tensorbus.distributions.wishart import Wishart

__getattr__ = _attributes(__name__)

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
    *_transforms,
]

_show_pages(__name__, [(n, globals()[n]) for n in __all__])
