"""What the distributions of absolute values share."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.location_scale import LocationScale
from tensorbus.distributions.pointwise_transforms import AbsTransform
from tensorbus.distributions.transformed_distribution import TransformedDistribution


class Half(TransformedDistribution):
    """The absolute value of a variable that lies around 0, whose distribution is ``whole``."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    whole: ClassVar[type[LocationScale]]
    base_dist: LocationScale

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = self.whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the variable whose absolute value it is."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return tensorbus.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return log_prob.masked_fill(value < 0, -math.inf)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
