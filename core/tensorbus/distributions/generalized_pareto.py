"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.utils import broadcast_all, standard_uniform

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution, of what exceeds a threshold.

    It is an exponential one where *concentration* is 0, a uniform one where it is -1.

    Args:
        loc: the threshold.
        scale: positive.
        concentration: the shape xi: positive for heavy tails, negative for bounded ones.

    Example:
        >>> d = GeneralizedPareto(0.0, 1.0, tensorbus.tensor([-1.0, 0.0, 0.5]))
        >>> d.mean, d.cdf(tensorbus.tensor(0.5))
        (tensor([0.5000, 1.0000, 2.0000]), tensor([0.5000, 0.3935, 0.3600]))

    Source: https://pytorch.org/docs/stable/distributions.html#generalizedpareto
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(
            GeneralizedPareto, _instance, batch_shape, loc=0, scale=0, concentration=0
        )

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        bounded = self.concentration < 0
        return constraints.interval(self.loc, tensorbus.where(bounded, end, math.inf))

    def _shape(self) -> tuple[Tensor, Tensor]:
        """Where the shape is so near 0 that a series stands for the formula, and 1 there."""
        xi = self.concentration
        zero = tensorbus.isclose(xi, tensorbus.zeros_like(xi))
        return zero, xi.masked_fill(zero, 1.0)

    @property
    def mean(self) -> Tensor:
        mean = self.loc + self.scale / (1 - self.concentration)
        return mean.masked_fill(self.concentration >= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        xi = self.concentration
        variance = self.scale**2 / ((1 - xi) ** 2 * (1 - 2 * xi))
        return variance.masked_fill(xi >= 0.5, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, xi = self._shape()
        power = 1 / xi + tensorbus.ones_like(z)
        # At -1 the density is the same everywhere, at the end too.
        tail = tensorbus.where(power == 0, power, power * (xi * z).log1p())
        return -self.scale.log() - tensorbus.where(
            zero, z + self.concentration * (z - z**2 / 2), tail
        )

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of what is greater than *value*."""
        if self._validate_args:
            self._validate_sample(value)
        # All is greater than what lies below the support, and nothing than what lies above.
        z = ((value - self.loc) / self.scale).clamp(min=0.0)
        zero, xi = self._shape()
        near = z * (1 - self.concentration * z.clamp(max=1e4) / 2)
        return -tensorbus.where(zero, near, (xi * z).clamp(min=-1.0).log1p() / xi)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of what is at most *value*."""
        return self.cdf(value).log()

    def cdf(self, value: Tensor) -> Tensor:
        return -self.log_survival_function(value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        zero, xi = self._shape()
        waited = -(-value).log1p()
        near = waited + self.concentration * waited**2 / 2
        quantile = tensorbus.where(zero, near, (xi * waited).expm1() / xi)
        return self.loc + self.scale * quantile

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
