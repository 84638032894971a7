"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.constraint import holds
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.probs_or_logits import Odds
from tensorbus.distributions.utils import positive_uniform
from tensorbus.nn import functional as F

__all__ = ["Geometric"]


class Geometric(Odds, Distribution):
    """The distribution of how many trials fail before one succeeds: 0, 1, 2...

    Args:
        probs: the probability that a trial succeeds, in (0, 1].
        logits: instead of it the log odds of that.

    Example:
        >>> d = Geometric(tensorbus.tensor([0.5, 1.0]))
        >>> d.mean, d.log_prob(tensorbus.tensor(0.0)).exp()
        (tensor([1., 0.]), tensor([0.5000, 1.0000]))

    Source: https://pytorch.org/docs/stable/distributions.html#geometric
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._keep(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            if not holds(value > 0):
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to be positive but found "
                    f"invalid values:\n{value.detach()[~(value > 0)]}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(Geometric, _instance, batch_shape, probs=0, logits=0)
        new._given = self._given
        return new

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return tensorbus.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tensorbus.no_grad():
            u = positive_uniform(self._extended_shape(sample_shape), self.probs)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        failures = tensorbus.special.xlog1py(value, -self.probs)
        return failures + self.probs.log()

    def entropy(self) -> Tensor:
        of_trial = F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return of_trial / self.probs
