"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.constraint import holds
from tensorbus.distributions.exp_family import ExponentialFamily
from tensorbus.distributions.probs_or_logits import Odds
from tensorbus.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    standard_uniform,
)
from tensorbus.nn import functional as F

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """The distribution on [0, 1] with a density proportional to ``p**x * (1 - p)**(1 - x)``.

    Args:
        probs: p, which is not the mean.
        logits: instead of it the log odds ``log(p / (1 - p))``.
        lims: between these p is too near 1/2 for the formulas, and a series stands for them.

    Errors: ValueError where *validate_args* is given and *probs* are not in [0, 1].

    Example:
        >>> d = ContinuousBernoulli(tensorbus.tensor([0.5, 0.9]))
        >>> d.mean
        tensor([0.5000, 0.6699])

    Source: https://pytorch.org/docs/stable/distributions.html#continuousbernoulli;
    Loaiza-Ganem and Cunningham, "The continuous Bernoulli", 2019.
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._keep(probs, logits)
        if probs is not None:
            # Clamped, they would pass every check.
            if validate_args is not None and not holds(constraints.unit_interval.check(self.probs)):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(ContinuousBernoulli, _instance, batch_shape, probs=0, logits=0)
        new._given, new._lims = self._given, self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """p."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        low, high = self._lims
        return (self.probs <= low) | (self.probs > high)

    def _cut_probs(self) -> Tensor:
        """p where the formulas hold, and elsewhere a number for which they give one."""
        cut = tensorbus.full_like(self.probs, self._lims[0])
        return tensorbus.where(self._outside_unstable_region(), self.probs, cut)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what the density is scaled by."""
        p = self._cut_probs()
        log_norm = (p.logit() / (2.0 * p - 1.0)).log()
        x = (self.probs - 0.5) ** 2
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return tensorbus.where(self._outside_unstable_region(), log_norm, series)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        mean = p / (2.0 * p - 1.0) - 1.0 / p.logit()
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x
        return tensorbus.where(self._outside_unstable_region(), mean, series)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        variance = p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + 1.0 / p.logit() ** 2
        x = (self.probs - 0.5) ** 2
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return tensorbus.where(self._outside_unstable_region(), variance, series)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - cross

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        cdf = (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        within = tensorbus.where(self._outside_unstable_region(), cdf, value).clamp(0.0, 1.0)
        # Far outside of the support the powers overflow.
        return tensorbus.where(value >= 1, 1.0, within.masked_fill(value <= 0, 0.0))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        quantile = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / p.logit()
        return tensorbus.where(self._outside_unstable_region(), quantile, value)

    def entropy(self) -> Tensor:
        return -self.mean * self.logits - self._cont_bern_log_norm() - (-self.probs).log1p()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        low, high = (limit - 0.5 for limit in self._lims)
        outside = (x <= low) | (x > high)
        cut = tensorbus.where(outside, x, tensorbus.full_like(x, low))
        series = 0.5 * x + x**2 / 24.0 - x**4 / 2880.0
        return tensorbus.where(outside, (cut.expm1() / cut).log(), series)
