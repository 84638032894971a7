"""The half-normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.half import Half
from tensorbus.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The distribution of the absolute value of a normal variable around 0.

    Args:
        scale: the standard deviation of the normal variable, positive.

    Example:
        >>> half = HalfNormal(tensorbus.tensor([1.0, 2.0]))
        >>> half.mean, half.cdf(tensorbus.tensor(1.0))
        (tensor([0.7979, 1.5958]), tensor([0.6827, 0.3829]))

    Source: https://pytorch.org/docs/stable/distributions.html#halfnormal
    """

    whole = Normal

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(HalfNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tensorbus.erf(value / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return tensorbus.erfinv(value) * self.scale * math.sqrt(2)
