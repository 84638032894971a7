"""What the relaxed distributions share."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.transformed_distribution import TransformedDistribution


class Relaxed(TransformedDistribution):
    """A transformed distribution that has the parameters of the one below it."""

    has_rsample = True
    base_dist: Any

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds of 1, or of the probabilities of classes."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1, or those of the classes."""
        return self.base_dist.probs
