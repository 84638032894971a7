"""The relaxed Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.pointwise_transforms import SigmoidTransform
from tensorbus.distributions.probs_or_logits import Odds
from tensorbus.distributions.relaxed import Relaxed
from tensorbus.distributions.utils import broadcast_all, clamp_probs, open_uniform
from tensorbus.nn import functional as F

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Odds, Distribution):
    """The distribution of the logits of ``RelaxedBernoulli``.

    Args:
        temperature: positive; the lower it is, the nearer samples are to 0 and 1.
        probs: the probability of 1.
        logits: instead of it the log odds of 1.

    Example:
        >>> d = LogitRelaxedBernoulli(tensorbus.tensor(1.0), probs=tensorbus.tensor([0.5, 0.75]))
        >>> d.log_prob(tensorbus.tensor(0.0))
        tensor([-1.3863, -1.6740])

    Source: https://pytorch.org/docs/stable/distributions.html#relaxedbernoulli;
    Maddison, Mnih and Teh, "The concrete distribution", 2017.
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._keep(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(LogitRelaxedBernoulli, _instance, batch_shape, probs=0, logits=0)
        new._given, new.temperature = self._given, self.temperature
        return new

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        return (open_uniform(shape, probs).logit() + probs.logit()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        temperature = tensorbus.as_tensor(
            self.temperature, dtype=logits.dtype, device=logits.device
        )
        x = logits - value * temperature
        return temperature.log() + x + 2 * F.logsigmoid(-x)


class RelaxedBernoulli(Relaxed):
    """A distribution on (0, 1) near that of ``Bernoulli``, with gradients through its samples.

    Args:
        temperature: positive; the lower it is, the nearer samples are to 0 and 1.
        probs: the probability of 1.
        logits: instead of it the log odds of 1.

    Example:
        >>> d = RelaxedBernoulli(tensorbus.tensor(1.0), probs=tensorbus.tensor([0.5, 0.75]))
        >>> d.log_prob(tensorbus.tensor(0.5))
        tensor([ 0.0000, -0.2877])

    Source: https://pytorch.org/docs/stable/distributions.html#relaxedbernoulli;
    Maddison, Mnih and Teh, "The concrete distribution", 2017.
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, _instance=new)
