"""The multinomial distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.binomial import Binomial
from tensorbus.distributions.categorical import Categorical
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The distribution of how often each class comes in *total_count* draws.

    Args:
        total_count: the number of draws.
        probs: weights of the classes along the last dimension; they are normalized.
        logits: instead of them their logarithms, up to a constant.

    Errors: NotImplementedError where *total_count* is no int, ValueError where it is negative.

    Example:
        >>> d = Multinomial(4, tensorbus.tensor([1.0, 3.0]))
        >>> d.mean, d.log_prob(tensorbus.tensor([1.0, 3.0])).exp()
        (tensor([1., 3.]), tensor(0.4219))

    Source: https://pytorch.org/docs/stable/distributions.html#multinomial
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        if validate_args is not False and total_count < 0:
            raise ValueError(f"total_count must be a non-negative int, but got {total_count}")
        self.total_count = total_count
        self._categorical: Any = Categorical(probs=probs, logits=logits)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(Multinomial, _instance, batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        probs = self.probs.detach()
        counts = probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, probs.new_ones(()).expand(drawn.shape))

    def entropy(self) -> Tensor:
        n = self.probs.new_tensor(self.total_count)
        # The factorials of the counts, each of which is binomial.
        count = Binomial(self.total_count, probs=self.probs)
        values = count.enumerate_support(expand=False)[1:]
        factorials = (count.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1).lgamma() + factorials

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        never = (value == 0) & (logits == -math.inf)
        return ways + (logits.masked_fill(never, 0.0) * value).sum(-1)
