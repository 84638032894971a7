"""The F distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.gamma import Gamma
from tensorbus.distributions.utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution, that of a ratio of two means of squares of normal variables.

    Args:
        df1: the degrees of freedom of the numerator, positive.
        df2: those of the denominator, positive.

    Example:
        >>> f = FisherSnedecor(2.0, tensorbus.tensor([1.0, 4.0]))
        >>> f.mean, f.log_prob(tensorbus.tensor(1.0))
        (tensor([nan, 2.]), tensor([-1.6479, -1.2164]))

    Source: https://pytorch.org/docs/stable/distributions.html#fishersnedecor
    """

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1, validate_args=validate_args)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2, validate_args=validate_args)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(FisherSnedecor, _instance, batch_shape, df1=0, df2=0)
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        n, m = self.df1, self.df2
        variance = 2 * m.pow(2) * (n + m - 2) / (n * (m - 2).pow(2) * (m - 4))
        return variance.masked_fill(m <= 4, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        tiny = tensorbus.finfo(self.df1.dtype).tiny
        below = self._gamma2.rsample(sample_shape).clamp(min=tiny)
        return (self._gamma1.rsample(sample_shape) / below).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        scale = (a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log()
        return scale + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
