"""The log-normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.normal import Normal
from tensorbus.distributions.pointwise_transforms import ExpTransform
from tensorbus.distributions.transformed_distribution import TransformedDistribution

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution of the exponential of a normal variable.

    Args:
        loc: the mean of the logarithm.
        scale: the standard deviation of the logarithm, positive.

    Example:
        >>> d = LogNormal(0.0, tensorbus.tensor([0.5, 1.0]))
        >>> d.mean, d.cdf(tensorbus.tensor(1.0))
        (tensor([1.1331, 1.6487]), tensor([0.5000, 0.5000]))

    Source: https://pytorch.org/docs/stable/distributions.html#lognormal
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
