"""The Laplace distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.location_scale import LocationScale
from tensorbus.distributions.utils import open_uniform

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """The Laplace (double exponential) distribution.

    Args:
        loc: the mean.
        scale: the mean distance from it, positive.

    Example:
        >>> laplace = Laplace(tensorbus.tensor([0.0, 1.0]), 2.0)
        >>> laplace.log_prob(tensorbus.tensor(0.0)), laplace.cdf(tensorbus.tensor(1.0))
        (tensor([-1.3863, -1.8863]), tensor([0.6967, 0.5000]))

    Source: https://pytorch.org/docs/stable/distributions.html#laplace
    """

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Laplace, _instance, batch_shape, loc=0, scale=0)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(open_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        tail = 0.5 * (-z.abs()).exp()
        return tensorbus.where(z < 0, tail, 1 - tail)

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
