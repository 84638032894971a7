"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.exp_family import ExponentialFamily
from tensorbus.distributions.random_draws import standard_gamma
from tensorbus.distributions.utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Gradients of ``rsample`` are those of the quantile function.

    Args:
        concentration: the shape alpha, positive.
        rate: the inverse of the scale, positive.

    Example:
        >>> gamma = Gamma(tensorbus.tensor([1.0, 2.0]), 2.0)
        >>> gamma.mean, gamma.cdf(tensorbus.tensor(1.0))
        (tensor([0.5000, 1.0000]), tensor([0.8647, 0.5940]))

    Source: https://pytorch.org/docs/stable/distributions.html#gamma
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Gamma, _instance, batch_shape, concentration=0, rate=0)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # It may have become 0, where densities are infinite; the gradient is that of the quotient.
        tiny = tensorbus.finfo(drawn.dtype).tiny
        return drawn + (tiny - drawn.detach()).clamp(min=0.0)

    def log_prob(self, value: Tensor) -> Tensor:
        value = tensorbus.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            tensorbus.xlogy(self.concentration, self.rate)
            + tensorbus.xlogy(self.concentration - 1, value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tensorbus.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return (x + 1).lgamma() - (x + 1) * (-y).log()
