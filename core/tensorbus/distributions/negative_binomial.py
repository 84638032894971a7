"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.gamma import Gamma
from tensorbus.distributions.probs_or_logits import Odds
from tensorbus.nn import functional as F

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds, Distribution):
    """The distribution of how many trials succeed before *total_count* have failed.

    Args:
        total_count: the number of failures, which need not be whole.
        probs: the probability that a trial succeeds, in [0, 1).
        logits: instead of it the log odds of that.

    Example:
        >>> d = NegativeBinomial(2.0, probs=tensorbus.tensor([0.5, 0.75]))
        >>> d.mean, d.log_prob(tensorbus.tensor(1.0)).exp()
        (tensor([2., 6.]), tensor([0.2500, 0.0938]))

    Source: https://pytorch.org/docs/stable/distributions.html#negativebinomial
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._keep(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        parts = dict(total_count=0, probs=0, logits=0)
        new = self._expanded(NegativeBinomial, _instance, batch_shape, **parts)
        new._given = self._given
        return new

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / tensorbus.sigmoid(-self.logits)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tensorbus.no_grad():
            # A rate that is gamma distributed; without failures it is 0.
            rate = (-self.logits).exp()
            waited = Gamma(self.total_count, rate, validate_args=False).sample(sample_shape)
            return tensorbus.poisson(waited.masked_fill(self.total_count == 0, 0.0))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        log_prob = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        # Without failures there is no success: lgamma(0) is infinite twice.
        return log_prob + ways.masked_fill(n + value == 0.0, 0.0)
