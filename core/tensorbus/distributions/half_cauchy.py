"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.cauchy import Cauchy
from tensorbus.distributions.half import Half

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The distribution of the absolute value of a variable of Cauchy's distribution around 0.

    Args:
        scale: the median, positive.

    Example:
        >>> HalfCauchy(tensorbus.tensor([1.0, 2.0])).cdf(tensorbus.tensor(2.0))
        tensor([0.7048, 0.5000])

    Source: https://pytorch.org/docs/stable/distributions.html#halfcauchy
    """

    whole = Cauchy

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(HalfCauchy, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return self.scale.new_full(self._extended_shape(), math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return super().log_prob(
            tensorbus.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (value / self.scale).atan() * (2 / math.pi)

    def icdf(self, value: Tensor) -> Tensor:
        return (value * (math.pi / 2)).tan() * self.scale
