"""The Weibull distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.exponential import Exponential
from tensorbus.distributions.pointwise_transforms import AffineTransform, PowerTransform
from tensorbus.distributions.transform import Transform
from tensorbus.distributions.transformed_distribution import TransformedDistribution
from tensorbus.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution, of times until something fails.

    Args:
        scale: lambda, positive.
        concentration: the shape k, positive.

    Example:
        >>> d = Weibull(1.0, tensorbus.tensor([1.0, 2.0]))
        >>> d.mean, d.cdf(tensorbus.tensor(1.0))
        (tensor([1.0000, 0.8862]), tensor([0.6321, 0.6321]))

    Source: https://pytorch.org/docs/stable/distributions.html#weibull
    """

    arg_constraints: ClassVar[Any] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(tensorbus.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Transform]:
        power = PowerTransform(exponent=self.concentration.reciprocal())
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(Weibull, _instance, batch_shape, scale=0, concentration=0)
        new.base_dist = self.base_dist.expand(batch_shape)
        new.transforms = new._steps()
        return new

    @property
    def concentration_reciprocal(self) -> Tensor:
        """The reciprocal of the shape."""
        return self.concentration.reciprocal()

    def _moment(self, n: int) -> Tensor:
        return (1 + n * self.concentration_reciprocal).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        # With a shape below 1 the density falls from 0 on.
        return self.scale * ((k - 1).clamp(min=0.0) / k) ** k.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
