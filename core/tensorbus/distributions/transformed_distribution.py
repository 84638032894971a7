"""Distributions of what transforms make of a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.independent import Independent
from tensorbus.distributions.transform import ComposeTransform, Transform
from tensorbus.distributions.utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of what transforms make of a variable.

    Args:
        base_distribution: the distribution of the variable.
        transforms: a transform, or a list of them in the order in which they are applied.

    Errors: ValueError for transforms that are none, and where the base has too few dimensions.

    Example:
        >>> D = tensorbus.distributions
        >>> base = D.Uniform(tensorbus.zeros(2), tensorbus.ones(2))
        >>> logistic = TransformedDistribution(base, D.SigmoidTransform().inv)
        >>> logistic.log_prob(tensorbus.tensor([0.0, 1.0])), logistic.cdf(tensorbus.tensor(0.0))
        (tensor([-1.3863, -1.6265]), tensor([0.5000, 0.5000]))

    Source: https://pytorch.org/docs/stable/distributions.html#transformeddistribution
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Any,
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms: list[Any] = transforms
        base: Any = base_distribution
        base_shape = base.batch_shape + base.event_shape
        base_dims = len(base.event_shape)
        transform = ComposeTransform(self.transforms)
        taken, given = transform.domain.event_dim, transform.codomain.event_dim
        if len(base_shape) < taken:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {taken}, but got "
                f"{base_shape}."
            )
        shape = Size(transform.forward_shape(base_shape))
        expanded = Size(transform.inverse_shape(shape))
        if base_shape != expanded:
            base = base.expand(expanded[: len(expanded) - base_dims])
        if taken > base_dims:
            base = Independent(base, taken - base_dims)
        self.base_dist = base
        # The last dimensions are tied together by the transform, or by the base.
        cut = len(shape) - max(given, base_dims + given - taken)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(TransformedDistribution, _instance, batch_shape)
        shape = Size(batch_shape) + self.event_shape
        for transform in reversed(self.transforms):
            shape = Size(transform.inverse_shape(shape))
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:
        """Whether the base distribution has ``rsample``."""
        return bool(self.base_dist.has_rsample)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tensorbus.no_grad():
            x: Tensor = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        x: Tensor = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        slopes: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, value)
            slopes = slopes + sum_rightmost(slope, event_dim - transform.domain.event_dim)
            value = x
        of_base = self.base_dist.log_prob(value)
        return sum_rightmost(of_base, event_dim - len(self.base_dist.event_shape)) - slopes

    def _turned(self, level: Tensor) -> Tensor:
        """``1 - level`` where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return level
        return sign * (level - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        x: Tensor = self.base_dist.icdf(self._turned(value))
        for transform in self.transforms:
            x = transform(x)
        return x
