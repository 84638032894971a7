"""The relaxed categorical distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.categorical import Categorical
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.pointwise_transforms import ExpTransform
from tensorbus.distributions.relaxed import Relaxed
from tensorbus.distributions.utils import broadcast_all, open_uniform

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The distribution of the logarithms of ``RelaxedOneHotCategorical``.

    Args:
        temperature: positive; the lower it is, the nearer samples are to one-hot vectors.
        probs: weights of the classes along the last dimension; they are normalized.
        logits: instead of them their logarithms, up to a constant.

    Example:
        >>> d = ExpRelaxedCategorical(tensorbus.tensor(1.0), tensorbus.tensor([1.0, 1.0]))
        >>> d.log_prob(tensorbus.tensor([0.5, 0.5]).log())
        tensor(-1.3863)

    Source: https://pytorch.org/docs/stable/distributions.html#relaxedonehotcategorical;
    Maddison, Mnih and Teh, "The concrete distribution", 2017.
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical: Any = Categorical(probs, logits)
        self.temperature = temperature
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(ExpRelaxedCategorical, _instance, batch_shape)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        gumbels = -(-open_uniform(shape, self.logits).log()).log()
        return tensorbus.log_softmax((self.logits + gumbels) / self.temperature, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        temperature = tensorbus.as_tensor(
            self.temperature, dtype=logits.dtype, device=logits.device
        )
        k = self._event_shape[0]
        scores = tensorbus.log_softmax(logits - value * temperature, -1).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * temperature.log()


class RelaxedOneHotCategorical(Relaxed):
    """A distribution of vectors of probabilities near that of ``OneHotCategorical``.

    Gradients pass through its samples.

    Args:
        temperature: positive; the lower it is, the nearer samples are to one-hot vectors.
        probs: weights of the classes along the last dimension; they are normalized.
        logits: instead of them their logarithms, up to a constant.

    Example:
        >>> d = RelaxedOneHotCategorical(tensorbus.tensor(1.0), tensorbus.tensor([1.0, 1.0]))
        >>> d.log_prob(tensorbus.tensor([0.5, 0.5]))
        tensor(0.)

    Source: https://pytorch.org/docs/stable/distributions.html#relaxedonehotcategorical;
    Maddison, Mnih and Teh, "The concrete distribution", 2017.
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, _instance=new)
