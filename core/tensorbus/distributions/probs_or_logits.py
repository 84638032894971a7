"""Distributions of which either probabilities or logits are given; the others follow."""

from __future__ import annotations

from typing import Any

from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


def name_of_given(probs: Any, logits: Any) -> str:
    """Which of the two was given; ValueError for none and for both."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


class ProbsOrLogits:
    """The part of such a distribution that keeps its parameter."""

    probs: Any
    """The probabilities of the events, for each element of the batch."""
    logits: Any
    """Their logarithms, or log odds."""
    _given: str

    @property
    def _param(self) -> Tensor:
        given: Tensor = getattr(self, self._given)
        return given

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class Odds(ProbsOrLogits):
    """One whose parameter is the probability of a single event, or its log odds."""

    def _keep(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Keep what was given; return what broadcasts with it."""
        self._given = name_of_given(probs, logits)
        *rest, given = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, self._given, given)
        return tuple(rest)

    @lazy_property
    def logits(self) -> Tensor:
        """The log odds of the event."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of the event."""
        return logits_to_probs(self.logits, is_binary=True)
