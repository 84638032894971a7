"""Mixtures of distributions of one class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.categorical import Categorical
from tensorbus.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The distribution of what a component gives that is drawn first.

    Args:
        mixture_distribution: a ``Categorical`` of the components; its batch broadcasts with that
            of the components.
        component_distribution: the components along its last batch dimension.

    Errors: ValueError where the numbers of components differ, the batches don't fit, or the
    arguments are no such distributions.

    Example:
        >>> D = tensorbus.distributions
        >>> weights = D.Categorical(tensorbus.tensor([0.25, 0.75]))
        >>> mixture = MixtureSameFamily(weights, D.Normal(tensorbus.tensor([0.0, 4.0]), 1.0))
        >>> mixture.mean, mixture.variance, mixture.cdf(tensorbus.tensor(4.0))
        (tensor(3.), tensor(4.), tensor(0.6250))

    Source: https://pytorch.org/docs/stable/distributions.html#mixturesamefamily
    """

    arg_constraints: ClassVar[Any] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an "
                " instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an "
                "instance of torch.distributions.Distribution"
            )
        self._mixture_distribution: Any = mixture_distribution
        self._component_distribution: Any = component_distribution
        weights, parts = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(weights), reversed(parts), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({weights}) is not "
                    f"compatible with `component_distribution.batch_shape`({parts})"
                )
        count = mixture_distribution.logits.shape[-1]
        if count != component_distribution.batch_shape[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` "
                f"({component_distribution.batch_shape[-1]})"
            )
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(parts, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(MixtureSameFamily, _instance, batch_shape)
        parts = (*batch_shape, self._num_component)
        new._component_distribution = self._component_distribution.expand(parts)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the components' numbers."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _weighted(self, value: Tensor) -> Tensor:
        """The mean over the components."""
        probs = self.mixture_distribution.probs
        weights = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return (weights * value).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        apart = (self.component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return self._weighted(self.component_distribution.variance) + self._weighted(apart)

    def cdf(self, value: Tensor) -> Tensor:
        parts = self.component_distribution.cdf(self._pad(value))
        return (parts * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        parts = self.component_distribution.log_prob(self._pad(value))
        log_weights = tensorbus.log_softmax(self.mixture_distribution.logits, -1)
        return tensorbus.logsumexp(parts + log_weights, -1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tensorbus.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            index = self.mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            index = index.reshape(index.shape + (1,) * (1 + self._event_ndims))
            parts = self.component_distribution.sample(sample_shape)
            shape = (*parts.shape[:dim], 1, *self.event_shape)
            return parts.gather(dim, index.expand(shape)).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        parts = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily(\n  {parts})"
